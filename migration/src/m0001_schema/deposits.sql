-- Deposits.

CREATE TABLE deposits (
    account_id UUID NOT NULL,
    id UUID NOT NULL,
    amount BIGINT NOT NULL,
    narration TEXT NOT NULL,
    available_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id)
);
CREATE INDEX deposits_by_time ON deposits (account_id, available_at);
