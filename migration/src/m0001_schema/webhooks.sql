-- Webhook endpoints, and webhooks.

CREATE TABLE webhook_endpoints (
    account_id UUID NOT NULL,
    id UUID NOT NULL,
    slot INTEGER NOT NULL,
    url TEXT NOT NULL,
    key_sealed BYTES NOT NULL,
    sealed_by UUID NOT NULL,
    former_key_sealed BYTES,
    former_key_until BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id)
);
CREATE UNIQUE INDEX webhook_endpoints_slots ON webhook_endpoints (account_id, slot);
CREATE INDEX former_webhook_keys ON webhook_endpoints (former_key_until) WHERE former_key_until IS NOT NULL;
CREATE INDEX former_webhook_keys_of_account ON webhook_endpoints (account_id, former_key_until, id)
    WHERE former_key_until IS NOT NULL;

CREATE TABLE webhooks (
    account_id UUID NOT NULL,
    id UUID NOT NULL,
    event_id UUID NOT NULL,
    endpoint_id UUID NOT NULL,
    state TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    leased_until BIGINT,
    due_at BIGINT,
    retries INTEGER NOT NULL,
    errors TEXT NOT NULL,
    accepted_at BIGINT,
    created_at BIGINT NOT NULL,
    trace TEXT,
    PRIMARY KEY (account_id, id)
);
CREATE INDEX webhooks_of_endpoint ON webhooks (account_id, endpoint_id);
CREATE INDEX webhooks_due ON webhooks (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhooks_due_of_account ON webhooks (account_id, due_at) WHERE due_at IS NOT NULL;
