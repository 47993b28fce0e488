//! Servers of this program that live as long as a run: processes of their own, so that their processor time is theirs.

use std::error::Error;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Stdio;
use std::str::FromStr;
use std::time::Duration;

use base::clock::TESTS_AS_OF;
use base::platform::{self, Signal, processor_time};
use base::secret::Secret;
use base::variables::set_variable;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;
use url::Url;

use crate::api_client::{ApiClient, ApiClientError};

/// Variables of this program that a server of the run takes over: all others would measure another setting than the one that is told.
const CONCURRENCY: &str = "CARD_PAYMENTS_CONCURRENCY";
const PREFIX: &str = "CARD_PAYMENTS_";

/// A server migrates its database before it listens.
const START: Duration = Duration::from_mins(1);
/// Longer than a payment in flight takes.
const STOP: Duration = Duration::from_mins(1);

#[derive(Debug, Clone)]
pub enum BenchDatabase {
    /// A file in the run's folder.
    Sqlite,
    /// An empty database.
    Postgres(Secret),
}

impl FromStr for BenchDatabase {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "sqlite" => Ok(Self::Sqlite),
            "postgres" => {
                let url = set_variable("DATABASE_URL").and_then(|url| url.into_string().ok());
                let url =
                    url.ok_or("DATABASE_URL names no database: set it to postgres://USER@HOST/DATABASE")?;
                Ok(Self::Postgres(url.into()))
            }
            url if ["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) => {
                Ok(Self::Postgres(url.into()))
            }
            _ => Err("must be sqlite, postgres (at DATABASE_URL), or postgres://USER@HOST/DATABASE"),
        }
    }
}

impl BenchDatabase {
    /// Returns what people call it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres(_) => "PostgreSQL",
        }
    }

    /// Returns whether it is a server on this machine, whose processor time can be seen.
    fn is_server_here(&self) -> bool {
        let Self::Postgres(url) = self else { return false };
        let host = Url::parse(url.expose()).ok().and_then(|url| url.host_str().map(str::to_owned));
        ["", "localhost", "127.0.0.1", "[::1]"].contains(&host.unwrap_or_default().as_str())
    }
}

/// The settings with which the servers of a run begin.
pub struct ServerPlan {
    pub database: BenchDatabase,
    /// The number of servers that share the database.
    pub copies: u16,
    /// The folder of their files.
    pub folder: PathBuf,
    /// The address of their acquirer.
    pub acquirer: String,
    /// The secret that they share with it.
    pub secret: Secret,
}

/// Servers in progress. Dropping them kills them.
pub struct OwnServers {
    plan: ServerPlan,
    servers: Vec<(Child, String)>,
    key: Secret,
}

impl OwnServers {
    /// Starts the servers, the second once the first has made the database.
    pub async fn start(plan: ServerPlan) -> Result<Self, Box<dyn Error>> {
        let mut own = Self { plan, servers: Vec::new(), key: Secret::default() };
        for number in 1..=own.plan.copies {
            own.add(number).await?;
        }
        Ok(own)
    }

    async fn add(&mut self, number: u16) -> Result<(), Box<dyn Error>> {
        let mut command = self.command()?;
        command.args(["serve", "--json"]).stdout(Stdio::piped()).stderr(File::create(self.log(number))?);
        let mut server = command.spawn()?;
        let mut line = String::new();
        if let Some(output) = server.stdout.take() {
            let read = timeout(START, BufReader::new(output).read_line(&mut line)).await;
            read.map_err(|_| format!("the server has not started within {} seconds", START.as_secs()))??;
        }
        let banner: Value = serde_json::from_str(&line).unwrap_or_default();
        let (Some(address), Some(key)) = (banner["listening"].as_str(), banner["secret_key"].as_str()) else {
            let hint = match self.plan.database {
                BenchDatabase::Sqlite => "",
                BenchDatabase::Postgres(_) => ". A run needs an empty database",
            };
            return Err(format!("the server does not start: {}{hint}", self.last_log_line(number)).into());
        };
        self.key = key.into();
        self.servers.push((server, address.to_owned()));
        Ok(())
    }

