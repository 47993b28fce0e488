//! Workers are loops that find due work and call a service. Running twice does no harm, any number of servers may run, and
//! another server picks up the work of a killed one.

mod webhook_dispatcher;

pub use webhook_dispatcher::WorkerHandles;

use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::config::Environment;
use crate::error::Error;
use crate::limits::{
    CLOCK_NOTE_INTERVAL, DATA_KEYS_REFRESH_INTERVAL, DATA_KEYS_UNREAD_MAX, KEY_USES_WRITE_INTERVAL,
};
use crate::services::due_work::clocks;
use crate::services::due_work_registry;
use crate::services::memory::arrivals::Topic;
use crate::services::{Ctx, audit, card_testing, clock_record, data_keys, erasures, event_sequence};

const PAUSE: Duration = Duration::from_secs(1);
const ERASURES_READ_AGAIN: Duration = Duration::from_mins(1);
/// The longest time for which due work waits at a start until the marks of erased customers are read: a bucket may be slow.
const MARKS_READ_WITHIN: Duration = Duration::from_mins(1);

/// Starts the workers. They end with the process; work that they leave is due again.
pub fn start(ctx: &Ctx) -> WorkerHandles {
    let (reads_marks, marks_read) = watch::channel(());
    tokio::spawn(repeat_erasures(Ctx::clone(ctx), Some(reads_marks)));
    for kind in due_work_registry::KINDS {
        // The dispatcher delivers webhooks, each endpoint at its own pace.
        if kind.name == due_work_registry::WEBHOOKS.name {
            continue;
        }
        // With a seed nothing happens by itself: moving an account's clock does the due work, in its order.
        if ctx.random.is_seeded() && kind.is_of_accounts() {
            continue;
        }
        let (ctx, mut marks_read) = (Ctx::clone(ctx), marks_read.clone());
        tokio::spawn(async move {
            // A customer whom an older database has brought back is deleted before it is billed.
            drop(tokio::time::timeout(MARKS_READ_WITHIN, marks_read.changed()).await);
            loop {
                match kind.run(&ctx).await {
                    // Failures are logged as they happen.
                    Ok(0) | Err(_) => {}
                    Ok(found) => {
                        tracing::info!(kind = kind.name, found, "due work");
                        // More may be due.
                        continue;
                    }
                }
                tokio::select! {
                    () = tokio::time::sleep(kind.rest) => {}
                    () = ctx.memory.due_work_added.notified() => {}
                }
            }
        });
    }
    tokio::spawn(note_time(Ctx::clone(ctx)));
    tokio::spawn(watch_clocks(Ctx::clone(ctx)));
    tokio::spawn(learn_keys(Ctx::clone(ctx)));
    tokio::spawn(count(Ctx::clone(ctx)));
    tokio::spawn(watch_file(Ctx::clone(ctx)));
    tokio::spawn(log_requests(Ctx::clone(ctx)));
    tokio::spawn(number_events(Ctx::clone(ctx)));
    tokio::spawn(watch_commands(Ctx::clone(ctx)));
    tokio::spawn(seal_trail(Ctx::clone(ctx)));
    tokio::spawn(notice_card_testing(Ctx::clone(ctx)));
    tokio::spawn(receive_announcements(Ctx::clone(ctx)));
    tokio::spawn(send_announcements(Ctx::clone(ctx)));
    webhook_dispatcher::start(ctx)
}

/// Notes the time, by which a clock that is set later is known.
async fn note_time(ctx: Ctx) {
    loop {
        if let Err(error) = clock_record::synchronise(&ctx).await {
            tracing::warn!(%error, "the time was not noted; a doubted clock is not believed before it is");
        }
        tokio::time::sleep(CLOCK_NOTE_INTERVAL).await;
    }
}

