//! A transaction that has begun, on either database.

use sea_orm::{ConnectionTrait, DbErr, Statement};

use super::connect::{answered, is_postgres};
use super::connections::Transaction;
use super::engine::Engine;

/// A transaction that has begun.
///
/// On SQLite it is the state of the writer's only connection, begun and ended by statements: every statement costs
/// two thread switches there, so what can go together goes together.
pub(super) enum Begun {
    /// On the only connection of the writer's pool.
    Sqlite,
    /// On a connection that the transaction holds.
    Postgres(Transaction),
}

/// Why a transaction is not known to be committed.
#[derive(Debug)]
pub(super) enum Uncommitted {
    /// The database said no: nothing was committed.
    Failed(DbErr),
    /// The commit itself failed, or its answer is lost: it may have happened.
    InDoubt(DbErr),
}

impl Begun {
    /// Begin.
    pub async fn begin(pool: &Engine) -> Result<Self, DbErr> {
        if let Engine::Postgres(connections) = pool {
            return connections.begin().await.map(Self::Postgres);
        }
        // A deferred transaction that reads first fails under load, whatever the busy time-out.
        pool.execute_unprepared("BEGIN IMMEDIATE").await?;
        Ok(Self::Sqlite)
    }

    /// Write what was appended, and commit.
    pub async fn commit(self, pool: &Engine, appended: Option<Statement>) -> Result<(), Uncommitted> {
        match self {
            Self::Postgres(transaction) => {
                if let Some(appended) = appended {
                    transaction.execute_raw(appended).await.map_err(Uncommitted::Failed)?;
                }
                transaction.commit().await.map_err(uncommitted)
            }
            Self::Sqlite => {
                let commit = match appended {
                    Some(appended) => pool.execute_raw(around("", appended, "; COMMIT")).await.map(drop),
                    None => pool.execute_unprepared("COMMIT").await.map(drop),
                };
                rolled_back(pool, commit).await
            }
        }
    }

    /// A transaction of nothing but what was appended.
    pub async fn alone(pool: &Engine, appended: Statement) -> Result<(), Uncommitted> {
        if is_postgres(pool) {
            // A single statement is a transaction of its own.
            return pool.execute_raw(appended).await.map(drop).map_err(uncommitted);
        }
        let whole = around("BEGIN IMMEDIATE; ", appended, "; COMMIT");
        rolled_back(pool, pool.execute_raw(whole).await.map(drop)).await
    }

    /// Undo everything.
    pub async fn rollback(self, pool: &Engine) {
        match self {
            // A connection that cannot roll back is dropped, which rolls back.
            Self::Postgres(transaction) => drop(transaction.rollback().await),
            Self::Sqlite => drop(rolled_back(pool, Err(DbErr::Custom("refused".into()))).await),
        }
    }
}

fn around(before: &str, mut statement: Statement, after: &str) -> Statement {
    statement.sql = format!("{before}{}{after}", statement.sql);
    statement
}

/// SQLite: whatever failed, the connection is out of its transaction afterwards.
async fn rolled_back(pool: &Engine, commit: Result<(), DbErr>) -> Result<(), Uncommitted> {
    let Err(error) = commit else { return Ok(()) };
    // It fails where the transaction has ended already, which is as well.
    let _ = pool.execute_unprepared("ROLLBACK").await;
    Err(uncommitted(error))
}

/// A database that answers did not commit; a broken connection or disk leaves a doubt.
fn uncommitted(error: DbErr) -> Uncommitted {
    const DISK: [&str; 2] = ["10", "13"];
    match answered(&error) {
        // SQLite's extended codes carry the plain one in their low byte.
        Some(code) if !DISK.contains(&plain(&code).as_str()) => Uncommitted::Failed(error),
        Some(_) | None => Uncommitted::InDoubt(error),
    }
}

fn plain(code: &str) -> String {
    code.parse::<u32>().map_or_else(|_| code.to_owned(), |code| (code & 0xff).to_string())
}
