//! Deposits are listed and counted, and found while they are on their way.

crate::migration!(|_| {
    "
CREATE INDEX deposits_by_time ON deposits (account_id, available_at);
INSERT INTO counters (account_id, kind, slot, n) SELECT account_id, 'deposits', 0, COUNT(*) FROM deposits GROUP BY account_id;
"
.into()
});
