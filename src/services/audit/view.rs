//! The audit trail as operators see it (`docs/decisions.md`, 344).

use std::fmt;

use base::plain_text::OneLine;
use entity::{AccountToken, JsonText, Timestamp, audit_entry, key_use};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// An operator's action, or uses of a key.
#[derive(Debug, Clone, Serialize)]
pub struct AuditRecord {
    /// The time; of a key's uses, the last one.
    at: Timestamp,
    /// The action, such as `account.changed` or `key.used`.
    action: &'static str,
    account: Option<AccountToken>,
    /// The token of the record, or the name of the key.
    subject: String,
    /// The operator, or the address.
    by: Option<String>,
    detail: Value,
}

impl From<audit_entry::Model> for AuditRecord {
    fn from(row: audit_entry::Model) -> Self {
        Self {
            at: row.recorded_at,
            action: row.action.code(),
            account: row.account,
            subject: row.subject,
            by: Some(row.operator),
            detail: object(&row.detail),
        }
    }
}

impl From<key_use::Model> for AuditRecord {
    fn from(row: key_use::Model) -> Self {
        Self {
            at: row.last_at,
            action: "key.used",
            account: Some(row.account_id),
            subject: format!("{} key {}", row.kind.code(), row.key_name),
            by: Some(row.address).filter(|address| !address.is_empty()),
            detail: json!({ "times": row.uses, "first_at": row.first_at, "day": row.day }),
        }
    }
}

fn object(detail: &JsonText) -> Value {
    serde_json::from_str(detail.as_str()).unwrap_or_else(|_| Value::Object(Map::new()))
}

impl fmt::Display for AuditRecord {
    /// Formats a line for a person.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, action, account, subject, by, detail } = self;
        write!(f, "{at} {action} {}", OneLine(subject))?;
        if let Some(account) = account.map(|account| account.to_string()).filter(|token| token != subject) {
            write!(f, " of {account}")?;
        }
        if let Some(by) = by {
            write!(f, " by {}", OneLine(by))?;
        }
        let mut joint = ": ";
        for (name, value) in detail.as_object().into_iter().flatten() {
            match value {
                Value::String(text) => write!(f, "{joint}{} {}", OneLine(name), OneLine(text))?,
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                    write!(f, "{joint}{} {}", OneLine(name), OneLine(value))?;
                }
            }
            joint = ", ";
        }
        Ok(())
    }
}
