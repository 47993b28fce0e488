-- Customers.

CREATE TABLE customers (
    account_id UUID NOT NULL,
    id UUID NOT NULL,
    email TEXT NOT NULL,
    first_name TEXT,
    last_name TEXT,
    phone_number TEXT,
    company TEXT,
    notes TEXT,
    primary_card_id UUID NOT NULL,
    ip_address TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id)
);
