-- Recipients of transfers.

CREATE TABLE recipients (
    account_id UUID NOT NULL,
    id UUID NOT NULL,
    name TEXT,
    email TEXT NOT NULL,
    bank_account_id UUID NOT NULL,
    bank_account TEXT NOT NULL,
    search_text TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id)
);
