-- The latest requests of accounts in a test environment.

CREATE TABLE logged_requests (
    account_id UUID NOT NULL,
    id UUID NOT NULL,
    request_id TEXT NOT NULL,
    method TEXT NOT NULL,
    route TEXT NOT NULL,
    path TEXT NOT NULL,
    status INTEGER NOT NULL,
    duration BIGINT NOT NULL,
    idempotency_key TEXT,
    replayed BOOLEAN NOT NULL,
    parameters TEXT NOT NULL,
    hidden TEXT NOT NULL,
    error TEXT,
    created_at BIGINT NOT NULL,
    logged_at BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (account_id, id)
);
CREATE INDEX requests_by_their_id ON logged_requests (account_id, request_id, id);
