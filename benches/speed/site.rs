//! A server that is measured, the database under it, and what it is asked.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::ceilings::Payment;
use super::cluster::Cluster;
use super::database::{Database, Kind};
use super::load::{self, Caller, Run, Stop};
use super::process::{PAYMENT, Process, repeatable_request};
use super::report::Cpu;
use super::writes::{Commit, TableSnapshot};
use super::{Options, Result, usage};

/// As many callers as ask at once.
pub const CONNECTIONS: usize = 16;

/// The server's program, its folder and its database.
pub struct Site {
    program: PathBuf,
    folder: TempDir,
    pub cluster: Option<Cluster>,
    pub database: Database,
    /// How often a session was seen waiting for a lock, by what of.
    pub waits: RefCell<BTreeMap<String, u64>>,
}

impl Site {
    /// None where the database is not installed.
    pub async fn open(kind: Kind, options: &Options) -> Result<Option<Self>> {
        let folder = tempfile::Builder::new().prefix("card-payments-speed.").tempdir_in(&options.folder)?;
        let (cluster, database) = match kind {
            Kind::Sqlite => (None, Database::Sqlite(folder.path().join("card-payments.db"))),
            Kind::Postgres => {
                let Some(cluster) = Cluster::measured(&options.folder)? else { return Ok(None) };
                let database = Database::postgres(&cluster.url()).await?;
                (Some(cluster), database)
            }
        };
        let program = options.binary.clone();
        Ok(Some(Self { program, folder, cluster, database, waits: RefCell::default() }))
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Starts a server on the database.
    pub fn start(&self) -> Process {
        let url = if let Database::Postgres { url, .. } = &self.database { Some(url.as_str()) } else { None };
        self.start_on(self.folder(), url)
    }

    /// Starts a server in a folder, on a database of its own or on this one.
    pub fn start_on(&self, folder: &Path, url: Option<&str>) -> Process {
        let mut command = Command::new(&self.program);
        command
            .env_clear()
            .env("CARD_PAYMENTS_DATA_DIR", folder)
            .env("CARD_PAYMENTS_LISTEN", "127.0.0.1:0")
            .env("CARD_PAYMENTS_LOG", "warn")
            .envs(url.map(|url| ("CARD_PAYMENTS_DATABASE_URL", url)));
        Process::start(&mut command)
    }

    /// Puts so much of a load on servers, as many callers on each.
    pub async fn measure(
        &self,
        servers: &[&Process],
        connections: usize,
        requests: &[Vec<u8>],
        stop: Stop,
    ) -> Result<(Run, Cpu)> {
        let addresses: Vec<_> = servers.iter().map(|server| server.address).collect();
        self.costs(servers, async { Ok(load::run(&addresses, connections, requests, stop).await?) }).await
    }

    /// Measures the cost of some work.
    pub async fn costs<T>(
        &self,
        servers: &[&Process],
        work: impl Future<Output = Result<T>>,
    ) -> Result<(T, Cpu)> {
        let used = async || -> Result<_> {
            let servers =
                servers.iter().map(|server| usage::cpu(server.id())).sum::<std::io::Result<Duration>>()?;
            Ok((servers, self.database.cpu().await?, usage::cpu(std::process::id())?))
        };
        let before = used().await?;
        let done = tokio::select! {
            done = work => done?,
            error = self.look_for_locks() => return Err(error),
        };
        let after = used().await?;
        let grown = |(pid, used): (&u64, &Duration)| {
            used.saturating_sub(before.1.get(pid).copied().unwrap_or_default())
        };
        let cpu = Cpu {
            server: after.0.saturating_sub(before.0),
            database: after.1.iter().map(grown).sum(),
            client: after.2.saturating_sub(before.2),
        };
        Ok((done, cpu))
    }

    /// Looks at the database's sessions until told to stop.
    async fn look_for_locks(&self) -> Box<dyn std::error::Error> {
        loop {
            tokio::time::sleep(Duration::from_millis(50)).await;
            match self.database.waiting().await {
                Ok(waiting) => {
                    let mut waits = self.waits.borrow_mut();
                    for lock in waiting {
                        *waits.entry(lock).or_default() += 1;
                    }
                }
                Err(error) => return error,
            }
        }
    }

    /// What a payment writes.
    pub async fn watch(&self, account: &Account, form: &str) -> Result<Payment> {
        let before = TableSnapshot::take(&self.database).await?;
        account.send("POST", "/1/charges", form).await?;
        let written = Commit::between(&before, &TableSnapshot::take(&self.database).await?)?;
        Payment::new(written.ok_or("a payment was answered that has written nothing")?)
    }
}

/// An account on a server.
pub struct Account {
    pub address: SocketAddr,
    pub secret: String,
}

impl Account {
    pub fn first(server: &Process) -> Self {
        Self { address: server.address, secret: server.keys().0 }
    }

    /// Another account of the same server.
    pub async fn another(&self) -> Result<Self> {
        let account = self.send("POST", "/1/sandbox/accounts", "").await?;
        Ok(Self { address: self.address, secret: text(&account["secret_key"])? })
    }

    /// A request that keeps its connection.
    pub fn request(&self, method: &str, path: &str, form: &str) -> Vec<u8> {
        self.repeatable(method, path, None, form)
    }

    /// The same, under an Idempotency-Key.
    pub fn repeatable(&self, method: &str, path: &str, key: Option<&str>, form: &str) -> Vec<u8> {
        repeatable_request(method, path, Some(&self.secret), key, form)
            .replace("Connection: close\r\n", "")
            .into()
    }

    /// The whole answer to a single request, which must succeed.
    pub async fn whole(&self, method: &str, path: &str, form: &str) -> Result<Value> {
        let mut caller = Caller::connect(self.address).await?;
        let (status, body) = caller.send(&self.request(method, path, form)).await?;
        if !(200..300).contains(&status) {
            return Err(format!("{method} {path}: {status} {}", String::from_utf8_lossy(body)).into());
        }
        Ok(serde_json::from_slice(body)?)
    }

    /// Returns the body of its answer.
    pub async fn send(&self, method: &str, path: &str, form: &str) -> Result<Value> {
        Ok(self.whole(method, path, form).await?["response"].take())
    }

    /// The token of a new customer.
    pub async fn customer(&self) -> Result<String> {
        let (_, card) = PAYMENT.split_once("&card").ok_or("a payment without a card")?;
        text(
            &self.send("POST", "/1/customers", &format!("email=roland@example.com&card{card}")).await?["token"],
        )
    }

    /// Returns how many charges there are.
    pub async fn charges(&self) -> Result<usize> {
        let page = self.whole("GET", "/1/charges?per_page=1", "").await?;
        Ok(usize::try_from(page["pagination"]["count"].as_u64().ok_or("a list without a count")?)?)
    }
}

pub fn text(value: &Value) -> Result<String> {
    Ok(value.as_str().ok_or("no text")?.to_owned())
}
