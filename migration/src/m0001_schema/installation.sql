-- The facts about the database, and the keys of the vault, wrapped by the operator's key.

CREATE TABLE installation (
    name TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE vault_keys (
    id UUID NOT NULL PRIMARY KEY,
    purpose TEXT NOT NULL,
    wrapped_by TEXT NOT NULL,
    wrapped BYTES NOT NULL,
    created_at BIGINT NOT NULL,
    remove_at BIGINT,
    seals BIGINT NOT NULL DEFAULT 0
);
