//! A throwaway PostgreSQL server, made from installed programs and gone with this process (`cluster.sh`). The benches run
//! theirs by this file, too.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use super::skipped::skipped;

const MISSING: &str = "PostgreSQL is not installed, so the tests on it are skipped: apt-get install postgresql \
                       (brew install postgresql), or name a server in CARD_PAYMENTS_TEST_POSTGRES_URL.\n";

/// A running throwaway server. It stops when this value, or the process that holds it, is gone.
pub struct Cluster {
    pub port: u16,
    programs: PathBuf,
    pub watcher: Child,
    stdout: BufReader<ChildStdout>,
}

impl Cluster {
    /// Starts a server that flushes nothing. None where PostgreSQL is not installed.
    pub fn fast() -> Result<Option<Self>, String> {
        Self::installed("fast", None)
    }

    /// Starts a server that may be killed: commits are on disk, in a folder that all users may write to. None where
    /// PostgreSQL is not installed.
    pub fn durable(folder: Option<&Path>) -> Option<Self> {
        Self::installed("durable", folder).unwrap_or_else(|reason| panic!("PostgreSQL: {reason}"))
    }

    /// Starts a node of a distributed database, which may be killed, with Citus but without its extension. None where PostgreSQL
    /// or Citus is not installed.
    pub fn node() -> Option<Self> {
        let programs = programs(&std::env::var_os("PATH").unwrap_or_default(), Path::new("/"))?;
        let node = has_citus(&programs).then(|| Self::start(programs, "node", None))?;
        Some(node.unwrap_or_else(|reason| panic!("PostgreSQL: {reason}")))
    }

    /// Starts a server with its own settings and its files below this folder, which its user must be able to write to. None
    /// where PostgreSQL is not installed.
    pub fn measured(folder: &Path) -> Result<Option<Self>, String> {
        Self::installed("measured", Some(folder))
    }

    /// Returns another program that came with the server.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        Some(self.programs.join(name)).filter(|program| program.is_file())
    }

    fn installed(kind: &str, folder: Option<&Path>) -> Result<Option<Self>, String> {
        match programs(&std::env::var_os("PATH").unwrap_or_default(), Path::new("/")) {
            Some(programs) => Self::start(programs, kind, folder).map(Some),
            None => skipped(MISSING).map(|()| None),
        }
    }

    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Kills the server with all its processes, and starts it again.
    pub fn crash(&mut self) {
        self.kill();
        self.start_again();
    }

    /// Kills the server with all its processes.
    pub fn kill(&mut self) {
        self.order("kill", "killed");
    }

    /// Starts a server that was killed.
    pub fn start_again(&mut self) {
        self.order("start", "ready ");
    }

    fn order(&mut self, order: &str, expected: &str) {
        writeln!(self.watcher.stdin.as_mut().expect("piped"), "{order}").expect("its watcher");
        let mut done = String::new();
        self.stdout.read_line(&mut done).expect("its watcher");
        assert!(done.starts_with(expected), "{done}");
    }

    /// Returns a psql that runs SQL. It prints the rows, a line each, with `|` between the columns.
    pub fn psql(&self, sql: &str) -> Command {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["--no-psqlrc", "-qAt", "-v", "ON_ERROR_STOP=1", "-c", sql, &self.url()]);
        psql
    }

    /// Runs SQL. Returns the rows.
    pub fn run(&self, sql: &str) -> Result<Vec<String>, String> {
        let psql = self.psql(sql).output().map_err(|fault| format!("psql: {fault}"))?;
        if !psql.status.success() {
            return Err(String::from_utf8_lossy(&psql.stderr).into_owned());
        }
        Ok(String::from_utf8_lossy(&psql.stdout).lines().map(str::to_owned).collect())
    }

    fn start(programs: PathBuf, kind: &str, folder: Option<&Path>) -> Result<Self, String> {
        let ports = free_ports().map_err(|fault| format!("no free port: {fault}"))?;
        let mut watcher = Command::new("sh");
        watcher
            .args(["-c", include_str!("cluster.sh"), "cluster.sh"])
            .arg(&programs)
            .arg(kind)
            .args(ports.iter().map(ToString::to_string))
            // Our own folder may be closed to the user below.
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        if let Some(folder) = folder {
            watcher.env("TMPDIR", folder);
        }
        if is_root() {
            let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
            let (uid, gid) =
                unprivileged(&accounts).ok_or("refuses root, and neither postgres nor nobody exists")?;
            // Where a node would look for a certificate of its own.
            watcher.uid(uid).gid(gid).env_remove("HOME");
        }
        let mut watcher = watcher.spawn().map_err(|fault| format!("sh: {fault}"))?;
        let mut stdout = BufReader::new(watcher.stdout.take().expect("piped"));
        let (mut reasons, mut line) = (String::new(), String::new());
        while stdout.read_line(&mut line).map_err(|error| error.to_string())? > 0 {
            if let Some(port) = line.trim_end().strip_prefix("ready ") {
                let port = port.parse().map_err(|_| format!("an odd port: {port}"))?;
                return Ok(Self { port, programs, watcher, stdout });
            }
            reasons += &std::mem::take(&mut line);
        }
        Err(format!("{} does not start a server:\n{reasons}", programs.display()))
    }
}

