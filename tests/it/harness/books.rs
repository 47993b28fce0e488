//! What no test may break, checked after each rule: the ledger's proofs hold, counters are the numbers of rows, and records that
//! name each other agree. `counts.rs` has the numbers of rows.

use card_payments::services::events::view::Event;
use card_payments::services::ledger::verify::{Difference, verify};
use entity::merchant::MerchantStatus;
use entity::{AccountToken, FileToken, account, event, file, merchant, stray_blob};
use sea_orm::{EntityTrait, QueryOrder, QuerySelect};

use super::app::{App, CONTRACT};
use super::counts::miscounted;

impl App {
    /// Returns where the books differ, as `ledger verify` prints it.
    pub async fn differences(&self) -> Vec<Difference> {
        let mut differences = Vec::new();
        verify(&self.ctx().store, &(), |difference| differences.push(difference.clone())).await.unwrap();
        differences
    }

    /// Checks everything of this file.
    pub async fn check_books(&self) {
        assert_eq!(self.differences().await, []);
        assert_eq!(miscounted(self.ctx().store.read()).await, []);
        self.check_merchants().await;
        self.check_blobs().await;
        self.check_events().await;
    }

    /// The newest events are of the types that the document knows, each with the record that it promises. Those without a record are
    /// rows that a test has written to fill the table.
    async fn check_events(&self) {
        const NEWEST: u64 = 200;
        let newest = event::Entity::find().order_by_desc(event::Column::Id).limit(NEWEST);
        let newest = newest.all(self.ctx().store.read()).await.unwrap();
        for event in newest.into_iter().filter(|event| event.data.as_str() != "{}") {
            let event = serde_json::to_vec(&Event::from(event)).unwrap();
            if let Err(lie) = CONTRACT.check_webhook("event", &event) {
                panic!("{lie}: {}", String::from_utf8_lossy(&event));
            }
        }
    }

    /// A merchant's own account says what its application says. In two statements: each lies by its own key, and tables that
    /// are distributed are joined by nothing else.
    async fn check_merchants(&self) {
        let db = self.ctx().store.read();
        for merchant in merchant::Entity::find().all(db).await.unwrap() {
            let own = account::Entity::find_by_id(merchant.own_account()).one(db).await.unwrap().unwrap();
            assert_eq!(own.referred_by, Some(merchant.account_id), "{merchant:?}");
            assert_eq!(own.status, merchant.status, "{merchant:?}");
            assert!(own.bank_account_id.is_some(), "{merchant:?}");
            let is_active = merchant.status == MerchantStatus::Active;
            assert!(!is_active || merchant.activated_at.is_some(), "{merchant:?}");
        }
    }

    /// Each file has its blob, and each blob its file, unless it is known to be a stray one.
    async fn check_blobs(&self) {
        let db = self.ctx().store.read();
        let blobs = self.blobs();
        let name = |account: AccountToken, id: FileToken| format!("{}.{}", account.id(), id.id());
        let files = file::Entity::find().all(db).await.unwrap();
        let files: Vec<_> = files.iter().map(|file| name(file.account_id, file.id)).collect();
        assert!(files.iter().all(|file| blobs.contains(file)), "a file without its blob: {blobs:?}");
        let strays = stray_blob::Entity::find().all(db).await.unwrap();
        let strays: Vec<_> = strays.iter().map(|stray| name(stray.account_id, stray.id)).collect();
        let is_named =
            |blob: &String| files.contains(blob) || strays.iter().any(|stray| blob.starts_with(stray));
        assert!(blobs.iter().all(is_named), "a blob that nothing names: {blobs:?}");
    }
}
