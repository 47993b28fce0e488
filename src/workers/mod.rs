//! Workers are loops: pick what is due, call a service. Running twice does no harm, any number of copies may
//! run, and what a killed one left is due for the others.

mod courier;

pub use courier::Working;

use std::time::Duration;

use crate::limits::DATA_KEYS_READ_AGAIN;
use crate::services::{Ctx, data_keys, due};

const PAUSE: Duration = Duration::from_secs(1);

/// Start a loop for each kind of due work, one that learns of new data keys, and the courier; they end with the process, and what they leave is due
/// again.
pub fn start(ctx: &Ctx) -> Working {
    for kind in due::KINDS {
        // The courier delivers them, each endpoint at its own pace.
        if kind.name == due::WEBHOOKS.name {
            continue;
        }
        let ctx = Ctx::clone(ctx);
        tokio::spawn(async move {
            loop {
                match kind.run(&ctx).await {
                    Ok(0) => {}
                    Ok(found) => {
                        tracing::info!(kind = kind.name, found, "due work");
                        // More may wait.
                        continue;
                    }
                    Err(error) => tracing::error!(kind = kind.name, %error, "due work failed"),
                }
                tokio::time::sleep(PAUSE).await;
            }
        });
    }
    let keys = Ctx::clone(ctx);
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(DATA_KEYS_READ_AGAIN).await;
            if let Err(error) = data_keys::read_again(&keys).await {
                tracing::error!(%error, "the vault's keys cannot be read again");
            }
        }
    });
    courier::start(ctx)
}
