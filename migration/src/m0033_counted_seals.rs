//! How often each data key has encrypted something: with random nonces it may do so four billion times.

crate::migration!(|_| "
ALTER TABLE vault_keys ADD COLUMN seals BIGINT NOT NULL DEFAULT 0;
"
.into());
