-- The ledger: journal entries, their postings, and the balances that they add up to.

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
    unsettled BOOLEAN NOT NULL DEFAULT FALSE,
    transfer_id UUID,
    PRIMARY KEY (account_id, id)
) CLUSTERED;
CREATE INDEX postings_unsettled ON postings (account_id, available_on) WHERE unsettled;
CREATE INDEX postings_of_transfer ON postings (account_id, transfer_id, id) WHERE transfer_id IS NOT NULL;

CREATE TABLE balances (
    account_id UUID NOT NULL,
    available_on INTEGER NOT NULL,
    slot INTEGER NOT NULL,
    amount BIGINT NOT NULL,
    PRIMARY KEY (account_id, available_on, slot)
) CLUSTERED;
