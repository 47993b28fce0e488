-- Searches in PostgreSQL: the trigrams of an account's texts. New charges wait in a list of at most 64 kB, some sixty, and then one
-- payment sorts all of them into the index, which costs less than half of what each of them alone would. A search reads the list as
-- well. Other tables get few rows, which are in their index at once.

CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;
CREATE INDEX charges_by_words ON charges USING gin (account_id, search_text gin_trgm_ops)
    WITH (fastupdate = on, gin_pending_list_limit = 64)
    WHERE state <> 'pending' AND state <> 'processing' AND state <> 'failed' AND origin <> 'authorisation';
CREATE INDEX merchants_by_words ON merchants USING gin (account_id, search_text gin_trgm_ops) WITH (fastupdate = off);
CREATE INDEX recipients_by_words ON recipients USING gin (account_id, search_text gin_trgm_ops) WITH (fastupdate = off);
CREATE INDEX transfers_by_words ON transfers USING gin (account_id, search_text gin_trgm_ops) WITH (fastupdate = off);
CREATE INDEX charges_by_time ON charges (account_id, created_at, id)
    WHERE state <> 'pending' AND state <> 'processing' AND state <> 'failed' AND origin <> 'authorisation';
CREATE INDEX transfers_by_time ON transfers (account_id, created_at, id);
