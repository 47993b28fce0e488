//! The trace that a webhook goes on with.

crate::migration!(|_| "
ALTER TABLE webhooks ADD COLUMN trace TEXT;
"
.into());
