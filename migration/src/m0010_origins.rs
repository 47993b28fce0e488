//! Who asked for a payment, and authorisations: they are kept with the charges, whose lists do not show them.

use entity::charge::{LISTED, LISTED_AUTHORISATIONS};

crate::migration!(|backend| {
    format!("
ALTER TABLE charges ADD COLUMN origin TEXT NOT NULL DEFAULT 'payment';
ALTER TABLE charges ADD COLUMN authorisation_id UUID;
ALTER TABLE charges ADD COLUMN amount_captured BIGINT;
ALTER TABLE charges ADD COLUMN captured_as UUID;
ALTER TABLE charges ADD COLUMN voided_at BIGINT;
ALTER TABLE charges ADD COLUMN three_d_secure TEXT;
DROP INDEX charges_listed;
DROP INDEX charges_by_time;
DROP INDEX charges_by_amount;
DROP INDEX charges_by_card;
DROP INDEX charges_of_customer;
CREATE INDEX charges_listed ON charges (account_id, id) WHERE {LISTED};
CREATE INDEX charges_by_time ON charges (account_id, created_at, id) WHERE {LISTED};
CREATE INDEX charges_by_amount ON charges (account_id, amount, id) WHERE {LISTED};
CREATE INDEX charges_by_card ON charges (account_id, card_id, id) WHERE {LISTED};
CREATE INDEX charges_of_customer ON charges (account_id, customer_id, id) WHERE customer_id IS NOT NULL AND {LISTED};
CREATE INDEX authorisations_listed ON charges (account_id, id) WHERE {LISTED_AUTHORISATIONS};
{}", words(backend))
});

fn words(backend: DbBackend) -> String {
    if backend == DbBackend::Postgres {
        format!(
            "DROP INDEX charges_by_words;
             CREATE INDEX charges_by_words ON charges USING gin (account_id, search_text gin_trgm_ops) WHERE {LISTED};"
        )
    } else {
        String::new()
    }
}
