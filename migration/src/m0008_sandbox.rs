//! What the sandbox does to accounts: who made them, the faults of their acquirer, and how they go.

crate::migration!(|_| "
ALTER TABLE accounts ADD COLUMN made_by UUID;
ALTER TABLE accounts ADD COLUMN acquirer_faults TEXT;
ALTER TABLE accounts ADD COLUMN acquirer_calls BIGINT NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN closed_at BIGINT;
ALTER TABLE accounts ADD COLUMN wipe_at BIGINT;
CREATE INDEX accounts_to_wipe ON accounts (wipe_at) WHERE wipe_at IS NOT NULL;
"
.into());