/// Returns whether Citus is installed for the server of these programs.
fn has_citus(programs: &Path) -> bool {
    let told = Command::new(programs.join("pg_config")).arg("--sharedir").output();
    let folder = told.map(|told| String::from_utf8_lossy(&told.stdout).trim().to_owned());
    folder.is_ok_and(|folder| Path::new(&folder).join("extension/citus.control").is_file())
}

/// Returns several, because another process may take one before the server does.
fn free_ports() -> std::io::Result<Vec<u16>> {
    let taken: Vec<_> = (0..3).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<_, _>>()?;
    taken.iter().map(|listener| Ok(listener.local_addr()?.port())).collect()
}

fn is_root() -> bool {
    // The effective user owns each new file; std does not name it otherwise.
    tempfile::tempfile().and_then(|file| file.metadata()).is_ok_and(|file| file.uid() == 0)
}

/// Returns user and group of the account that runs the server for root.
pub fn unprivileged(accounts: &str) -> Option<(u32, u32)> {
    ["postgres", "nobody"].iter().find_map(|name| {
        let mut fields =
            accounts.lines().map(|line| line.split(':')).find(|line| line.clone().next() == Some(name))?;
        Some((fields.nth(2)?.parse().ok()?, fields.next()?.parse().ok()?))
    })
}

/// Finds the folder of the server's programs: first PATH, then where packages put them outside of it, newest version first.
pub fn programs(path: &OsStr, root: &Path) -> Option<PathBuf> {
    let complete = |folder: &Path| {
        // PATH may hold links to some of the programs only.
        let home = folder.join("initdb").canonicalize().ok()?.parent()?.to_owned();
        ["initdb", "pg_ctl", "postgres"].iter().all(|name| home.join(name).is_file()).then_some(home)
    };
    let mut packaged: Vec<PathBuf> = ["usr/lib/postgresql", "opt/homebrew/opt", "usr/local/opt", "usr"]
        .iter()
        .filter_map(|folder| std::fs::read_dir(root.join(folder)).ok())
        .flat_map(|entries| entries.filter_map(|entry| Some(entry.ok()?.path().join("bin"))))
        .collect();
    packaged.sort_by_key(|folder| std::cmp::Reverse(version(folder)));
    std::env::split_paths(path).chain(packaged).find_map(|folder| complete(&folder))
}

/// Returns the number in `/usr/lib/postgresql/15/bin`.
fn version(programs: &Path) -> Option<u32> {
    let folder = programs.parent()?.file_name()?.to_str()?;
    folder.trim_start_matches(|letter: char| !letter.is_ascii_digit()).parse().ok()
}
