//! The columns that hold a customer's personal data, and its substitutes (`docs/decisions.md`, 388). The table is total: a test
//! compares it with the schema, so that nobody adds a text without deciding whether it is a person's.

use entity::{JsonText, idempotency_answer};
use sea_orm::sea_query::Value;
use sea_orm::{EntityName, EntityTrait, IdenStatic, Iterable, ModelTrait};
use serde_json::{Map, Value as Json};

use crate::error::Error;

/// The substitute for a personal value. Records stay valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Substitute {
    Text(&'static str),
    /// Nothing: the column may be null.
    Null,
    /// An object without fields.
    EmptyObject,
    /// JSON of records, whose personal fields are replaced: they have the names of the columns.
    Fields,
    /// The row is deleted.
    Deleted,
}

use Substitute::{Deleted, EmptyObject, Fields, Null, Text};

/// The texts of a table.
#[derive(Debug)]
pub struct Columns {
    pub table: &'static str,
    /// The columns that stay as they are: not personal, or of other people than customers.
    pub kept: &'static str,
    /// The columns of customers.
    pub erased: &'static [(&'static str, Substitute)],
}

const fn kept(table: &'static str, kept: &'static str) -> Columns {
    Columns { table, kept, erased: &[] }
}

const EMAIL: Substitute = Text("erased@erased.invalid");
const DESCRIPTION: Substitute = Text("Erased");
const ADDRESS: Substitute = Text("0.0.0.0");

/// Every column of a text type, in every table but SQLite's index of words, which follows `charges.search_text`.
pub const COLUMNS: &[Columns] = &[
    Columns {
        table: "customers",
        kept: "",
        erased: &[
            ("email", EMAIL),
            ("first_name", Null),
            ("last_name", Null),
            ("phone_number", Null),
            ("company", Null),
            ("notes", Null),
            ("ip_address", ADDRESS),
        ],
    },
    Columns {
        table: "cards",
        kept: "state scheme display_number issuing_country source network_type network_format",
        erased: &[
            ("name", Null),
            ("address_line1", Null),
            ("address_line2", Null),
            ("address_city", Null),
            ("address_postcode", Null),
            ("address_state", Null),
            ("address_country", Null),
        ],
    },
    Columns {
        table: "charges",
        kept: "origin state currency failure acquirer_reference",
        erased: &[
            ("description", DESCRIPTION),
            ("email", EMAIL),
            ("ip_address", ADDRESS),
            ("reference", Null),
            ("metadata", EmptyObject),
            ("card", Fields),
            ("three_d_secure", Null),
            // As `search_text::stored_text` folds description and email.
            ("search_text", Text("erased\nerased@erased.invalid")),
        ],
    },
    Columns {
        table: "three_d_secure_sessions",
        kept: "state sandbox_outcome challenge",
        erased: &[("callback_url", Text("https://erased.invalid/"))],
    },
    // The files go with the texts.
    Columns { table: "evidence", kept: "kind", erased: &[("text", DESCRIPTION)] },
    Columns { table: "files", kept: "purpose mime_type", erased: &[("original_filename", Deleted)] },
    Columns { table: "events", kept: "type", erased: &[("data", Fields)] },
    Columns {
        table: "inbox_deliveries",
        kept: "headers signature signature_error fault",
        erased: &[("body", Fields)],
    },
    Columns {
        table: "logged_requests",
        kept: "",
        erased: &[
            ("request_id", Deleted),
            ("method", Deleted),
            ("route", Deleted),
            ("path", Deleted),
            ("idempotency_key", Deleted),
            ("parameters", Deleted),
            ("hidden", Deleted),
            ("error", Deleted),
        ],
    },
    kept("accounts", "business_name email transfers_schedule pricing status acquirer_faults card_testing"),
    kept("acquirer_statements", "name digest stage operator"),
    kept("api_keys", "kind restriction"),
    kept("approvals", "kind state subject parameters asker_issuer asker_subject asked_by decided_by facts"),
    kept("audit_entries", "action subject detail operator"),
    kept("bank_accounts", "state name bsb number bank_name branch"),
    kept("card_attacks", "rule subject"),
    kept("counters", "kind"),
    kept("deposits", "narration"),
    kept("dispute_activities", "kind status"),
    kept("disputes", "category status currency"),
    kept("erasures", "cards"),
    kept("inboxes", "fault"),
    kept("installation", "name value"),
    kept("journal_entries", "kind source"),
    kept("key_uses", "address kind key_name"),
    kept(
        "merchants",
        "status email first_name last_name business_name country application password_hash search_text",
    ),
    kept("person_sessions", "issuer subject name roles"),
    kept("plans", "name currency interval_unit trial_interval_unit"),
    kept("postings", "book currency"),
    kept("recipients", "name email bank_account search_text"),
    kept(
        "reconciliation_exceptions",
        "kind state movement reference subject our_currency their_currency note author",
    ),
    kept("refunds", "state announced currency"),
    kept("statement_lines", "movement reference subject currency"),
    kept("subscription_entries", "annotation currency"),
    kept("subscriptions", "state"),
    kept("transfers", "kind status description reference bank_account search_text"),
    kept("vault_keys", "purpose wrapped_by"),
    kept("wallet_certificates", "state public_key public_key_hash certificate_signing_request merchant_id"),
    kept("wallet_domains", "domain_name"),
    kept("webhook_endpoints", "url"),
    kept("webhooks", "state errors trace"),
];