    /// Returns the file of a server's log. They are numbered from 1.
    fn log(&self, number: u16) -> PathBuf {
        self.plan.folder.join(format!("server{number}.log"))
    }

    pub fn last_log_line(&self, number: u16) -> String {
        let log = fs::read_to_string(self.log(number)).unwrap_or_default();
        log.lines().last().unwrap_or("it says nothing").trim_start_matches("error: ").to_owned()
    }

    pub fn check_alive(&mut self) -> Result<(), Box<dyn Error>> {
        for number in 1..=self.plan.copies {
            if let Some(status) = self.servers[usize::from(number) - 1].0.try_wait()? {
                return Err(format!("a server has ended ({status}): {}", self.last_log_line(number)).into());
            }
        }
        Ok(())
    }

    /// Returns this program, on the run's database.
    fn command(&self) -> Result<Command, Box<dyn Error>> {
        let mut command = Command::new(std::env::current_exe()?);
        for (name, _) in std::env::vars_os() {
            let is_setting = name.to_str().is_some_and(|name| name.starts_with(PREFIX));
            if is_setting && name != CONCURRENCY && TESTS_AS_OF.is_none_or(|as_of| name != as_of) {
                command.env_remove(name);
            }
        }
        let ServerPlan { database, folder, acquirer, secret, .. } = &self.plan;
        if let BenchDatabase::Postgres(url) = database {
            command.env("CARD_PAYMENTS_DATABASE_URL", url.expose());
        }
        command
            .env("CARD_PAYMENTS_LISTEN", "127.0.0.1:0")
            .env("CARD_PAYMENTS_DATA_DIR", folder)
            .env("CARD_PAYMENTS_ACQUIRER", acquirer)
            .env("CARD_PAYMENTS_ACQUIRER_SECRET", secret.expose())
            .stdin(Stdio::null())
            .kill_on_drop(true);
        Ok(command)
    }

    pub async fn clients(&self) -> Result<Vec<ApiClient>, ApiClientError> {
        let mut clients = Vec::new();
        for (_, address) in &self.servers {
            clients.push(ApiClient::at(address, Some(self.key.clone())).await?);
        }
        Ok(clients)
    }

    /// Returns how long processors have worked for the servers, if the system tells.
    pub fn processor_time(&self) -> Option<Duration> {
        self.servers.iter().map(|(server, _)| processor_time::of_process(server.id()?)).sum()
    }

    /// Returns the same of a PostgreSQL on this machine: of all its processes, also those that work for others.
    pub fn database_time(&self) -> Option<Duration> {
        self.plan.database.is_server_here().then(|| processor_time::of_program("postgres"))?
    }

    /// Returns whether the ledger's proofs hold.
    pub async fn verify_ledger(&self) -> Result<bool, Box<dyn Error>> {
        let verified = self.command()?.args(["ledger", "verify"]).output().await?;
        Ok(verified.status.success())
    }

    pub async fn stop(mut self) {
        for (server, _) in &self.servers {
            if let Some(id) = server.id() {
                platform::send_signal(id, Signal::Terminate);
            }
        }
        for (server, _) in &mut self.servers {
            // One that does not end is killed when it is dropped.
            let _ = timeout(STOP, server.wait()).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_postgresql_on_this_machine_is_measured() {
        for (url, is_here) in [
            ("postgres://me@localhost:5432/bench", true),
            ("postgresql://127.0.0.1/bench", true),
            ("postgres:///bench?host=/run/postgresql", true),
            ("postgres://db.example.com/bench", false),
            ("sqlite", false),
        ] {
            assert_eq!(url.parse::<BenchDatabase>().unwrap().is_server_here(), is_here, "{url}");
        }
        for wrong in ["", "mysql://localhost/bench", "sqlite:file.db"] {
            assert!(wrong.parse::<BenchDatabase>().is_err(), "{wrong}");
        }
    }
}
