//! The program as it is installed, above a database or a disk that may fail.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::disk::Disk;
use crate::distributed::Distributed;
use crate::harness::cluster::Cluster;
use crate::harness::process::{Process, output, program};
use crate::options::Database;

/// An installation.
pub struct Installation {
    folder: PathBuf,
    /// The folder, if it goes with the installation.
    _ours: Option<tempfile::TempDir>,
    below: Below,
}

/// The storage of its data.
enum Below {
    /// The machine's own disk.
    Folder,
    Postgres(Cluster),
    Distributed(Box<Distributed>),
    /// A disk that may fail.
    Disk(Disk),
}

impl Below {
    /// None where it is not installed.
    fn new(database: Database, folder: Option<&Path>) -> Option<Self> {
        match database {
            Database::Sqlite => Some(Self::Folder),
            Database::Postgres => Cluster::durable(folder).map(Self::Postgres),
        }
    }
}

impl Installation {
    /// Makes one on a database that may be killed. None where it is not installed.
    pub fn on(database: Database) -> Option<Self> {
        let ours = tempfile::tempdir().unwrap();
        let below = Below::new(database, None)?;
        Some(Self { folder: ours.path().to_owned(), _ours: Some(ours), below })
    }

    /// Makes one whose database is in a folder that all users may write to.
    pub fn below(folder: &Path, database: Database) -> Option<Self> {
        let below = Below::new(database, Some(folder))?;
        Some(Self { folder: folder.to_owned(), _ours: None, below })
    }

    /// Makes one on SQLite, on a disk that may fail. None where there is no such disk.
    pub fn on_a_disk() -> Option<Self> {
        let ours = tempfile::tempdir().unwrap();
        let below = Below::Disk(Disk::below(ours.path())?);
        Some(Self { folder: ours.path().to_owned(), _ours: Some(ours), below })
    }

    /// Makes one on a distributed database, whose tables are spread over its workers.
    pub fn distributed(database: Distributed) -> Self {
        let ours = tempfile::tempdir().unwrap();
        let below = Below::Distributed(Box::new(database));
        let installation = Self { folder: ours.path().to_owned(), _ours: Some(ours), below };
        let (code, _, stderr) = output(installation.program().args(["migrate", "--distribute"]));
        assert_eq!((code, stderr.as_str()), (Some(0), ""));
        installation
    }

    /// The program.
    pub fn program(&self) -> Command {
        let mut command = program(&self.folder.join("data"));
        command.env("CARD_PAYMENTS_LOG", "error");
        match &self.below {
            Below::Folder => {}
            Below::Postgres(cluster) => {
                command.env("CARD_PAYMENTS_DATABASE_URL", cluster.url());
            }
            Below::Distributed(database) => {
                command.env("CARD_PAYMENTS_DATABASE_URL", database.url());
            }
            Below::Disk(disk) => disk.lies_below(&mut command),
        }
        command
    }

    /// Its server.
    pub fn start(&self) -> Process {
        Process::start(&mut self.program())
    }

    /// Runs `ledger verify`, also beside the server.
    pub fn proves_its_books(&self) {
        let (code, stdout, stderr) = output(self.program().args(["ledger", "verify"]));
        assert_eq!(code, Some(0), "{stdout}{stderr}");
    }

    /// Names another database. Returns what the old one lies on, for as long as its server runs.
    pub fn replace(&mut self, database: Cluster) -> impl Sized + use<> {
        std::mem::replace(&mut self.below, Below::Postgres(database))
    }

    /// Returns the disk that may fail.
    #[track_caller]
    pub fn disk(&self) -> &Disk {
        let Below::Disk(disk) = &self.below else { panic!("no disk that may fail") };
        disk
    }

    /// Returns the nodes of its database.
    #[track_caller]
    pub fn nodes(&mut self) -> &mut Distributed {
        let Below::Distributed(database) = &mut self.below else { panic!("no distributed database") };
        database
    }

    /// Runs SQL on its PostgreSQL. Returns the rows.
    #[track_caller]
    pub fn sql(&self, sql: &str) -> Vec<String> {
        let Below::Postgres(cluster) = &self.below else { panic!("no PostgreSQL") };
        cluster.run(sql).unwrap()
    }

    /// Kills PostgreSQL, and starts it again.
    #[track_caller]
    pub fn crash_database(&mut self) {
        let Below::Postgres(cluster) = &mut self.below else { panic!("no PostgreSQL") };
        cluster.crash();
    }
}
