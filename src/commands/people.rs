//! `card-payments people ...`: the people who are signed in at the dashboard.

use std::error::Error;

use card_payments::config::DatabaseOptions;
use card_payments::services::approvals::askers;
use clap::Subcommand;
use tools::terminal::{Printer, print_list};

use super::refused;

/// Lists people who are signed in, and ends their sessions and requests.
#[derive(Subcommand)]
pub enum People {
    /// Print the people who are signed in at the live dashboard, or whose requests wait for an approval. Changes nothing.
    #[command(after_help = "Example:\n  card-payments people list\n\n\
        With --json {subject, issuer, name, roles, sessions, requests, since, seen_at}, one object per person.")]
    List {
        /// Print one JSON object per person, one per line.
        #[arg(long)]
        json: bool,
    },
    /// End all sessions of a person at every server, withdraw the person's requests for approval, and print the person.
    ///
    /// Remove the person or the roles at the provider first: otherwise the next sign-in opens another session. Ends those of each
    /// person whose e-mail address or subject is given.
    #[command(after_help = "Example:\n  card-payments people end ada@example.com")]
    End {
        /// The person's e-mail address, or the provider's name for the person.
        person: String,
        /// Print one JSON object per person, one per line.
        #[arg(long)]
        json: bool,
    },
}

pub async fn run(command: People, database: &DatabaseOptions) -> Result<(), Box<dyn Error>> {
    let wall = super::now(database)?;
    let (person, json) = match command {
        People::List { json } => {
            return print_list(&askers::list(&super::open(database).await?, wall).await?, json);
        }
        People::End { person, json } => (person, json),
    };
    let store = super::open_to_change(database).await?;
    let mut named = askers::list(&store, wall).await?;
    named.retain(|one| one.subject == person || one.name.eq_ignore_ascii_case(&person));
    if named.is_empty() {
        return Err(format!("nobody is signed in as {person}").into());
    }
    let mut printer = Printer::new(json);
    for person in &named {
        let ended = askers::end_sessions(&store, (&person.issuer, &person.subject), None, wall).await;
        ended.map_err(|error| refused(&error))?;
        printer.print(person, &format_args!("{person}; all of them have ended"));
    }
    printer.end()
}
