-- 3-D Secure sessions, and their pages, which are found by a keyed hash.

CREATE TABLE three_d_secure_sessions (
    account_id UUID NOT NULL,
    id UUID NOT NULL,
    state TEXT NOT NULL,
    charge_id UUID NOT NULL,
    card_id UUID NOT NULL,
    enrolled BOOLEAN NOT NULL,
    callback_url TEXT NOT NULL,
    sandbox_outcome TEXT,
    expires_at BIGINT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id)
);
CREATE INDEX sessions_expiring ON three_d_secure_sessions (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX sessions_expiring_of_account ON three_d_secure_sessions (account_id, expires_at, charge_id)
    WHERE expires_at IS NOT NULL;

CREATE TABLE challenge_pages (
    hash BYTES NOT NULL PRIMARY KEY,
    account_id UUID NOT NULL,
    session_id UUID NOT NULL
) CLUSTERED;
CREATE INDEX challenge_pages_of_account ON challenge_pages (account_id);