/// Notes whether clocks run ahead, for all polls for due work.
async fn watch_clocks(ctx: Ctx) {
    if ctx.environment == Environment::Live {
        return;
    }
    loop {
        if let Err(error) = clocks::note_ahead(&ctx).await {
            tracing::debug!(%error, "whether clocks run ahead is as it was");
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Writes the request log. Entries that cannot be written are lost. The longer a write takes, the longer the pause after it
/// while there is room: of the entries that one account makes so fast, most are displaced and need not be written.
async fn log_requests(ctx: Ctx) {
    const RESTS: u32 = 20;
    loop {
        tokio::time::sleep(PAUSE).await;
        let began = Instant::now();
        if let Err(error) = ctx.memory.request_log.write(&ctx.store, None).await {
            tracing::warn!(%error, "the log of requests lacks some requests");
        }
        tokio::select! {
            () = tokio::time::sleep((began.elapsed() * RESTS).min(9 * PAUSE)) => {}
            () = ctx.memory.request_log.fills() => {}
        }
    }
}

/// Numbers events soon, so that their readers find little to number.
async fn number_events(ctx: Ctx) {
    loop {
        tokio::time::sleep(PAUSE).await;
        if let Err(error) = event_sequence::number_committed(&ctx).await {
            tracing::warn!(%error, "events were not numbered; their next reader does it");
        }
    }
}

/// Makes requests that wait for events check once a command beside this server on SQLite has written: it announces nothing.
async fn watch_commands(ctx: Ctx) {
    let mut seen = None;
    loop {
        tokio::time::sleep(PAUSE).await;
        if !ctx.memory.arrivals.has_waiters(Topic::Events) {
            continue;
        }
        match event_sequence::foreign_writes(&ctx).await {
            Ok(None) => return,
            Ok(writes) if writes == seen => {}
            Ok(writes) => {
                seen = writes;
                ctx.memory.arrivals.check_all(Topic::Events);
            }
            Err(error) => tracing::warn!(%error, "waiting requests do not see what commands do"),
        }
    }
}

/// Seals new entries of the audit trail, and writes its head to the anchor.
async fn seal_trail(ctx: Ctx) {
    let mut watch = audit::TrailWatch::default();
    loop {
        tokio::time::sleep(PAUSE).await;
        if let Err(error) = watch.seal(&ctx).await {
            tracing::error!(%error, "the audit trail was not sealed");
        }
        if let Err(error) = watch.write_anchor(&ctx).await {
            tracing::error!(%error, "the head of the audit trail was not anchored");
        }
    }
}

/// Shares noticed attacks by card testers with the other copies; first of all reads those that last.
async fn notice_card_testing(ctx: Ctx) {
    loop {
        if let Err(error) = card_testing::synchronise(&ctx).await {
            tracing::warn!(%error, "attacks by card testers are not shared; each copy notices them by itself");
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Receives what the other copies announce.
async fn receive_announcements(ctx: Ctx) {
    loop {
        let received = async {
            let Some(mut messages) = ctx.store.listen().await? else { return Ok(()) };
            ctx.memory.arrivals.on_listening();
            loop {
                match messages.next().await? {
                    Some(message) => ctx.memory.arrivals.receive(&message),
                    None => ctx.memory.arrivals.on_listening(),
                }
            }
        };
        let ended: Result<(), Error> = received.await;
        let Err(error) = ended else { return };
        tracing::warn!(%error, "announcements of other copies are not received; waiting requests check for themselves");
        tokio::time::sleep(PAUSE).await;
    }
}

/// Sends announcements to the other copies.
async fn send_announcements(ctx: Ctx) {
    loop {
        let messages = ctx.memory.arrivals.outgoing().await;
        while let Err(error) = ctx.store.notify(&messages).await {
            tracing::debug!(%error, "announcements are sent again");
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Plans the erasures again that a database lacks which was put back from an older copy. The first attempt ends with `first`, whether or
/// not it succeeds.
async fn repeat_erasures(ctx: Ctx, mut first: Option<watch::Sender<()>>) {
    loop {
        match erasures::repeat_marked(&ctx).await {
            Ok(0) => return,
            Ok(planned) => return tracing::warn!(planned, "an older database: customers are erased again"),
            Err(error) => tracing::error!(%error, "the marks of erased customers cannot be read"),
        }
        drop(first.take());
        tokio::time::sleep(ERASURES_READ_AGAIN).await;
    }
}

/// Reads new data keys. A process that cannot read them ends before its own key for sealing may be gone: the data that it
/// sealed with that key would be lost.
async fn learn_keys(ctx: Ctx) {
    let mut learnt = Instant::now();
    loop {
        tokio::time::sleep(DATA_KEYS_REFRESH_INTERVAL).await;
        match data_keys::reload(&ctx).await {
            Ok(()) => learnt = Instant::now(),
            Err(error) => {
                tracing::error!(%error, "the vault's keys cannot be reloaded");
                if learnt.elapsed() > DATA_KEYS_UNREAD_MAX {
                    tracing::error!("data keys cannot be reloaded: stopping");
                    std::process::exit(1);
                }
            }
        }
    }
}

async fn count(ctx: Ctx) {
    loop {
        tokio::time::sleep(KEY_USES_WRITE_INTERVAL).await;
        write_counts(&ctx).await;
    }
}

/// Checks SQLite's file regularly, so that a missing one is noticed even if nothing writes to it.
async fn watch_file(ctx: Ctx) {
    loop {
        tokio::time::sleep(PAUSE).await;
        ctx.store.is_writable();
    }
}

/// Writes the counts kept in memory: now and then, and once more when a server or a command ends.
pub async fn write_counts(ctx: &Ctx) {
    if let Err(error) = audit::write_key_uses(ctx).await {
        tracing::warn!(%error, "uses of keys were not written; counting continues");
    }
    if let Err(error) = data_keys::seals::write(ctx).await {
        tracing::warn!(%error, "encryptions by data keys were not written; counting continues");
    }
}
