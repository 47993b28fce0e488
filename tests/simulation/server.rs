//! A server in threads of its own, which starts, serves, works and stops as the program does.

use std::sync::Arc;
use std::time::Duration;

use card_payments::app::App;
use card_payments::config::Secrets;
use card_payments::workers;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::time::timeout;
use web::server::{self as listener, ServerPhase};

use crate::installation::Installation;
use crate::network::at;

/// How long a server that stops waits for payments in flight, as the program does.
const SHUTDOWN: Duration = Duration::from_secs(50);

/// A server that runs.
pub struct Server {
    /// Its number in the machine.
    pub number: i32,
    /// The first account's secret key.
    pub secret: String,
    stop: oneshot::Sender<()>,
    ended: oneshot::Receiver<()>,
}

impl Server {
    /// Starts a server; returns once it listens. The error says why it has not started.
    pub async fn start(installation: &Arc<Installation>, number: i32) -> Result<Self, String> {
        let (stop, stopped) = oneshot::channel();
        let (ready, is_ready) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let installation = Arc::clone(installation);
        let serve = move || {
            simulated_machine::belong(number);
            let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(serve(&installation, ready, stopped));
            drop(runtime);
            let _ = end.send(());
        };
        std::thread::Builder::new().name(format!("server-{number}")).spawn(serve).unwrap();
        let secret = is_ready.await.map_err(|_| "the server panicked".to_owned())??;
        Ok(Self { number, secret, stop, ended })
    }

    /// Asks the server to stop, and waits until it has ended.
    pub async fn stop(self) {
        let _ = self.stop.send(());
        let _ = self.ended.await;
    }
}

async fn serve(
    installation: &Installation,
    ready: oneshot::Sender<Result<String, String>>,
    stopped: oneshot::Receiver<()>,
) {
    let (location, secrets) = (installation.location(), Secrets::default());
    let opening = App::open(&location, installation.parts(), secrets, installation.info());
    let app = match Box::pin(opening).await {
        Ok(app) => app,
        Err(error) => return drop(ready.send(Err(error.to_string()))),
    };
    let working = workers::start(&app.ctx);
    let accepting = listener::bind(at(installation.port)).unwrap();
    let keys = app.keys.as_ref().expect("keys, as in test");
    let _ = ready.send(Ok(keys.secret.expose().to_owned()));
    let leave = async {
        let _ = stopped.await;
        app.phase.send_replace(ServerPhase::Closing);
    };
    tokio::join!(
        listener::serve(accepting, app.router.clone(), app.admission().connections(), app.phase.subscribe()),
        leave
    );
    app.ctx.tasks.close();
    if timeout(SHUTDOWN, app.ctx.tasks.wait()).await.is_ok() {
        working.stop().await;
    }
    workers::write_counts(&app.ctx).await;
    let _ = app.ctx.memory.request_log.write(&app.ctx.store, None).await;
}
