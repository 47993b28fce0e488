-- The acts of operators, and the uses of API keys.

CREATE TABLE audit_entries (
    id UUID NOT NULL PRIMARY KEY,
    action TEXT NOT NULL,
    account UUID,
    subject TEXT NOT NULL,
    detail TEXT NOT NULL,
    operator TEXT NOT NULL,
    recorded_at BIGINT NOT NULL
);
CREATE INDEX audit_entries_by_time ON audit_entries (recorded_at, id);

CREATE TABLE key_uses (
    account_id UUID NOT NULL,
    hash BYTES NOT NULL,
    day INTEGER NOT NULL,
    address TEXT NOT NULL,
    kind TEXT NOT NULL,
    key_name TEXT NOT NULL,
    first_at BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    uses BIGINT NOT NULL,
    PRIMARY KEY (account_id, hash, day, address)
) CLUSTERED;
CREATE INDEX key_uses_by_time ON key_uses (last_at);
