-- Snapshots of accounts, their contents, and the files whose blobs they need.

CREATE TABLE snapshots (
    account_id UUID NOT NULL,
    id UUID NOT NULL,
    schema_steps INTEGER NOT NULL,
    row_count BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    remove_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id)
);
CREATE INDEX snapshots_to_remove ON snapshots (remove_at);

CREATE TABLE snapshot_parts (
    account_id UUID NOT NULL,
    snapshot_id UUID NOT NULL,
    n INTEGER NOT NULL,
    rows_sealed BYTES NOT NULL,
    sealed_by UUID NOT NULL,
    PRIMARY KEY (account_id, snapshot_id, n)
);

CREATE TABLE snapshot_files (
    account_id UUID NOT NULL,
    file_id UUID NOT NULL,
    snapshot_id UUID NOT NULL,
    PRIMARY KEY (account_id, file_id, snapshot_id)
) CLUSTERED;
