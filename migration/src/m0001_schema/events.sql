-- Events.

CREATE TABLE events (
    account_id UUID NOT NULL,
    id UUID NOT NULL,
    type TEXT NOT NULL,
    data TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id)
);
