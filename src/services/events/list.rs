//! GET /events: the account's events, and waits for the next ones (`docs/decisions.md`, 374).

use entity::counter::Counted;
use entity::event::{self, Column, EventType};
use entity::{AccountToken, JsonText, Owned};
use sea_orm::sea_query::{Expr, ExprTrait, SimpleExpr};
use sea_orm::{ColumnTrait, Condition, DbBackend, PaginatorTrait, QueryFilter, Select};

use super::readable;
use crate::error::Error;
use crate::params::{Params, Waiting};
use crate::services::context::{Account, Context};
use crate::services::event_sequence;
use crate::services::events::params::{After, EventSearch};
use crate::services::events::view::Event;
use crate::services::memory::arrivals::{Label, Topic, Wanted};
use crate::services::page::{AwaitedList, Growth, List, ListPage};
use crate::services::readable_events::{ReadableEvents, token_of};

pub struct EventList {
    account: AccountToken,
    /// The events that the key of the request may read; `None` if it may read all.
    readable: Option<ReadableEvents>,
    /// The search, without faults.
    params: EventSearch,
    /// The number of the event that `after` names.
    after: Option<i64>,
}

/// Begins a list.
///
/// Refusals: `invalid_resource`.
pub async fn list(ctx: &Context, account: &Account, params: Params<EventSearch>) -> Result<EventList, Error> {
    let Params { value: params, mut faults } = params;
    let after = match params.after {
        Some(After::Number(number)) => {
            if number > event_sequence::last(ctx, account.id()).await? {
                faults.add("after", "is not the number of an event yet");
            }
            Some(number)
        }
        Some(After::Event(token)) => {
            let event = readable(ctx, account, token).await?;
            if event.is_none() {
                faults.add("after", "is not an event of the account");
            }
            event.and_then(|event| event.sequence)
        }
        None => None,
    };
    let params = Params { value: params, faults }.valid()?;
    Ok(EventList { account: account.id(), readable: ReadableEvents::by(account), params, after })
}

impl AwaitedList for EventList {
    type Record = Event;
    const TOPIC: Topic = Topic::Events;

    fn account(&self) -> AccountToken {
        self.account
    }

    fn waiting(&self) -> Waiting {
        self.params.waiting
    }

    fn wanted(&self) -> Wanted {
        let readable =
            self.readable.as_ref().map(|readable| readable.types().map(EventType::code).collect::<Vec<_>>());
        Wanted::default()
            .with(readable)
            .with(self.params.r#type.map(|what| [what.code()]))
            .with(self.params.about.clone().map(|token| [token]))
    }

    async fn prepare(&self, ctx: &Context) -> Result<(), Error> {
        event_sequence::number(ctx, self.account).await
    }

    async fn size(&self, ctx: &Context) -> Result<u64, Error> {
        Ok(numbered(self.account).filter(self.condition(ctx)).count(ctx.store.read()).await?)
    }

    /// Returns a page: after an event the oldest first, otherwise the newest first.
    async fn page(&self, ctx: &Context) -> Result<ListPage<Event>, Error> {
        let EventSearch { r#type, about, paging, .. } = &self.params;
        let all = numbered(self.account);
        let hidden = event_sequence::unnumbered(self.account);
        let is_whole = self.after.is_none() && r#type.is_none() && about.is_none() && self.readable.is_none();
        let page = if is_whole {
            let list = List::newest_first(self.account, all).without(hidden);
            list.counted(ctx, Counted::Events, *paging).await?
        } else {
            let by_number = (Column::Sequence, Growth::AtItsEnd);
            let list = List::sorted(self.account, all, by_number, self.after.is_some());
            let list = list.without(hidden).part_of(Counted::Events, self.condition(ctx));
            let list = if about.is_some() { list.found_first() } else { list };
            list.ranged(ctx, *paging).await?
        };
        Ok(page.map(Event::from))
    }
}

impl EventList {
    fn condition(&self, ctx: &Context) -> Condition {
        let about = self.params.about.as_deref().map(|record| about(ctx.store.backend(), record));
        Condition::all()
            .add_option(self.readable.as_ref().map(ReadableEvents::condition))
            .add_option(self.after.map(|after| Column::Sequence.gt(after)))
            .add_option(self.params.r#type.map(|r#type| Column::Type.eq(r#type)))
            .add_option(about)
    }
}

fn numbered(account: AccountToken) -> Select<event::Entity> {
    event::Entity::owned_by(account).filter(Column::Sequence.is_not_null())
}

/// Returns the labels of an event by which requests wait for it: its type, and the token of the record that it is about.
pub(super) fn labels(what: EventType, data: &JsonText) -> Vec<Label> {
    [Some(what.code().into()), token_of(data).map(|token| token.to_owned().into())]
        .into_iter()
        .flatten()
        .collect()
}

/// Returns the condition that events are about the record with this token.
pub(in crate::services) fn about(backend: DbBackend, record: &str) -> SimpleExpr {
    // As the index has it: an event's data begins with the token, after which only a quotation mark can follow.
    let token = if backend == DbBackend::Postgres {
        r#"substr(data, 11, 30) COLLATE "C""#
    } else {
        "substr(data, 11, 30)"
    };
    let token = || Expr::cust(token);
    token().gte(format!("{record}\"")).and(token().lt(format!("{record}#")))
}
