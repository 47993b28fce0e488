//! The deliveries of an inbox, and waits for the next ones.

use entity::inbox_delivery::{self, Column};
use entity::{AccountToken, InboxToken, Owned};
use sea_orm::{ColumnTrait, PaginatorTrait, QueryFilter, Select};
use tokio::sync::broadcast::Receiver;

use super::find;
use crate::error::Error;
use crate::params::Params;
use crate::params::inbox::DeliverySearch;
use crate::services::arrivals::wait_until;
use crate::services::context::{Account, Context};
use crate::services::page::{List, ListPage};
use crate::views::inbox::InboxDelivery;

/// The deliveries of one inbox.
pub struct InboxDeliveries {
    account: AccountToken,
    inbox: InboxToken,
    /// The parameters, without faults.
    pub params: DeliverySearch,
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
    /// Returns what arrives from now on, if there is less than the client waits for.
    pub async fn wanting(&self, ctx: &Context) -> Result<Option<Receiver<InboxToken>>, Error> {
        if self.params.waiting.at_most.is_zero() {
            return Ok(None);
        }
        // Before the look, so that nothing falls between.
        let arrivals = ctx.inbox_arrivals.watch(self.account);
        Ok((!self.is_satisfied(ctx).await?).then_some(arrivals))
    }

    /// Waits until there are enough deliveries.
    pub async fn satisfied(&self, ctx: &Context, arrivals: Receiver<InboxToken>) -> Result<(), Error> {
        wait_until(arrivals, |inbox| *inbox == self.inbox, move || self.is_satisfied(ctx)).await
    }

    async fn is_satisfied(&self, ctx: &Context) -> Result<bool, Error> {
        Ok(self.rows().count(ctx.store.read()).await? >= self.params.waiting.count)
    }

    /// Returns a page of the deliveries, newest first.
    pub async fn page(self, ctx: &Context) -> Result<ListPage<InboxDelivery>, Error> {
        let list = List::newest_first(self.account, self.rows());
        Ok(list.ranged(ctx, self.params.paging).await?.map(InboxDelivery::from))
    }

    fn rows(&self) -> Select<inbox_delivery::Entity> {
        inbox_delivery::Entity::owned_by(self.account).filter(Column::InboxId.eq(self.inbox))
    }
}
