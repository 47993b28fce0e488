//! Logged requests grow old by the wall clock. Of those that are there, the account's clock is the only one that is known.

crate::migration!(|_| "
ALTER TABLE logged_requests ADD COLUMN logged_at BIGINT NOT NULL DEFAULT 0;
UPDATE logged_requests SET logged_at = created_at;
"
.into());
