//! Numbers of rows that agree in correct books: counters are the numbers of rows, and records that name each other agree. Add a row for
//! each new table that must agree with another one.

use sea_orm::{ConnectionTrait, FromQueryResult, Statement};

/// Rows that there never are.
const NEVER: [(&str, &str); 15] = [
    (
        "webhooks without their endpoint or event",
        "webhooks w WHERE NOT EXISTS (SELECT 1 FROM webhook_endpoints e WHERE e.account_id = w.account_id AND e.id = w.endpoint_id) \
         OR NOT EXISTS (SELECT 1 FROM events x WHERE x.account_id = w.account_id AND x.id = w.event_id)",
    ),
    (
        "former keys without their end, or the other way round",
        "webhook_endpoints WHERE (former_key_sealed IS NULL) <> (former_key_until IS NULL)",
    ),
    (
        "active certificates that no provider has issued, or the other way round",
        "wallet_certificates WHERE (state = 'active') <> \
         (merchant_id IS NOT NULL AND valid_from IS NOT NULL AND valid_until IS NOT NULL)",
    ),
    (
        "uses of keys without a first and a last one",
        "key_uses WHERE uses < 1 OR first_at > last_at OR (uses = 1 AND first_at < last_at)",
    ),
    (
        "open sessions that never expire, or the other way round",
        "three_d_secure_sessions WHERE (state = 'open') <> (expires_at IS NOT NULL)",
    ),
    (
        "open sessions without a copy of their card, or the other way round",
        "three_d_secure_sessions s WHERE (s.state = 'open') <> EXISTS (SELECT 1 FROM cards c WHERE c.account_id = s.account_id \
         AND c.id = s.card_id AND c.state = 'reserved' AND c.number_sealed IS NOT NULL)",
    ),
    (
        "open sessions without a pending charge, or the other way round",
        "three_d_secure_sessions s WHERE (s.state = 'open') <> EXISTS (SELECT 1 FROM charges c WHERE c.account_id = s.account_id \
         AND c.id = s.charge_id AND c.state = 'pending')",
    ),
    (
        "charges without the authorisation that they capture",
        "charges c WHERE origin = 'capture' AND NOT EXISTS (SELECT 1 FROM charges a WHERE a.account_id = c.account_id \
         AND a.id = c.authorisation_id AND a.origin = 'authorisation' AND a.state = 'captured' AND a.captured_as = c.id \
         AND a.amount_captured = c.amount AND c.amount <= a.amount)",
    ),
    (
        "plans that miscount their first charges in flight",
        "plans p WHERE p.deleted_at IS NULL AND p.starting <> (SELECT COUNT(*) FROM subscriptions s JOIN charges c \
         ON c.account_id = s.account_id AND c.id = s.charge_id WHERE s.account_id = p.account_id AND s.plan_id = p.id \
         AND c.origin = 'subscription')",
    ),
    (
        "subscriptions without their plan",
        "subscriptions s WHERE NOT EXISTS (SELECT 1 FROM plans p WHERE p.account_id = s.account_id AND p.id = s.plan_id)",
    ),
    (
        "entries without their subscription",
        "subscription_entries e WHERE NOT EXISTS (SELECT 1 FROM subscriptions s WHERE s.account_id = e.account_id \
         AND s.id = e.subscription_id)",
    ),
    (
        "subscriptions that name a card of another customer",
        "subscriptions s WHERE s.card_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM cards c WHERE c.account_id = s.account_id \
         AND c.id = s.card_id AND c.customer_id = s.customer_id)",
    ),
    (
        // Those of a deleted plan are out of sight, and gone soon.
        "open subscriptions of deleted customers",
        "subscriptions s WHERE s.state IN ('trial', 'active', 'cancelling') AND NOT EXISTS (SELECT 1 FROM customers c \
         WHERE c.account_id = s.account_id AND c.id = s.customer_id) AND EXISTS (SELECT 1 FROM plans p \
         WHERE p.account_id = s.account_id AND p.id = s.plan_id AND p.deleted_at IS NULL)",
    ),
    (
        "subscriptions whose credits are not their debits",
        "(SELECT subscription_id FROM subscription_entries GROUP BY account_id, subscription_id \
         HAVING SUM(CASE WHEN annotation = 'charge_credit' THEN amount ELSE -amount END) <> 0) AS unbalanced",
    ),
    (
        "credits that no charge made",
        "subscription_entries e WHERE e.annotation = 'charge_credit' AND NOT EXISTS (SELECT 1 FROM charges c \
         WHERE c.account_id = e.account_id AND c.id = e.charge_id AND c.amount = e.amount AND c.state = 'captured')",
    ),
];

