//! Charges and the look-up of words in them.

/// What lists showed when this step was released.
const LISTED: &str = "state IN ('authorised', 'capturing', 'voiding', 'captured', 'voided')";

crate::migration!(|backend| {
    format!("
CREATE TABLE charges (
    account_id UUID NOT NULL,
    id UUID NOT NULL,
    state TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    call INTEGER NOT NULL,
    settle_after BIGINT,
    amount BIGINT NOT NULL,
    currency TEXT NOT NULL,
    description TEXT NOT NULL,
    email TEXT NOT NULL,
    ip_address TEXT NOT NULL,
    reference TEXT,
    metadata TEXT NOT NULL,
    card TEXT NOT NULL,
    card_id UUID NOT NULL,
    customer_id UUID,
    capture BOOLEAN NOT NULL,
    failure TEXT,
    acquirer_reference TEXT,
    expires_at BIGINT NOT NULL,
    captured_at BIGINT,
    rate BIGINT NOT NULL,
    settlement_amount BIGINT NOT NULL,
    fees BIGINT NOT NULL,
    platform_adjustment BIGINT,
    platform_fees BIGINT NOT NULL,
    entitlement BIGINT NOT NULL,
    amount_refunded BIGINT NOT NULL,
    refunds_pending INTEGER NOT NULL,
    search_text TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id)
);
CREATE INDEX charges_listed ON charges (account_id, id) WHERE {LISTED};
CREATE INDEX charges_by_time ON charges (account_id, created_at, id) WHERE {LISTED};
CREATE INDEX charges_by_amount ON charges (account_id, amount, id) WHERE {LISTED};
CREATE INDEX charges_by_card ON charges (account_id, card_id, id) WHERE {LISTED};
CREATE INDEX charges_of_customer ON charges (account_id, customer_id, id) WHERE customer_id IS NOT NULL AND {LISTED};
CREATE INDEX charges_unsettled ON charges (settle_after) WHERE settle_after IS NOT NULL;
{}", search(backend))
});

/// Words are found by trigrams on both databases. SQLite's table carries the id, and in front of the text a
/// short code of the account, so that nobody scans another account's matches.
fn search(backend: DbBackend) -> String {
    if backend == DbBackend::Postgres {
        format!(
            "CREATE EXTENSION IF NOT EXISTS pg_trgm;
             CREATE EXTENSION IF NOT EXISTS btree_gin;
             CREATE INDEX charges_by_words ON charges USING gin (account_id, search_text gin_trgm_ops) WHERE {LISTED};"
        )
    } else {
        "CREATE VIRTUAL TABLE charges_search USING fts5 (text, id UNINDEXED, tokenize = 'trigram', columnsize = 0);".into()
    }
}
