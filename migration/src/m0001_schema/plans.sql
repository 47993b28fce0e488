-- Plans, each with the number of its subscriptions by state.

CREATE TABLE plans (
    account_id UUID NOT NULL,
    id UUID NOT NULL,
    name TEXT NOT NULL,
    amount BIGINT NOT NULL,
    setup_amount BIGINT NOT NULL,
    trial_amount BIGINT NOT NULL,
    currency TEXT NOT NULL,
    interval INTEGER NOT NULL,
    interval_unit TEXT NOT NULL,
    intervals INTEGER NOT NULL,
    trial_interval INTEGER NOT NULL,
    trial_interval_unit TEXT,
    customer_may_cancel BOOLEAN NOT NULL,
    trial BIGINT NOT NULL,
    active BIGINT NOT NULL,
    cancelling BIGINT NOT NULL,
    cancelled BIGINT NOT NULL,
    starting BIGINT NOT NULL,
    deleted_at BIGINT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id)
);
CREATE INDEX plans_deleted ON plans (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX plans_deleted_of_account ON plans (account_id, id) WHERE deleted_at IS NOT NULL;
