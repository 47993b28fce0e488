//! The ledger with its balances, deposits, and events.

crate::migration!(|_| "
CREATE TABLE journal_entries (
    account_id UUID NOT NULL,
    id UUID NOT NULL,
    kind TEXT NOT NULL,
    source TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id)
) CLUSTERED;
CREATE TABLE postings (
    account_id UUID NOT NULL,
    id UUID NOT NULL,
    entry_id UUID NOT NULL,
    book TEXT NOT NULL,
    amount BIGINT NOT NULL,
    currency TEXT NOT NULL,
    available_on INTEGER NOT NULL,
    PRIMARY KEY (account_id, id)
) CLUSTERED;
CREATE TABLE balances (
    account_id UUID NOT NULL,
    available_on INTEGER NOT NULL,
    slot INTEGER NOT NULL,
    amount BIGINT NOT NULL,
    PRIMARY KEY (account_id, available_on, slot)
) CLUSTERED;
CREATE TABLE deposits (
    account_id UUID NOT NULL,
    id UUID NOT NULL,
    amount BIGINT NOT NULL,
    narration TEXT NOT NULL,
    available_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id)
);
CREATE TABLE events (
    account_id UUID NOT NULL,
    id UUID NOT NULL,
    type TEXT NOT NULL,
    data TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id)
);
"
.into());
