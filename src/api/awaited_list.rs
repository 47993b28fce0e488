//! Requests that wait for something to happen. They hold a connection and nothing else: what else they do is boxed, so that its memory is
//! free meanwhile.

use base::request_permits::{release_permit, take_long_answer};
use tokio::time::{Instant, sleep_until};
use web::connections::unless_wanted;
use web::server::ServerPhase;

use super::state::AppState;
use crate::error::Error;
use crate::params::Waiting;
use crate::services::accounts;
use crate::services::page::{AwaitedList, ListPage};

/// Reads a page of a list once it has as many records as the client waits for: at most so long, or until the server wants no new
/// work or the connection for another client. Meanwhile the request holds no permit and no page; afterwards it checks when it is
/// its turn, and takes as much memory as its answer turns out to need.
///
/// Refusals: `unauthorized` if the key of the request has ended meanwhile, and those of the list.
pub async fn await_page<L: AwaitedList>(
    app: &AppState,
    key: Option<[u8; 32]>,
    list: &L,
) -> Result<ListPage<L::Record>, Error> {
    let Waiting { count, wait } = list.waiting();
    if wait.is_zero() {
        return Box::pin(page(app, list)).await;
    }
    let ends_at = Instant::now() + wait;
    // Before the first check, so that nothing falls between.
    let mut arriving = app.memory.arrivals.watch(list.account(), L::TOPIC, list.wanted());
    let mut found = Box::pin(size(app, list)).await?;
    if found >= count {
        return Box::pin(page(app, list)).await;
    }
    drop(take_long_answer());
    release_permit();
    let (mut phase, mut so_far) = (app.phase.clone(), 0);
    loop {
        let waited = unless_wanted(async {
            tokio::select! {
                () = arriving.next(count - found, so_far) => false,
                () = sleep_until(ends_at) => true,
                _ = phase.wait_for(|phase| *phase > ServerPhase::Serving) => true,
            }
        });
        let is_over = waited.await.unwrap_or(true);
        let _permit = app.memory.arrivals.check_permit().await;
        so_far = arriving.so_far();
        let page = Box::pin(page(app, list)).await?;
        if is_over || page.count >= count {
            if let Some(key) = key {
                Box::pin(accounts::authenticate_hashed(app, key)).await?;
            }
            return Ok(page);
        }
        found = page.count;
    }
}

/// Counts the records that are committed by now.
async fn size<L: AwaitedList>(app: &AppState, list: &L) -> Result<u64, Error> {
    list.prepare(app).await?;
    list.size(app).await
}

/// Reads the page as of now.
async fn page<L: AwaitedList>(app: &AppState, list: &L) -> Result<ListPage<L::Record>, Error> {
    list.prepare(app).await?;
    list.page(app).await
}
