-- Accounts, their API keys, and the counters of their lists.

CREATE TABLE accounts (
    id UUID NOT NULL PRIMARY KEY,
    business_name TEXT NOT NULL,
    email TEXT NOT NULL,
    partner BOOLEAN NOT NULL,
    disputes BOOLEAN NOT NULL,
    wallet BOOLEAN NOT NULL,
    transfers_enabled BOOLEAN NOT NULL,
    transfers_schedule TEXT NOT NULL,
    settles_at BIGINT,
    bank_account_id UUID,
    third_party_transfer_fee BIGINT NOT NULL DEFAULT 30,
    settlement_delay_days INTEGER NOT NULL,
    maximum_charge_cents BIGINT NOT NULL,
    pricing TEXT NOT NULL,
    clock_offset BIGINT NOT NULL,
    clock_moves INTEGER NOT NULL DEFAULT 0,
    moving_until BIGINT,
    purge_at BIGINT NOT NULL DEFAULT 0,
    made_by UUID,
    referred_by UUID,
    status TEXT NOT NULL DEFAULT 'active',
    acquirer_faults TEXT,
    acquirer_calls BIGINT NOT NULL DEFAULT 0,
    closed_at BIGINT,
    wipe_at BIGINT,
    created_at BIGINT NOT NULL
);
CREATE INDEX accounts_to_purge ON accounts (purge_at);
CREATE INDEX accounts_by_clock ON accounts (clock_offset);
CREATE INDEX accounts_to_wipe ON accounts (wipe_at) WHERE wipe_at IS NOT NULL;
CREATE INDEX accounts_to_settle ON accounts (settles_at) WHERE settles_at IS NOT NULL;
CREATE INDEX accounts_referred ON accounts (referred_by) WHERE referred_by IS NOT NULL;

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
CREATE INDEX api_keys_ended ON api_keys (valid_until) WHERE valid_until IS NOT NULL;

CREATE TABLE counters (
    account_id UUID NOT NULL,
    kind TEXT NOT NULL,
    slot INTEGER NOT NULL,
    n BIGINT NOT NULL,
    PRIMARY KEY (account_id, kind, slot)
) CLUSTERED;
