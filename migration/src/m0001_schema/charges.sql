-- Charges and authorisations.

CREATE TABLE charges (
    account_id UUID NOT NULL,
    id UUID NOT NULL,
    origin TEXT NOT NULL DEFAULT 'payment',
    state TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    call INTEGER NOT NULL,
    claim BYTES,
    settle_after BIGINT,
    amount BIGINT NOT NULL,
    currency TEXT NOT NULL,
    description TEXT NOT NULL,
    email TEXT NOT NULL,
    ip_address TEXT NOT NULL,
    reference TEXT,
    metadata TEXT NOT NULL,
    card TEXT NOT NULL,
    card_id UUID NOT NULL,
    customer_id UUID,
    capture BOOLEAN NOT NULL,
    failure TEXT,
    acquirer_reference TEXT,
    expires_at BIGINT NOT NULL,
    captured_at BIGINT,
    rate BIGINT NOT NULL,
    settlement_amount BIGINT NOT NULL,
    fees BIGINT NOT NULL,
    platform_adjustment BIGINT,
    platform_fees BIGINT NOT NULL,
    entitlement BIGINT NOT NULL,
    amount_refunded BIGINT NOT NULL,
    settlement_refunded BIGINT NOT NULL DEFAULT 0,
    refunds_pending INTEGER NOT NULL,
    authorisation_id UUID,
    amount_captured BIGINT,
    captured_as UUID,
    voided_at BIGINT,
    three_d_secure TEXT,
    amount_disputed BIGINT NOT NULL DEFAULT 0,
    settlement_disputed BIGINT NOT NULL DEFAULT 0,
    disputes_open INTEGER NOT NULL DEFAULT 0,
    disputes_standing INTEGER NOT NULL DEFAULT 0,
    search_text TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id)
);
CREATE INDEX charges_unsettled ON charges (settle_after) WHERE settle_after IS NOT NULL;
CREATE INDEX charges_unsettled_of_account ON charges (account_id, settle_after) WHERE settle_after IS NOT NULL;
CREATE INDEX charges_listed ON charges (account_id, id)
    WHERE state <> 'pending' AND state <> 'processing' AND state <> 'failed' AND origin <> 'authorisation';
CREATE INDEX charges_by_amount ON charges (account_id, amount, id)
    WHERE state <> 'pending' AND state <> 'processing' AND state <> 'failed' AND origin <> 'authorisation';
CREATE INDEX charges_by_card ON charges (account_id, card_id, id)
    WHERE state <> 'pending' AND state <> 'processing' AND state <> 'failed' AND origin <> 'authorisation';
CREATE INDEX charges_of_customer ON charges (account_id, customer_id, id)
    WHERE customer_id IS NOT NULL
    AND state <> 'pending' AND state <> 'processing' AND state <> 'failed' AND origin <> 'authorisation';
CREATE INDEX authorisations_listed ON charges (account_id, id) WHERE origin = 'authorisation' AND state <> 'processing';
