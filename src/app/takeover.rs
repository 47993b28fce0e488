//! What a server had under way when it ended, for one that knows to be the only one.

use crate::error::Error;
use crate::services::installation::InstallationError;
use crate::services::{Context, charges, refunds, sandbox, webhooks};

/// Take it up at once. Where the database cannot be written it is taken up when its time is over; where a seed decides no time
/// passes, so such a server does not start.
pub(super) async fn take_up(ctx: &Context) -> Result<(), InstallationError> {
    match hasten(ctx).await {
        Err(error) if ctx.store.refuses_writes().is_some() && !ctx.chance.is_seeded() => {
            tracing::warn!(%error, "what was under way when the server ended is taken up when its time is over");
            Ok(())
        }
        done => Ok(done?),
    }
}

async fn hasten(ctx: &Context) -> Result<(), Error> {
    charges::recover::make_due_now(ctx).await?;
    refunds::submit::make_due_now(ctx).await?;
    webhooks::make_due_now(ctx).await?;
    sandbox::clock::make_due_now(ctx).await
}
