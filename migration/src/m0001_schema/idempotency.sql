-- Idempotency-Keys and the responses kept under them.

CREATE TABLE idempotency_keys (
    account_id UUID NOT NULL,
    hash BYTES NOT NULL,
    fingerprint BYTES NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, hash)
) CLUSTERED;
CREATE INDEX idempotency_keys_by_time ON idempotency_keys (created_at);

CREATE TABLE idempotency_answers (
    account_id UUID NOT NULL,
    hash BYTES NOT NULL,
    status INTEGER NOT NULL,
    sealed BYTES NOT NULL,
    sealed_by UUID NOT NULL,
    PRIMARY KEY (account_id, hash)
);
