//! Payment sources: cards that were stored as one, and what wallets and networks prove.

crate::migration!(|_| "
ALTER TABLE cards ADD COLUMN source TEXT;
ALTER TABLE cards ADD COLUMN network_type TEXT;
ALTER TABLE cards ADD COLUMN network_format TEXT;
ALTER TABLE cards ADD COLUMN network_sealed BYTES;
"
.into());
