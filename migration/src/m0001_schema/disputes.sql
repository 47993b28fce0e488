-- Disputes, their evidence and activities, and the disputes that simulated cardholders will open.

CREATE TABLE disputes (
    account_id UUID NOT NULL,
    id UUID NOT NULL,
    charge_id UUID NOT NULL,
    category TEXT NOT NULL,
    status TEXT NOT NULL,
    charged_back BOOLEAN NOT NULL,
    amount BIGINT NOT NULL,
    currency TEXT NOT NULL,
    settlement_amount BIGINT NOT NULL,
    evidence_required_by BIGINT NOT NULL,
    expires_at BIGINT,
    submitted_at BIGINT,
    received_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id)
);
CREATE INDEX disputes_of_charge ON disputes (account_id, charge_id, id);
CREATE INDEX disputes_of_status ON disputes (account_id, status, id);
CREATE INDEX disputes_by_receipt ON disputes (account_id, received_at, id);
CREATE INDEX disputes_by_deadline ON disputes (account_id, evidence_required_by, id);
CREATE INDEX disputes_by_amount ON disputes (account_id, amount, id);
CREATE INDEX disputes_expiring ON disputes (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX disputes_expiring_of_account ON disputes (account_id, expires_at, id) WHERE expires_at IS NOT NULL;

CREATE TABLE evidence (
    account_id UUID NOT NULL,
    dispute_id UUID NOT NULL,
    kind TEXT NOT NULL,
    file_id UUID,
    text TEXT,
    PRIMARY KEY (account_id, dispute_id, kind)
) CLUSTERED;
CREATE INDEX evidence_of_file ON evidence (account_id, file_id) WHERE file_id IS NOT NULL;

CREATE TABLE dispute_activities (
    account_id UUID NOT NULL,
    id UUID NOT NULL,
    dispute_id UUID NOT NULL,
    kind TEXT NOT NULL,
    status TEXT,
    amount BIGINT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id)
) CLUSTERED;
CREATE INDEX activities_of_dispute ON dispute_activities (account_id, dispute_id, id);

CREATE TABLE scheduled_disputes (
    account_id UUID NOT NULL,
    id UUID NOT NULL,
    arrives_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id)
) CLUSTERED;
CREATE INDEX disputes_arriving ON scheduled_disputes (arrives_at);
CREATE INDEX disputes_arriving_of_account ON scheduled_disputes (account_id, arrives_at, id);
