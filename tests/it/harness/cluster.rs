//! A throwaway PostgreSQL server, made from installed programs and gone with this process (`cluster.sh`).

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
    port: u16,
    watcher: Child,
    said: BufReader<ChildStdout>,
}

impl Cluster {
    /// A server that flushes nothing. None where PostgreSQL is not installed.
    pub fn fast() -> Result<Option<Self>, String> {
        Self::installed("fast", None)
    }

    /// A server that may be killed: what it has committed is on disk, in a folder that everybody may write to. None where
    /// PostgreSQL is not installed.
    pub fn durable(folder: Option<&Path>) -> Option<Self> {
        Self::installed("durable", folder).unwrap_or_else(|reason| panic!("PostgreSQL: {reason}"))
    }

    fn installed(kind: &str, folder: Option<&Path>) -> Result<Option<Self>, String> {
        match programs(&std::env::var_os("PATH").unwrap_or_default(), Path::new("/")) {
            Some(programs) => Self::start(&programs, kind, folder).map(Some),
            None => skipped(MISSING).map(|()| None),
        }
    }

    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Kill the server with all its processes, and start it again.
    pub fn crash(&mut self) {
        self.watcher.stdin.as_mut().expect("piped").write_all(b"crash\n").unwrap();
        let mut ready = String::new();
        self.said.read_line(&mut ready).unwrap();
        assert!(ready.starts_with("ready "), "{ready}");
    }

    fn start(programs: &Path, kind: &str, folder: Option<&Path>) -> Result<Self, String> {
        let ports = free_ports().map_err(|fault| format!("no free port: {fault}"))?;
        let mut watcher = Command::new("sh");
        watcher
            .args(["-c", include_str!("cluster.sh"), "cluster.sh"])
            .arg(programs)
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
            watcher.uid(uid).gid(gid);
        }
        let mut watcher = watcher.spawn().map_err(|fault| format!("sh: {fault}"))?;
        let mut said = BufReader::new(watcher.stdout.take().expect("piped"));
        let (mut reasons, mut line) = (String::new(), String::new());
        while said.read_line(&mut line).map_err(|fault| fault.to_string())? > 0 {
            if let Some(port) = line.trim_end().strip_prefix("ready ") {
                let port = port.parse().map_err(|_| format!("an odd port: {port}"))?;
                return Ok(Self { port, watcher, said });
            }
            reasons += &std::mem::take(&mut line);
        }
        Err(format!("{} does not start a server:\n{reasons}", programs.display()))
    }
}

/// Several, because another process may take one before the server does.
fn free_ports() -> std::io::Result<Vec<u16>> {
    let taken: Vec<_> = (0..3).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<_, _>>()?;
    taken.iter().map(|listener| Ok(listener.local_addr()?.port())).collect()
}

fn is_root() -> bool {
    // Whoever makes a file owns it; std has no other word for the effective user.
    tempfile::tempfile().and_then(|file| file.metadata()).is_ok_and(|file| file.uid() == 0)
}

/// User and group of the account that runs the server for root.
fn unprivileged(accounts: &str) -> Option<(u32, u32)> {
    ["postgres", "nobody"].iter().find_map(|name| {
        let mut fields =
            accounts.lines().map(|line| line.split(':')).find(|line| line.clone().next() == Some(name))?;
        Some((fields.nth(2)?.parse().ok()?, fields.next()?.parse().ok()?))
    })
}

/// The folder of the server's programs: first PATH, then where packages put them outside of it, newest version first.
fn programs(path: &OsStr, root: &Path) -> Option<PathBuf> {
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

/// The number in `/usr/lib/postgresql/15/bin`.
fn version(programs: &Path) -> Option<u32> {
    let folder = programs.parent()?.file_name()?.to_str()?;
    folder.trim_start_matches(|letter: char| !letter.is_ascii_digit()).parse().ok()
}

mod tests {
    use super::*;
    use std::net::TcpStream;

    #[test]
    fn a_cluster_ends_when_its_pipe_closes() {
        let Some(programs) = programs(&std::env::var_os("PATH").unwrap_or_default(), Path::new("/")) else {
            return;
        };
        let mut cluster = Cluster::start(&programs, "fast", None).unwrap();
        let address = ("127.0.0.1", cluster.port);
        assert!(TcpStream::connect(address).is_ok());
        drop(cluster.watcher.stdin.take());
        assert!(cluster.watcher.wait().unwrap().success());
        assert!(TcpStream::connect(address).is_err());
    }

    #[test]
    fn the_programs_are_found_on_path_and_where_packages_put_them() {
        let root = tempfile::tempdir().unwrap();
        let install = |folder: &str, names: &[&str]| {
            let folder = root.path().join(folder);
            std::fs::create_dir_all(&folder).unwrap();
            for name in names {
                std::fs::write(folder.join(name), "").unwrap();
            }
            folder
        };
        assert_eq!(programs(OsStr::new(""), root.path()), None);
        install("usr/lib/postgresql/9/bin", &["initdb", "pg_ctl", "postgres"]);
        let newest = install("usr/lib/postgresql/17/bin", &["initdb", "pg_ctl", "postgres"]);
        install("usr/lib/postgresql/18/bin", &["initdb"]);
        assert_eq!(programs(OsStr::new(""), root.path()), Some(newest.canonicalize().unwrap()));
        let own = install("own", &["initdb", "pg_ctl", "postgres"]);
        assert_eq!(programs(own.as_os_str(), root.path()), Some(own.canonicalize().unwrap()));
    }

    #[test]
    fn root_hands_the_server_to_postgres_or_else_to_nobody() {
        let accounts = "root:x:0:0::/:/bin/sh\nnobody:x:65534:65533::/:/bin/false\n";
        assert_eq!(unprivileged(accounts), Some((65534, 65533)));
        assert_eq!(unprivileged(&format!("{accounts}postgres:x:101:104::/:/bin/sh\n")), Some((101, 104)));
        assert_eq!(unprivileged("root:x:0:0::/:/bin/sh\n"), None);
    }
}
