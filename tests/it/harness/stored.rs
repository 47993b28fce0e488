//! What is stored, for rules about what a request must not change or keep.

use entity::{
    account, api_key, balance, bank_account, card, charge, counter, customer, deposit, dispute,
    dispute_activity, event, evidence, file, foretold_dispute, idempotency_answer, idempotency_key, posting,
    recipient, refund, stray_blob, transfer, webhook, webhook_endpoint,
};
use sea_orm::{ConnectionTrait, EntityTrait, QueryOrder, Statement};
use serde_json::Value;

use super::app::{App, Database};
use super::client::Answer;

impl App {
    /// Every row that a request may touch, as text: equal texts mean that nothing changed.
    pub async fn rows(&self) -> String {
        let db = self.ctx().store.read();
        let cards = card::Entity::find().order_by_asc(card::Column::Id).all(db).await.unwrap();
        let customers = customer::Entity::find().order_by_asc(customer::Column::Id).all(db).await.unwrap();
        let charges = charge::Entity::find().order_by_asc(charge::Column::Id).all(db).await.unwrap();
        let events = event::Entity::find().order_by_asc(event::Column::Id).all(db).await.unwrap();
        let endpoints = webhook_endpoint::Entity::find().order_by_asc(webhook_endpoint::Column::Id);
        let endpoints = endpoints.all(db).await.unwrap();
        let webhooks = webhook::Entity::find().order_by_asc(webhook::Column::Id).all(db).await.unwrap();
        let counters = counter::Entity::find()
            .order_by_asc(counter::Column::AccountId)
            .order_by_asc(counter::Column::Kind)
            .order_by_asc(counter::Column::Slot)
            .all(db)
            .await
            .unwrap();
        let refunds = refund::Entity::find().order_by_asc(refund::Column::Id).all(db).await.unwrap();
        let balances = balance::Entity::find()
            .order_by_asc(balance::Column::AccountId)
            .order_by_asc(balance::Column::AvailableOn)
            .order_by_asc(balance::Column::Slot)
            .all(db)
            .await
            .unwrap();
        let accounts = account::Entity::find().order_by_asc(account::Column::Id).all(db).await.unwrap();
        let keys = api_key::Entity::find().order_by_asc(api_key::Column::Hash).all(db).await.unwrap();
        let disputes = dispute::Entity::find().order_by_asc(dispute::Column::Id).all(db).await.unwrap();
        let activities = dispute_activity::Entity::find().order_by_asc(dispute_activity::Column::Id);
        let activities = activities.all(db).await.unwrap();
        let evidence = evidence::Entity::find()
            .order_by_asc(evidence::Column::DisputeId)
            .order_by_asc(evidence::Column::Kind)
            .all(db)
            .await
            .unwrap();
        let foretold = foretold_dispute::Entity::find().order_by_asc(foretold_dispute::Column::Id);
        let foretold = foretold.all(db).await.unwrap();
        let files = file::Entity::find().order_by_asc(file::Column::Id).all(db).await.unwrap();
        let strays = stray_blob::Entity::find().order_by_asc(stray_blob::Column::Id).all(db).await.unwrap();
        let blobs = self.blobs();
        let kept = self.kept().await;
        let postings = posting::Entity::find().order_by_asc(posting::Column::Id).all(db).await.unwrap();
        let bank_accounts = bank_account::Entity::find().order_by_asc(bank_account::Column::Id);
        let bank_accounts = bank_accounts.all(db).await.unwrap();
        let recipients = recipient::Entity::find().order_by_asc(recipient::Column::Id).all(db).await.unwrap();
        let transfers = transfer::Entity::find().order_by_asc(transfer::Column::Id).all(db).await.unwrap();
        let deposits = deposit::Entity::find().order_by_asc(deposit::Column::Id).all(db).await.unwrap();
        format!(
            "{postings:#?}\n{bank_accounts:#?}\n{recipients:#?}\n{transfers:#?}\n{deposits:#?}\n\
             {accounts:#?}\n{keys:#?}\n{cards:#?}\n{customers:#?}\n{charges:#?}\n{refunds:#?}\n{events:#?}\n{endpoints:#?}\n{webhooks:#?}\n\
             {counters:#?}\n{balances:#?}\n{disputes:#?}\n{activities:#?}\n{evidence:#?}\n{foretold:#?}\n{files:#?}\n\
             {strays:#?}\n{blobs:#?}\n{kept:#?}"
        )
    }

