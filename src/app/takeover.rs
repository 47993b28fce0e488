//! Recovery of work that a stopped server left in flight, for a server that knows it is the only one.

use crate::error::Error;
use crate::services::installation::InstallationError;
use crate::services::{Context, payments, refunds, sandbox, snapshots, webhooks};

/// Makes that work due now. If the database refuses writes, the work becomes due at its usual time. With a seed no time
/// passes, so then the server does not start.
pub(super) async fn take_over(ctx: &Context) -> Result<(), InstallationError> {
    match make_due_now(ctx).await {
        Err(error) if ctx.store.refuses_writes().is_some() && !ctx.random.is_seeded() => {
            tracing::warn!(%error, "work in flight when the server ended becomes due at its usual time");
            Ok(())
        }
        done => Ok(done?),
    }
}

async fn make_due_now(ctx: &Context) -> Result<(), Error> {
    // First: it decides what is there to be due.
    snapshots::parts::resume(ctx).await?;
    payments::recovery::make_due_now(ctx).await?;
    refunds::submit::make_due_now(ctx).await?;
    webhooks::make_due_now(ctx).await?;
    sandbox::clock::make_due_now(ctx).await
}
