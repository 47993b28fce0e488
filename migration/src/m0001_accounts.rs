//! The database's own facts and keys, accounts and their API keys, the counters of their lists.

crate::migration!(|_| "
CREATE TABLE installation (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);
CREATE TABLE vault_keys (
    id UUID NOT NULL PRIMARY KEY,
    purpose TEXT NOT NULL,
    wrapped_by TEXT NOT NULL,
    wrapped BYTES NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE TABLE accounts (
    id UUID NOT NULL PRIMARY KEY,
    business_name TEXT NOT NULL,
    email TEXT NOT NULL,
    partner BOOLEAN NOT NULL,
    disputes BOOLEAN NOT NULL,
    wallet BOOLEAN NOT NULL,
    transfers_enabled BOOLEAN NOT NULL,
    transfers_schedule TEXT NOT NULL,
    settlement_delay_days INTEGER NOT NULL,
    maximum_charge_cents BIGINT NOT NULL,
    pricing TEXT NOT NULL,
    clock_offset BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE TABLE api_keys (
    hash BYTES NOT NULL PRIMARY KEY,
    account_id UUID NOT NULL,
    kind TEXT NOT NULL,
    sealed BYTES NOT NULL,
    sealed_by UUID NOT NULL,
    valid_until BIGINT,
    created_at BIGINT NOT NULL
);
CREATE INDEX api_keys_of_account ON api_keys (account_id);
CREATE TABLE counters (
    account_id UUID NOT NULL,
    kind TEXT NOT NULL,
    slot INTEGER NOT NULL,
    n BIGINT NOT NULL,
    PRIMARY KEY (account_id, kind, slot)
) CLUSTERED;
"
.into());
