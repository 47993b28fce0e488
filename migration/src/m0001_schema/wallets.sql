-- Certificates and domains at wallets, and the payloads that were used.

CREATE TABLE wallet_certificates (
    account_id UUID NOT NULL,
    id UUID NOT NULL,
    state TEXT NOT NULL,
    public_key TEXT NOT NULL,
    public_key_hash TEXT NOT NULL,
    certificate_signing_request TEXT NOT NULL,
    key_sealed BYTES NOT NULL,
    sealed_by UUID NOT NULL,
    merchant_id TEXT,
    valid_from BIGINT,
    valid_until BIGINT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id)
);
CREATE UNIQUE INDEX wallet_certificates_by_key ON wallet_certificates (account_id, public_key_hash);

CREATE TABLE wallet_domains (
    account_id UUID NOT NULL,
    id UUID NOT NULL,
    domain_name TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id)
);
CREATE UNIQUE INDEX wallet_domains_by_name ON wallet_domains (account_id, domain_name);

CREATE TABLE wallet_payloads (
    account_id UUID NOT NULL,
    hash BYTES NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, hash)
) CLUSTERED;
CREATE INDEX wallet_payloads_expiring ON wallet_payloads (expires_at);