    /// What is stored for Idempotency-Keys.
    pub async fn kept(&self) -> (Vec<idempotency_key::Model>, Vec<idempotency_answer::Model>) {
        let db = self.ctx().store.read();
        let keys = idempotency_key::Entity::find().order_by_asc(idempotency_key::Column::Hash);
        let answers = idempotency_answer::Entity::find().order_by_asc(idempotency_answer::Column::Hash);
        (keys.all(db).await.unwrap(), answers.all(db).await.unwrap())
    }

    /// The answer to a request that leaves everything stored as it was.
    pub async fn unchanged(&self, request: impl Future<Output = Answer>) -> Answer {
        let before = self.rows().await;
        let answer = request.await;
        let after = self.rows().await;
        let difference = before.lines().zip(after.lines()).find(|(before, after)| before != after);
        assert!(before == after, "something changed: {difference:?}, by {}", answer.text);
        answer
    }

    /// Everything the database holds, as bytes: the files of SQLite's, the text of PostgreSQL's tables.
    pub async fn everything(&self) -> Vec<u8> {
        match self.database {
            Database::Sqlite => {
                let file = self.text("SELECT file FROM pragma_database_list WHERE name = 'main'").await;
                let files = ["", "-wal", "-shm"].map(|end| std::fs::read(format!("{file}{end}")));
                files.into_iter().flatten().flatten().collect()
            }
            Database::Postgres => {
                let tables = "SELECT string_agg(table_name, ' ') FROM information_schema.tables WHERE table_schema = 'public'";
                let mut all = String::new();
                for table in self.text(tables).await.split(' ') {
                    let rows = format!(
                        "SELECT COALESCE(string_agg(row.row_text, ' '), '') FROM (SELECT t::text AS row_text FROM {table} t) AS row"
                    );
                    all.push_str(&self.text(&rows).await);
                }
                all.into_bytes()
            }
        }
    }

    /// One text from the database.
    pub async fn text(&self, sql: &str) -> String {
        let reader = self.ctx().store.read();
        let statement = Statement::from_string(reader.get_database_backend(), sql);
        reader.query_one_raw(statement).await.unwrap().unwrap().try_get_by_index(0).unwrap()
    }
}

impl Answer {
    /// A 422 `invalid_resource` with exactly these faults, in this order.
    #[track_caller]
    pub fn faulty(&self, expected: &[(&str, &str)]) {
        let faults = self.faults();
        let faults: Vec<_> = faults.iter().map(|(param, said)| (param.as_str(), said.as_str())).collect();
        assert_eq!(faults, expected, "{}", self.text);
        assert_eq!(
            self.json()["error_description"],
            "One or more parameters were missing or invalid",
            "{}",
            self.text
        );
    }

    /// A 404 `not_found`.
    #[track_caller]
    pub fn not_found(&self) {
        let body = self.refused(404, "not_found");
        assert_eq!(body["error_description"], "The requested resource could not be found.");
    }

    /// The record of a success, byte for byte.
    #[track_caller]
    pub fn record(&self) -> &str {
        assert!((200..300).contains(&self.status), "{}", self.text);
        let record = self.text.strip_prefix("{\"response\":").expect("a record");
        let end = record.rfind(",\"ip_address\":\"").filter(|_| record.ends_with("\"}"));
        &record[..end.unwrap_or(record.len() - 1)]
    }
}

/// The token of a record.
#[track_caller]
pub fn token(record: &Value) -> &str {
    record["token"].as_str().unwrap_or_else(|| panic!("no token: {record}"))
}

/// The fields of a record, in their order.
pub fn fields(record: &Value) -> Vec<&str> {
    record.as_object().expect("an object").keys().map(String::as_str).collect()
}

/// The same parameters with others on top.
pub fn with(mut parameters: Value, others: &Value) -> Value {
    for (name, value) in others.as_object().expect("an object") {
        parameters[name] = value.clone();
    }
    parameters
}
