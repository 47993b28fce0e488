//! Keys that have ended are found by their end, and go.

crate::migration!(|_| "
CREATE INDEX api_keys_ended ON api_keys (valid_until) WHERE valid_until IS NOT NULL;
"
.into());
