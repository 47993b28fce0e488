-- Refunds.

CREATE TABLE refunds (
    account_id UUID NOT NULL,
    id UUID NOT NULL,
    charge_id UUID NOT NULL,
    state TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    submit_after BIGINT,
    announced TEXT,
    settles_at BIGINT,
    amount BIGINT NOT NULL,
    currency TEXT NOT NULL,
    settlement_amount BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id)
);
CREATE INDEX refunds_of_charge ON refunds (account_id, charge_id, id);
CREATE INDEX refunds_unsubmitted ON refunds (submit_after) WHERE submit_after IS NOT NULL;
CREATE INDEX refunds_settling ON refunds (settles_at) WHERE settles_at IS NOT NULL;
CREATE INDEX refunds_unsubmitted_of_account ON refunds (account_id, created_at, id) WHERE submit_after IS NOT NULL;
CREATE INDEX refunds_settling_of_account ON refunds (account_id, settles_at, id) WHERE settles_at IS NOT NULL;
