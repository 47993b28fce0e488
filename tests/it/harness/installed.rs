//! The program as it is installed: a data directory, a database that is empty at first, and the variables of both.

use std::process::Command;

use serde_json::Value;

use super::app::Database;
use super::outside::RawDatabase;
use super::postgres::{self, Template};
use super::process::{Process, output, program};
use super::stored::rows;

static EMPTY: Template = Template::new("installed");

/// An installation.
pub struct Installed {
    pub data: tempfile::TempDir,
    pub database: Database,
    postgres: Option<postgres::Database>,
    variables: Vec<(String, String)>,
}

impl Installed {
    /// One of the test environment. None where PostgreSQL is not there.
    pub async fn on(database: Database) -> Option<Self> {
        let postgres = match database {
            Database::Sqlite => None,
            Database::Postgres => Some(EMPTY.database(async |_| {}).await?),
        };
        Some(Self { data: tempfile::tempdir().unwrap(), database, postgres, variables: Vec::new() })
    }

    /// From now on with this variable; `CARD_PAYMENTS_` is left out.
    pub fn with(&mut self, name: &str, value: &str) {
        self.without(name);
        self.variables.push((format!("CARD_PAYMENTS_{name}"), value.to_owned()));
    }

    /// From now on without it.
    pub fn without(&mut self, name: &str) {
        self.variables.retain(|(known, _)| known.strip_prefix("CARD_PAYMENTS_") != Some(name));
    }

    /// The program.
    pub fn program(&self) -> Command {
        let mut command = program(self.data.path());
        if let Some(postgres) = &self.postgres {
            command.env("CARD_PAYMENTS_DATABASE_URL", postgres.url());
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Its server.
    pub fn serve(&self) -> Process {
        Process::start(&mut self.program())
    }

    /// What a command says: exit code, stdout, stderr.
    pub fn run(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        output(self.program().args(arguments))
    }

    /// The records that a command tells in JSON.
    #[track_caller]
    pub fn told(&self, arguments: &[&str]) -> Vec<Value> {
        let (code, stdout, stderr) = output(self.program().args(arguments).arg("--json"));
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{arguments:?}");
        stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// A command that refuses with this line.
    #[track_caller]
    pub fn refuses(&self, arguments: &[&str], line: &str) {
        let refused = (Some(1), String::new(), format!("error: {line}\n"));
        assert_eq!(self.run(arguments), refused, "{arguments:?}");
    }

    /// The one account that there is.
    #[track_caller]
    pub fn account(&self) -> String {
        let [account] = &self.told(&["account", "list"])[..] else { panic!("one account") };
        account["token"].as_str().unwrap().to_owned()
    }

    /// One number from the database.
    pub async fn number(&self, sql: &str) -> i64 {
        self.outside().await.number(sql).await
    }

    /// Every row.
    pub async fn rows(&self) -> String {
        rows(self.database, async |sql| self.outside().await.text(&sql).await).await
    }

    /// Change what no command can change.
    pub async fn execute(&self, sql: &str) {
        self.outside().await.execute(sql).await;
    }

    /// A connection of somebody else.
    pub async fn outside(&self) -> RawDatabase {
        RawDatabase::connect(&self.url()).await
    }

    /// The address of its database.
    pub fn url(&self) -> String {
        let file = self.data.path().join("card-payments.db");
        let postgres = self.postgres.as_ref().map(|postgres| postgres.url().to_owned());
        postgres.unwrap_or_else(|| format!("sqlite:{}", file.display()))
    }
}

/// Rules of the program and its commands, each tested on both databases, which are empty.
macro_rules! operated {
    ($(async fn $name:ident($installed:ident) $body:block)*) => {$(
        async fn $name(mut $installed: $crate::harness::Installed) {
            let $installed = &mut $installed;
            $body
        }

        mod $name {
            use $crate::harness::{Database, Installed};

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                super::$name(Installed::on(Database::Sqlite).await.unwrap()).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                let Some(installed) = Installed::on(Database::Postgres).await else { return };
                super::$name(installed).await;
            }
        }
    )*};
}
pub(crate) use operated;
