-- Transfers.

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
CREATE INDEX transfers_by_amount ON transfers (account_id, amount, id);
CREATE INDEX transfers_of_recipient ON transfers (account_id, recipient_id, id) WHERE recipient_id IS NOT NULL;
CREATE INDEX transfers_returning ON transfers (returns_at) WHERE returns_at IS NOT NULL;
CREATE INDEX transfers_returning_of_account ON transfers (account_id, returns_at, id) WHERE returns_at IS NOT NULL;
