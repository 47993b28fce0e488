//! Transfers, when settlement makes them, and the postings that are their lines.

crate::migration!(|backend| {
    format!(
        "
CREATE TABLE transfers (
    account_id UUID NOT NULL,
    id UUID NOT NULL,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    recipient_id UUID,
    description TEXT NOT NULL,
    amount BIGINT NOT NULL,
    fee BIGINT NOT NULL,
    total_debits BIGINT NOT NULL,
    total_credits BIGINT NOT NULL,
    line_items_count BIGINT NOT NULL,
    reference TEXT NOT NULL,
    bank_account TEXT NOT NULL,
    returns_at BIGINT,
    search_text TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id)
);
CREATE INDEX transfers_by_time ON transfers (account_id, created_at, id);
CREATE INDEX transfers_by_amount ON transfers (account_id, amount, id);
CREATE INDEX transfers_of_recipient ON transfers (account_id, recipient_id, id) WHERE recipient_id IS NOT NULL;
CREATE INDEX transfers_returning ON transfers (returns_at) WHERE returns_at IS NOT NULL;
CREATE INDEX transfers_returning_of_account ON transfers (account_id, returns_at, id) WHERE returns_at IS NOT NULL;
{}
ALTER TABLE accounts ADD COLUMN settles_at BIGINT;
ALTER TABLE accounts ADD COLUMN bank_account_id UUID;
ALTER TABLE accounts ADD COLUMN third_party_transfer_fee BIGINT NOT NULL DEFAULT 30;
CREATE INDEX accounts_to_settle ON accounts (settles_at) WHERE settles_at IS NOT NULL;
ALTER TABLE postings ADD COLUMN unsettled BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE postings ADD COLUMN transfer_id UUID;
UPDATE postings SET unsettled = TRUE WHERE book = 'merchant' AND entry_id IN (SELECT id FROM journal_entries WHERE kind <> 'deposit');
CREATE INDEX postings_unsettled ON postings (account_id, available_on) WHERE unsettled;
CREATE INDEX postings_of_transfer ON postings (account_id, transfer_id, id) WHERE transfer_id IS NOT NULL;
",
        crate::words(backend, "transfers")
    )
});
