-- The numbers of events within their account. A commit leaves an event without one; it gets it before anybody sees it.

ALTER TABLE events ADD COLUMN sequence BIGINT;

CREATE TABLE event_sequences (
    account_id UUID NOT NULL PRIMARY KEY,
    last BIGINT NOT NULL
) CLUSTERED;

UPDATE events SET sequence = numbered.sequence
    FROM (SELECT account_id, id, row_number() OVER (PARTITION BY account_id ORDER BY id) AS sequence FROM events) AS numbered
    WHERE numbered.account_id = events.account_id AND numbered.id = events.id;
INSERT INTO event_sequences (account_id, last) SELECT account_id, MAX(sequence) FROM events GROUP BY account_id;

CREATE INDEX events_in_sequence ON events (account_id, sequence, type) WHERE sequence IS NOT NULL;
CREATE INDEX events_without_sequence ON events (account_id, id) WHERE sequence IS NULL;
-- By the token of the record they are about, with which their data begins: {"token":"ch_...".
CREATE INDEX events_about ON events (account_id, substr(data, 11, 30) COLLATE BYTEWISE);
