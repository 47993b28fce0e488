//! The acquirer elsewhere, over the protocol of docs/acquirer.md: payments are what they are in the process, and whatever
//! becomes of requests, answers and processes, nothing is lost and nothing happens twice.

mod answers;
mod payments;
mod processes;
mod protocol;
mod starts;

use std::sync::Arc;
use std::time::Duration;

use card_payments::config::Environment;

use crate::harness::fault_proxy::FaultProxy;
use crate::harness::{App, Database, Fixture, FlakyAcquirer, remote_acquirer};

/// A server, and the acquirer that it calls through a proxy.
struct RemoteSetup {
    app: App,
    acquirer: Arc<FlakyAcquirer>,
    proxy: FaultProxy,
}

impl RemoteSetup {
    /// None where PostgreSQL is not there.
    async fn on(database: Database) -> Option<Self> {
        Self::waiting(database, Duration::from_mins(1)).await
    }

    /// A server that waits for answers no longer than this.
    async fn waiting(database: Database, answer: Duration) -> Option<Self> {
        let acquirer = Arc::new(FlakyAcquirer::default());
        let proxy = FaultProxy::to(remote_acquirer::served(acquirer.clone(), Environment::Test).await).await;
        let client = remote_acquirer::client(proxy.address, Environment::Test);
        let app = App::start_with(database, client, answer).await?;
        Some(Self { app, acquirer, proxy })
    }
}

impl Fixture for RemoteSetup {
    async fn start(database: Database) -> Option<Self> {
        Self::on(database).await
    }

    async fn check(&self) {
        self.app.check_books().await;
    }
}

/// Rules about a server and an acquirer elsewhere, with `setup: &RemoteSetup`; the books are checked at the end.
macro_rules! remote_rules {
    ($(async fn $name:ident($setup:ident) $body:block)*) => {$(
        async fn $name($setup: &$crate::remote_acquirer::RemoteSetup) $body

        $crate::harness::on_both!($name, $crate::remote_acquirer::RemoteSetup);
    )*};
}
use remote_rules;
