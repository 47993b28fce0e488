-- Cards. A card of a payment source is the payment source.

CREATE TABLE cards (
    account_id UUID NOT NULL,
    id UUID NOT NULL,
    state TEXT NOT NULL,
    scheme TEXT NOT NULL,
    display_number TEXT NOT NULL,
    issuing_country TEXT NOT NULL,
    expiry_month INTEGER NOT NULL,
    expiry_year INTEGER NOT NULL,
    name TEXT,
    address_line1 TEXT,
    address_line2 TEXT,
    address_city TEXT,
    address_postcode TEXT,
    address_state TEXT,
    address_country TEXT,
    source TEXT,
    network_type TEXT,
    network_format TEXT,
    customer_id UUID,
    number_sealed BYTES,
    cvc_sealed BYTES,
    network_sealed BYTES,
    sealed_by UUID,
    expires_at BIGINT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, id)
);
CREATE INDEX cards_of_customer ON cards (account_id, customer_id, id) WHERE customer_id IS NOT NULL;
CREATE INDEX cards_expiring ON cards (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX cards_expiring_of_account ON cards (account_id, expires_at, id) WHERE expires_at IS NOT NULL;