/// The tables whose columns are fields of records.
const RECORDS: [&str; 3] = ["customers", "cards", "charges"];

/// Returns the tables that hold customers' data, in which former rows stay until PostgreSQL rewrites them.
pub fn tables_of_customers() -> impl Iterator<Item = &'static str> {
    let of_texts = COLUMNS.iter().filter(|columns| !columns.erased.is_empty()).map(|columns| columns.table);
    // Its responses are sealed, and are no texts.
    of_texts.chain([idempotency_answer::Entity.table_name()])
}

fn substitute(table: &str, column: &str) -> Option<Substitute> {
    let columns = COLUMNS.iter().find(|columns| columns.table == table)?;
    columns.erased.iter().find(|(name, _)| *name == column).map(|(_, substitute)| *substitute)
}

/// Returns a row with substitutes for its personal values. A null value stays null.
pub fn erased<M: ModelTrait>(row: &M) -> Result<M, Error> {
    let table = M::Entity::default();
    let mut erased = row.clone();
    for column in <M::Entity as EntityTrait>::Column::iter() {
        let Some(substitute) = substitute(EntityName::table_name(&table), column.as_str()) else { continue };
        let Value::String(Some(text)) = row.get(column) else { continue };
        let value = match substitute {
            Text(text) => Some(text.to_owned()),
            Null => None,
            EmptyObject => Some(JsonText::empty_object().as_str().to_owned()),
            // A delivery to an inbox need not be JSON.
            Fields => Some(erased_json(&text).unwrap_or_default()),
            Deleted => return Err(Error::internal("a row that is deleted and not changed")),
        };
        erased.try_set(column, Value::String(value))?;
    }
    Ok(erased)
}

/// Returns JSON with substitutes for the personal fields of records, at any depth; `None` if it is no JSON.
pub fn erased_json(text: &str) -> Option<String> {
    let mut json = serde_json::from_str(text).ok()?;
    erase_fields(&mut json);
    Some(json.to_string())
}

fn erase_fields(json: &mut Json) {
    match json {
        Json::Object(fields) => {
            for (name, field) in fields.iter_mut().filter(|(_, field)| !field.is_null()) {
                match RECORDS.iter().find_map(|table| substitute(table, name)) {
                    Some(Text(text)) => *field = text.into(),
                    Some(Null) => *field = Json::Null,
                    Some(EmptyObject) => *field = Map::new().into(),
                    Some(Fields | Deleted) | None => erase_fields(field),
                }
            }
        }
        Json::Array(items) => items.iter_mut().for_each(erase_fields),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::params::rules;
    use crate::services::search_text::stored_text;

    #[test]
    fn the_personal_fields_of_records_are_replaced_at_any_depth_and_the_others_stay_in_their_order() {
        let record = json!({
            "token": "dis_1", "charge": {
                "token": "ch_1", "amount": 400, "description": "Roland's", "email": "r@example.com", "ip_address": "::1",
                "card": { "token": "card_1", "name": "Roland", "address_line2": "", "address_city": null, "expiry_year": 2030 },
                "metadata": { "name": "x" }, "transfer": [{ "state": "paid" }],
            },
        });
        assert_eq!(
            erased_json(&record.to_string()).unwrap(),
            json!({
                "token": "dis_1", "charge": {
                    "token": "ch_1", "amount": 400, "description": "Erased", "email": "erased@erased.invalid",
                    "ip_address": "0.0.0.0",
                    "card": { "token": "card_1", "name": null, "address_line2": null, "address_city": null, "expiry_year": 2030 },
                    "metadata": {}, "transfer": [{ "state": "paid" }],
                },
            })
            .to_string()
        );
        assert_eq!(erased_json("Roland"), None);
    }

    #[test]
    fn the_substitutes_are_what_the_api_would_take() {
        let text = |column| match substitute("charges", column) {
            Some(Text(text)) => text,
            other => panic!("{other:?}"),
        };
        assert!(rules::email(text("email")).is_ok() && rules::ip_address(text("ip_address")).is_ok());
        assert_eq!(text("search_text"), stored_text([text("description"), text("email")]));
    }
}
