//! The program as it is installed: a data directory, a database that is empty at first, and the variables of both.

use std::process::Command;

use serde_json::Value;

use super::app::Database;
use super::postgres::{self, Template};
use super::process::{Process, output, program};
use super::raw_database::RawDatabase;
use super::rows::rows;
use super::rules::Fixture;

static EMPTY: Template = Template::new("installed");

/// An installation.
pub struct Installed {
    pub data: tempfile::TempDir,
    pub database: Database,
    postgres: Option<postgres::Database>,
    variables: Vec<(String, String)>,
}

impl Fixture for Installed {
    async fn start(database: Database) -> Option<Self> {
        Self::on(database).await
    }
}

impl Installed {
    /// Makes one of the test environment. None where PostgreSQL is not installed.
    pub async fn on(database: Database) -> Option<Self> {
        let postgres = match database {
            Database::Sqlite => None,
            Database::Postgres => Some(EMPTY.database(async |_| {}).await?),
        };
        Some(Self { data: tempfile::tempdir().unwrap(), database, postgres, variables: Vec::new() })
    }

    /// Sets a variable; its name is without `CARD_PAYMENTS_`.
    pub fn with(&mut self, name: &str, value: &str) {
        self.without(name);
        self.variables.push((format!("CARD_PAYMENTS_{name}"), value.to_owned()));
    }

    /// Removes a variable.
    pub fn without(&mut self, name: &str) {
        self.variables.retain(|(known, _)| known.strip_prefix("CARD_PAYMENTS_") != Some(name));
    }

    /// Returns the program.
    pub fn program(&self) -> Command {
        let mut command = program(self.data.path());
        if let Some(postgres) = &self.postgres {
            command.env("CARD_PAYMENTS_DATABASE_URL", postgres.url());
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Starts its server.
    pub fn serve(&self) -> Process {
        Process::start(&mut self.program())
    }

    /// Runs a command. Returns exit code, stdout, stderr.
    pub fn run(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        output(self.program().args(arguments))
    }

    /// Runs a command with --json. Returns the records that it prints.
    #[track_caller]
    pub fn records(&self, arguments: &[&str]) -> Vec<Value> {
        let (code, stdout, stderr) = output(self.program().args(arguments).arg("--json"));
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{arguments:?}");
        stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Runs a command that must refuse with this line.
    #[track_caller]
    pub fn refuses(&self, arguments: &[&str], line: &str) {
        let refused = (Some(1), String::new(), format!("error: {line}\n"));
        assert_eq!(self.run(arguments), refused, "{arguments:?}");
    }

    /// What a command says that finds no SQLite file.
    pub fn no_database(&self) -> String {
        let file = self.data.path().join("card-payments.db");
        format!(
            "there is no database {}: name the server's folder by --data-dir or CARD_PAYMENTS_DATA_DIR",
            file.display()
        )
    }

    /// Returns the only account.
    #[track_caller]
    pub fn account(&self) -> String {
        let [account] = &self.records(&["account", "list"])[..] else { panic!("one account") };
        account["token"].as_str().unwrap().to_owned()
    }

    /// Returns one number from the database.
    pub async fn number(&self, sql: &str) -> i64 {
        self.outside().await.number(sql).await
    }

    /// Returns every row as text.
    pub async fn rows(&self) -> String {
        rows(self.database.backend(), async |sql| self.outside().await.text(&sql).await).await
    }

    /// Runs statements, for what no command can change.
    pub async fn execute(&self, sql: &str) {
        self.outside().await.execute(sql).await;
    }

    /// Returns a connection beside the server's.
    pub async fn outside(&self) -> RawDatabase {
        RawDatabase::connect(&self.database_url()).await
    }

    /// The address of the database.
    pub fn database_url(&self) -> String {
        match &self.postgres {
            Some(postgres) => postgres.url().to_owned(),
            None => format!("sqlite:{}", self.data.path().join("card-payments.db").display()),
        }
    }
}
