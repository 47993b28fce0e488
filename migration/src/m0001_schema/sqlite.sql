-- Searches in SQLite: the trigrams of charges. A short code of the account stands in front of a charge's text, so that no
-- search reads the matches of other accounts. A search that finds much, or looks for one or two characters, reads an index
-- that holds the words in the order of the list. There are few merchants, recipients and transfers.

CREATE VIRTUAL TABLE charges_search USING fts5 (text, id UNINDEXED, tokenize = 'trigram', columnsize = 0);
CREATE INDEX charges_by_time ON charges (account_id, created_at, id, search_text, amount, currency)
    WHERE state <> 'pending' AND state <> 'processing' AND state <> 'failed' AND origin <> 'authorisation';
CREATE INDEX transfers_by_time ON transfers (account_id, created_at, id, search_text, amount, recipient_id);
