//! The listener for captures that a simulated cardholder disputes. Payments know no disputes: a later service listens.

use entity::ChargeToken;
use futures::future::BoxFuture;

use crate::Store;
use crate::services::context::{Account, Context};

/// Follows a committed capture for which a dispute is scheduled.
pub(in crate::services) trait CaptureListener: Send + Sync + 'static {
    /// Does what the capture's client has to find once it is answered. If that fails, due work does it later.
    fn captured<'a>(
        &'a self,
        ctx: &'a Context,
        account: &'a Account,
        charge: ChargeToken,
    ) -> BoxFuture<'a, ()>;
}

/// The listener, as the store holds it.
struct Listening(Box<dyn CaptureListener>);

/// Adds a listener; a store has one at most.
pub(in crate::services) fn listen(store: &Store, listener: impl CaptureListener) {
    store.add_listener(Listening(Box::new(listener)));
}

/// Waits for the listener, if there is one.
pub(super) async fn notify(ctx: &Context, account: &Account, charge: ChargeToken) {
    if let Some(Listening(listener)) = ctx.store.listener() {
        listener.captured(ctx, account, charge).await;
    }
}