/// Counters, and the rows that each is the number of, besides those of charges.
const COUNTED: [(&str, &str); 11] = [
    ("customers", "customers"),
    ("disputes", "disputes"),
    ("deposits", "deposits"),
    ("recipients", "recipients"),
    ("transfers", "transfers"),
    ("events", "events"),
    ("refunds", "refunds"),
    ("webhooks", "webhooks"),
    ("merchants", "merchants"),
    ("plans", "plans WHERE deleted_at IS NULL"),
    // Those that the API shows.
    (
        "subscriptions",
        "subscriptions s WHERE s.state <> 'starting' AND NOT EXISTS (SELECT 1 FROM plans p WHERE p.account_id = s.account_id \
         AND p.id = s.plan_id AND p.deleted_at IS NOT NULL)",
    ),
];

/// Two numbers that are the same in correct books.
#[derive(Debug, PartialEq, FromQueryResult)]
pub struct Comparison {
    what: String,
    expected: i64,
    found: i64,
}

/// All comparisons as one query, of those that differ.
fn comparisons() -> String {
    let count = |rows: &str| format!("(SELECT COUNT(*) FROM {rows})");
    let sum = |kind: &str| format!("(SELECT COALESCE(SUM(n), 0) FROM counters WHERE kind = '{kind}')");
    let mut all: Vec<_> =
        NEVER.iter().map(|(what, rows)| ((*what).to_owned(), "0".to_owned(), count(rows))).collect();
    let charges =
        [("charges", entity::charge::LISTED), ("authorisations", entity::charge::LISTED_AUTHORISATIONS)];
    let charges = charges.map(|(kind, listed)| (kind, format!("charges WHERE {listed}")));
    let kinds = COUNTED.iter().map(|(kind, rows)| (*kind, (*rows).to_owned())).chain(charges);
    all.extend(kinds.map(|(kind, rows)| (format!("the counter of {kind}"), count(&rows), sum(kind))));
    all.extend(["trial", "active", "cancelling", "cancelled"].map(|state| {
        let miscounted = format!(
            "plans p WHERE p.deleted_at IS NULL AND p.{state} <> (SELECT COUNT(*) FROM subscriptions s \
             WHERE s.account_id = p.account_id AND s.plan_id = p.id AND s.state = '{state}')"
        );
        (format!("plans that miscount {state} subscriptions"), "0".to_owned(), count(&miscounted))
    }));
    all.push((
        "one entry a captured charge".to_owned(),
        count("charges WHERE state = 'captured' AND origin <> 'authorisation'"),
        count("journal_entries WHERE kind = 'charge'"),
    ));
    let rows = all.iter().map(|(what, expected, found)| {
        format!("SELECT '{what}' AS what, CAST({expected} AS BIGINT) AS expected, CAST({found} AS BIGINT) AS found")
    });
    let rows = rows.collect::<Vec<_>>().join(" UNION ALL ");
    format!("SELECT what, expected, found FROM ({rows}) AS books WHERE expected <> found")
}

/// Returns the comparisons that differ.
pub async fn miscounted(db: &impl ConnectionTrait) -> Vec<Comparison> {
    let statement = Statement::from_string(db.get_database_backend(), comparisons());
    Comparison::find_by_statement(statement).all(db).await.unwrap()
}
