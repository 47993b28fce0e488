//! Data keys retire: a younger one encrypts, and they go once nothing needs them any more.

crate::migration!(|_| "
ALTER TABLE vault_keys ADD COLUMN remove_at BIGINT;
"
.into());
