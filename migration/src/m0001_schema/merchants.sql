-- Merchants that partners have referred. Their names sort by bytes, alike on both databases.

CREATE TABLE merchants (
    account_id UUID NOT NULL,
    id UUID NOT NULL,
    status TEXT NOT NULL,
    email TEXT COLLATE BYTEWISE NOT NULL,
    first_name TEXT COLLATE BYTEWISE NOT NULL,
    last_name TEXT COLLATE BYTEWISE NOT NULL,
    business_name TEXT COLLATE BYTEWISE NOT NULL,
    country TEXT NOT NULL,
    application TEXT NOT NULL,
    password_hash TEXT NOT NULL,
    other_keys_sealed BYTES,
    sealed_by UUID,
    search_text TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    activated_at BIGINT,
    PRIMARY KEY (account_id, id)
);
CREATE INDEX merchants_by_time ON merchants (account_id, created_at, id);
CREATE INDEX merchants_by_email ON merchants (account_id, email, id);
CREATE INDEX merchants_by_first_name ON merchants (account_id, first_name, id);
CREATE INDEX merchants_by_last_name ON merchants (account_id, last_name, id);
CREATE INDEX merchants_by_business_name ON merchants (account_id, business_name, id);
