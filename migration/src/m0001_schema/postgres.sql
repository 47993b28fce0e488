-- Searches in PostgreSQL: the trigrams of an account's texts. Without fastupdate a new row is in the index at once. With it,
-- rows wait in a list that each search reads to its end, until one payment has to sort thousands of them into the index.

CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;
CREATE INDEX charges_by_words ON charges USING gin (account_id, search_text gin_trgm_ops) WITH (fastupdate = off)
    WHERE state <> 'pending' AND state <> 'processing' AND state <> 'failed' AND origin <> 'authorisation';
CREATE INDEX merchants_by_words ON merchants USING gin (account_id, search_text gin_trgm_ops) WITH (fastupdate = off);
CREATE INDEX recipients_by_words ON recipients USING gin (account_id, search_text gin_trgm_ops) WITH (fastupdate = off);
CREATE INDEX transfers_by_words ON transfers USING gin (account_id, search_text gin_trgm_ops) WITH (fastupdate = off);
CREATE INDEX charges_by_time ON charges (account_id, created_at, id)
    WHERE state <> 'pending' AND state <> 'processing' AND state <> 'failed' AND origin <> 'authorisation';
CREATE INDEX transfers_by_time ON transfers (account_id, created_at, id);
