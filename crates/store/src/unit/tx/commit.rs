//! The commit of a unit's writes: in a group, as one call of a function, as one statement, or one after the other.

use std::sync::Arc;

use base::mutants::{self, Mutant};
use sea_orm::{ConnectionTrait, DbBackend, DbErr};

use super::{CommitPath, Tx};
use crate::connect::taken;
use crate::error::StoreError;
use crate::postgres::group_commit::{Committed, GroupCommit};
use crate::postgres::group_statement::Writes;
use crate::unit::open_transaction::{CommitError, OpenTransaction, uncommitted};
use crate::unit::sums::Sums;
use crate::unit::write_buffer::{Refusal, Then, WriteBuffer};

impl Tx {
    /// Sends the buffered writes and commits.
    pub(crate) async fn commit(self) -> Result<(), CommitError> {
        let mut rows = std::mem::take(&mut *self.batch());
        // The first statement sent has sent the deferred updates before it.
        let deferred =
            self.unsent_updates().map(|mut unsent| std::mem::take(&mut *unsent)).unwrap_or_default();
        if rows.is_empty() && deferred.is_empty() && !self.transaction.initialized() {
            return Ok(());
        }
        let looked_up = self.look_up(&mut rows).await.map_err(|error| CommitError::Failed(error.into()))?;
        let then = std::mem::take(&mut rows.then);
        let unique = std::mem::take(&mut rows.unique);
        let writes = Writes { deferred, rows, shard: None };
        let derived = self.send(writes).await.map_err(|error| refused(error, &unique))?;
        for then in then {
            match then {
                Then::Always(then) => then(),
                Then::IfDerived(then) if derived || looked_up => then(),
                Then::IfDerived(_) => {}
            }
        }
        Ok(())
    }

    /// A distributed PostgreSQL: looks up the rows to derive, appends them, and returns whether there are any.
    async fn look_up(&self, rows: &mut WriteBuffer) -> Result<bool, DbErr> {
        let is_one = self.factory.has_groups() || self.groups().is_some();
        if self.get_database_backend() != DbBackend::Postgres || is_one {
            return Ok(false);
        }
        let Some(derivation) = rows.derived.derivation.take() else { return Ok(false) };
        let any = (derivation.look_up)(self, std::mem::take(&mut rows.derived.values)).await?;
        rows.absorb(std::mem::take(&mut *self.unit()));
        Ok(any)
    }

    /// Sends all writes and commits; together with other units', or as a call, where the unit has sent nothing before. Returns
    /// whether rows were derived.
    async fn send(self, mut writes: Writes) -> Result<bool, CommitError> {
        let is_slip = mutants::is(Mutant::CounterOutsideUnit);
        let sums = if is_slip { std::mem::take(&mut writes.rows.sums) } else { Sums::default() };
        let groups = self.groups();
        let (writes, _lead) = match groups {
            Some(groups) => match groups.commit(writes).await? {
                Committed::Written(derived) => return Ok(derived),
                Committed::Alone(writes, lead) => (writes, lead),
            },
            None => (writes, None),
        };
        if let Some(groups) = groups.filter(|_| writes.shard.is_some()) {
            return groups.write(&[&writes]).await;
        }
        let backend = self.get_database_backend();
        let together = self.factory.has_groups().then_some(writes.deferred);
        let transaction = match self.transaction.into_inner() {
            Some(transaction) => transaction,
            None => OpenTransaction::alone(&self.factory.origin).await.map_err(uncommitted)?,
        };
        let statements = writes.rows.into_statements(backend, together, transaction.slot());
        if !statements.is_empty() {
            self.factory.statements.wrote();
        }
        self.factory.statements.committed();
        let derived = transaction.commit(statements).await?;
        if !sums.is_empty() {
            let mut own = WriteBuffer::default();
            own.sums = sums;
            let after = OpenTransaction::alone(&self.factory.origin).await.map_err(uncommitted)?;
            let slot = after.slot();
            after.commit(own.into_statements(backend, None, slot)).await?;
        }
        Ok(derived)
    }

    /// Returns the groups of which the unit may be a member: it has sent nothing, and for a call it has assumed the success of what
    /// it deferred.
    fn groups(&self) -> Option<&Arc<GroupCommit>> {
        match &self.factory.path {
            Some(CommitPath::Groups(groups)) if !self.transaction.initialized() => Some(groups),
            Some(CommitPath::Calls(groups)) if !self.transaction.initialized() && self.deferred.is_some() => {
                Some(groups)
            }
            _ => None,
        }
    }

    /// Rolls back.
    pub(crate) async fn rollback(self) {
        if let Some(transaction) = self.transaction.into_inner() {
            transaction.rollback().await;
        }
    }
}

/// Returns the error of a commit: the refusal of a unique row, if one with its key exists.
fn refused(error: CommitError, unique: &[(&'static str, Refusal)]) -> CommitError {
    let CommitError::Failed(StoreError::Database(cause)) = &error else { return error };
    let refusal = unique.iter().find(|(table, _)| taken(cause, table));
    refusal.map_or(error, |(_, refusal)| CommitError::Failed(refusal()))
}
