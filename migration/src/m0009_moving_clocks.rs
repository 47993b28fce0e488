//! Who is moving an account's clock, and what it comes by: of all that is due at one instant, the first by id.

crate::migration!(|_| {
    "
ALTER TABLE accounts ADD COLUMN clock_moves INTEGER NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN moving_until BIGINT;
CREATE INDEX charges_unsettled_of_account ON charges (account_id, settle_after) WHERE settle_after IS NOT NULL;
CREATE INDEX refunds_unsubmitted_of_account ON refunds (account_id, created_at, id) WHERE submit_after IS NOT NULL;
DROP INDEX refunds_settling_of_account;
CREATE INDEX refunds_settling_of_account ON refunds (account_id, settles_at, id) WHERE settles_at IS NOT NULL;
DROP INDEX cards_expiring_of_account;
CREATE INDEX cards_expiring_of_account ON cards (account_id, expires_at, id) WHERE expires_at IS NOT NULL;
"
.into()
});
