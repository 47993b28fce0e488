//! The deliveries of an inbox, and waits for the next ones.

use entity::inbox_delivery::{self, Column};
use entity::{AccountToken, InboxToken, Owned};
use sea_orm::{ColumnTrait, PaginatorTrait, QueryFilter, Select};

use super::find;
use crate::error::Error;
use crate::params::{Params, Waiting};
use crate::services::context::{Account, Context};
use crate::services::memory::arrivals::{Topic, Wanted};
use crate::services::page::{AwaitedList, List, ListPage};
use crate::services::webhooks::inboxes::params::DeliverySearch;
use crate::services::webhooks::inboxes::view::InboxDelivery;

pub struct InboxDeliveries {
    account: AccountToken,
    inbox: InboxToken,
    params: DeliverySearch,
}

/// Finds an inbox whose deliveries to list.
///
/// Refusals, first match wins: `not_found`, `invalid_resource`.
pub async fn of_inbox(
    ctx: &Context,
    account: &Account,
    token: &str,
    params: Params<DeliverySearch>,
) -> Result<InboxDeliveries, Error> {
    let inbox = find(ctx, account, token).await?;
    Ok(InboxDeliveries { account: account.id(), inbox, params: params.valid()? })
}

impl InboxDeliveries {
    fn rows(&self) -> Select<inbox_delivery::Entity> {
        inbox_delivery::Entity::owned_by(self.account).filter(Column::InboxId.eq(self.inbox))
    }
}

impl AwaitedList for InboxDeliveries {
    type Record = InboxDelivery;
    const TOPIC: Topic = Topic::Deliveries;

    fn account(&self) -> AccountToken {
        self.account
    }

    fn waiting(&self) -> Waiting {
        self.params.waiting
    }

    fn wanted(&self) -> Wanted {
        Wanted::default().with(Some([self.inbox.to_string()]))
    }

    async fn size(&self, ctx: &Context) -> Result<u64, Error> {
        Ok(self.rows().count(ctx.store.read()).await?)
    }

    /// Returns a page of the deliveries, newest first.
    async fn page(&self, ctx: &Context) -> Result<ListPage<InboxDelivery>, Error> {
        let list = List::newest_first(self.account, self.rows());
        Ok(list.ranged(ctx, self.params.paging).await?.map(InboxDelivery::from))
    }
}
