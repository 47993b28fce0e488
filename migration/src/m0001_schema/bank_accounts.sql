-- Bank accounts of accounts and of recipients.

CREATE TABLE bank_accounts (
    account_id UUID NOT NULL,
    id UUID NOT NULL,
    state TEXT NOT NULL,
    name TEXT NOT NULL,
    bsb TEXT NOT NULL,
    number TEXT NOT NULL,
    bank_name TEXT NOT NULL,
    branch TEXT NOT NULL,
    number_sealed BYTES NOT NULL,
    sealed_by UUID NOT NULL,
    expires_at BIGINT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id)
);
CREATE INDEX bank_accounts_expiring ON bank_accounts (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX bank_accounts_expiring_of_account ON bank_accounts (account_id, expires_at, id)
    WHERE expires_at IS NOT NULL;
