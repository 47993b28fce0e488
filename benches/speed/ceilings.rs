//! What a server could do at best: an empty route, the same rows written by a bare program, and the flush of a disk.

use std::fmt::Write as _;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::routing::get;
use rusqlite::Connection;
use tokio::net::TcpListener;

use super::Result;
use super::load::per_second;
use super::writes::{self, Commit};

/// What a payment writes, in one commit.
pub struct Payment {
    commit: Commit,
    /// Those of the rows that it adds: each payment has its own.
    ids: Vec<String>,
    /// When it was made, as the time of ids.
    time: u64,
}

/// No run writes as many.
const RUN: u64 = 1_000_000_000;

impl Payment {
    pub fn new(commit: Commit) -> Result<Self> {
        let ids: Vec<_> = commit.ids().into_iter().collect();
        let time = |id: &String| id.chars().filter(char::is_ascii_hexdigit).take(12).collect::<String>();
        let time = ids.iter().map(time).max().ok_or("it adds no row")?;
        Ok(Self { commit, ids, time: u64::from_str_radix(&time, 16)? })
    }

    /// The time of a run's first id: after all that there are, those of the server and of other payments' runs as well.
    fn first(&self) -> u64 {
        static RUNS: AtomicU64 = AtomicU64::new(0);
        self.time + RUN * (RUNS.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Which of the ids a value is.
    fn place(&self, cell: &writes::Cell) -> Option<usize> {
        self.ids.iter().position(|id| Some(id) == cell.as_ref())
    }

    /// Payments a second that one connection writes into this copy of a server's file, in batches of one commit each.
    pub fn on_sqlite(&self, file: &Path, batch: u64, span: Duration) -> Result<u64> {
        let connection = Connection::open(file)?;
        connection.execute_batch(
            "PRAGMA journal_mode = wal; PRAGMA synchronous = FULL; PRAGMA cache_size = -16384; \
             PRAGMA wal_autocheckpoint = 4000; PRAGMA temp_store = memory",
        )?;
        let statements = self.commit.statements(None, |_, cell| match (self.place(cell), cell) {
            (Some(place), _) => format!("?{}", place + 1),
            (None, literal) => literal.clone().unwrap_or_else(|| "NULL".into()),
        });
        let prepared = statements.iter().map(|sql| connection.prepare(sql));
        let mut prepared = prepared.collect::<rusqlite::Result<Vec<_>>>()?;
        let (first, began, mut written) = (self.first(), Instant::now(), 0);
        while began.elapsed() < span {
            connection.execute_batch("BEGIN IMMEDIATE")?;
            for payment in written..written + batch {
                for statement in &mut prepared {
                    for place in 0..statement.parameter_count() {
                        statement.raw_bind_parameter(place + 1, id(first + payment, place))?;
                    }
                    statement.raw_execute()?;
                }
            }
            connection.execute_batch("COMMIT")?;
            written += batch;
        }
        Ok(per_second(usize::try_from(written)?, began.elapsed()))
    }

    /// Payments a second that pgbench writes from so many connections, each as a statement that is a transaction.
    pub fn on_postgres(
        &self,
        pgbench: &Path,
        folder: &Path,
        url: &str,
        connections: usize,
        span: Duration,
    ) -> Result<u64> {
        let script = folder.join("payment.sql");
        std::fs::write(&script, self.script())?;
        let output = Command::new(pgbench)
            .args(["--no-vacuum", "--protocol=prepared", "--jobs=2"])
            .arg(format!("--client={connections}"))
            .arg(format!("--time={}", span.as_secs().max(1)))
            .arg(format!("--define=n={}", self.first()))
            .arg("--file")
            .args([script.as_os_str(), url.as_ref()])
            .output()?;
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let rate =
            out.lines().find_map(|line| line.strip_prefix("tps = ")?.split(['.', ' ']).next()?.parse().ok());
        rate.filter(|_| output.status.success()).ok_or_else(|| format!("pgbench: {out}{err}").into())
    }

    fn script(&self) -> String {
        let mut script = String::from("\\set n :n + 1\n");
        // In the order of time; told apart by caller and by place.
        let id = |place: usize| {
            format!(
                "(lpad(to_hex(n), 12, '0') || '7' || lpad(to_hex(caller), 3, '0') || '8000' || lpad(to_hex({place}), 12, '0'))::uuid AS id{place}"
            )
        };
        let ids = (0..self.ids.len()).map(id).collect::<Vec<_>>().join(", ");
        let _ = write!(
            script,
            "WITH ids AS MATERIALIZED (SELECT caller, {ids} FROM (SELECT :n::bigint AS n, :client_id::integer AS caller) AS this)"
        );
        let statements = self.commit.statements(Some("ids"), |column, cell| match (self.place(cell), cell) {
            (Some(place), _) => format!("ids.id{place}"),
            (None, Some(_)) if column.is_slot() => "ids.caller".into(),
            (None, Some(text)) => format!("{}::{}", literal(text), column.kind),
            (None, None) => format!("NULL::{}", column.kind),
        });
        for (n, statement) in statements.iter().enumerate() {
            let _ = write!(script, ",\nw{n} AS ({statement})");
        }
        script.push_str("\nSELECT FROM ids;\n");
        script
    }
}

/// As the script makes it, for its only caller.
fn id(n: u64, place: usize) -> [u8; 16] {
    (u128::from(n) << 80 | 0x7000_8000_u128 << 48 | place as u128).to_be_bytes()
}

/// A text of PostgreSQL's in which pgbench finds no variable: those begin with a colon.
fn literal(text: &str) -> String {
    format!("U&'{}'", text.replace('\\', "\\\\").replace('\'', "''").replace(':', "\\003A"))
}

/// Returns how long it takes to write a part of a file that is there already, and to flush it: shortest first.
pub fn flushes(folder: &Path, count: usize) -> Result<Vec<Duration>> {
    const PART: usize = 16 * 1024;
    const PARTS: usize = 256;
    let file = tempfile::tempfile_in(folder)?;
    file.write_all_at(&vec![0; PART * PARTS], 0)?;
    file.sync_all()?;
    let mut flushes = Vec::with_capacity(count);
    for n in 0..count {
        let began = Instant::now();
        file.write_all_at(&[1; PART], u64::try_from(n % PARTS * PART)?)?;
        file.sync_data()?;
        flushes.push(began.elapsed());
    }
    flushes.sort_unstable();
    Ok(flushes)
}

/// The argument that makes this program an empty route.
pub const EMPTY_ROUTE: &str = "serve-empty-route";

/// This program as an empty route: a process of its own, as the server is.
pub fn empty_route() -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(EMPTY_ROUTE).stdin(Stdio::null());
    Ok(command)
}

/// Serves a single route that does nothing, and prints its address, as the server does.
pub async fn serve_empty_route() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("Listening on http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, Router::new().route("/", get(|| async {}))).await?)
}
