-- Uploaded files, and blobs that no file's row names.

CREATE TABLE files (
    account_id UUID NOT NULL,
    id UUID NOT NULL,
    original_filename TEXT NOT NULL,
    purpose TEXT NOT NULL,
    size BIGINT NOT NULL,
    mime_type TEXT NOT NULL,
    uploaded_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id)
);

CREATE TABLE stray_blobs (
    account_id UUID NOT NULL,
    id UUID NOT NULL,
    remove_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id)
) CLUSTERED;
CREATE INDEX blobs_to_remove ON stray_blobs (remove_at);
