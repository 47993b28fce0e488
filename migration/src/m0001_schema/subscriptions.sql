-- Subscriptions and their ledgers.

CREATE TABLE subscriptions (
    account_id UUID NOT NULL,
    id UUID NOT NULL,
    state TEXT NOT NULL,
    plan_id UUID NOT NULL,
    customer_id UUID NOT NULL,
    card_id UUID,
    attempt INTEGER NOT NULL,
    charge_id UUID,
    interval_number INTEGER NOT NULL,
    started_at BIGINT NOT NULL,
    finishes_at BIGINT NOT NULL,
    anchor_number INTEGER NOT NULL,
    anchor_at BIGINT NOT NULL,
    setup_due BOOLEAN NOT NULL,
    failures INTEGER NOT NULL,
    first_failed_at BIGINT,
    next_billing_at BIGINT,
    ends_at BIGINT,
    cancelled_at BIGINT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id)
);
CREATE INDEX subscriptions_of_plan ON subscriptions (account_id, plan_id, id);
CREATE INDEX subscriptions_of_customer ON subscriptions (account_id, customer_id, id);
CREATE INDEX subscriptions_by_card ON subscriptions (account_id, card_id) WHERE card_id IS NOT NULL;
CREATE INDEX subscriptions_charged ON subscriptions (account_id, charge_id) WHERE charge_id IS NOT NULL;
CREATE INDEX subscriptions_due ON subscriptions (next_billing_at) WHERE next_billing_at IS NOT NULL;
CREATE INDEX subscriptions_due_of_account ON subscriptions (account_id, next_billing_at, id)
    WHERE next_billing_at IS NOT NULL;
CREATE INDEX subscriptions_ending ON subscriptions (ends_at) WHERE ends_at IS NOT NULL;
CREATE INDEX subscriptions_ending_of_account ON subscriptions (account_id, ends_at, id) WHERE ends_at IS NOT NULL;

CREATE TABLE subscription_entries (
    account_id UUID NOT NULL,
    id UUID NOT NULL,
    subscription_id UUID NOT NULL,
    interval_number INTEGER NOT NULL,
    annotation TEXT NOT NULL,
    amount BIGINT NOT NULL,
    currency TEXT NOT NULL,
    charge_id UUID NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id)
);
CREATE INDEX subscription_entries_of_subscription ON subscription_entries (account_id, subscription_id, id);
CREATE UNIQUE INDEX subscription_entries_once
    ON subscription_entries (account_id, subscription_id, interval_number, annotation);
