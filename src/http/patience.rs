//! Requests that wait for something to happen. They hold a connection and nothing else: what else they do is boxed, so that its memory is
//! free meanwhile.

use tokio::time::{Instant, sleep_until};

use super::AppState;
use super::server::ServerPhase;
use crate::error::Error;
use crate::runtime::request_context;
use crate::runtime::request_permits::{release_permit, take_long_answer};
use crate::services::page::{AwaitedList, ListPage};

/// Reads a page of a list once it has as many records as the client waits for: at most so long, or until the server wants no new
/// work. Meanwhile the request holds no permit and no page, and takes a permit again; of memory, as much as its answer turns out to
/// need.
///
/// Refusals: those of the list, `service_unavailable`.
pub async fn page_in_time<L: AwaitedList>(app: &AppState, list: &L) -> Result<ListPage<L::Record>, Error> {
    let waiting = list.waiting();
    if waiting.wait.is_zero() {
        list.prepare(app).await?;
        return Box::pin(list.page(app)).await;
    }
    let ends_at = Instant::now() + waiting.wait;
    // Before the look, so that nothing falls between.
    let mut arriving = app.arrivals.watch(list.account(), L::TOPIC);
    if Box::pin(visible(app, list)).await? < waiting.count {
        drop(take_long_answer());
        release_permit();
        let mut phase = app.phase.clone();
        loop {
            let may_suffice = tokio::select! {
                () = arriving.next() => true,
                () = sleep_until(ends_at) => false,
                _ = phase.wait_for(|phase| *phase > ServerPhase::Serving) => false,
            };
            if !may_suffice {
                break;
            }
            let _turn = app.arrivals.turn().await;
            if Box::pin(visible(app, list)).await? >= waiting.count {
                break;
            }
        }
        app.admission.enter(request_context::account()).await?;
    }
    Box::pin(list.page(app)).await
}

/// Counts the records that are committed by now.
async fn visible<L: AwaitedList>(app: &AppState, list: &L) -> Result<u64, Error> {
    list.prepare(app).await?;
    list.size(app).await
}
