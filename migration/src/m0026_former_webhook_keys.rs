//! After a rotation an endpoint's former key signs as well for a while, and then goes.

crate::migration!(|_| "
ALTER TABLE webhook_endpoints ADD COLUMN former_key_sealed BYTES;
ALTER TABLE webhook_endpoints ADD COLUMN former_key_until BIGINT;
CREATE INDEX former_webhook_keys ON webhook_endpoints (former_key_until) WHERE former_key_until IS NOT NULL;
CREATE INDEX former_webhook_keys_of_account ON webhook_endpoints (account_id, former_key_until, id)
    WHERE former_key_until IS NOT NULL;
"
.into());
