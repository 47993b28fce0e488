//! The rights that operations need of a restricted key (`docs/decisions.md`, 382): in their section `read` for GET and HEAD and
//! `write` for the others, and what their annotations add. One list checks requests and is in the document.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use axum::http::Method;
use base::request_context;
use entity::api_key::KeyRestriction;
use entity::section::{Right, Section};
use serde_json::{Map, Value};

use super::descriptions::{Descriptions, operations};
use crate::error::{Error, ErrorCode};
use crate::services::Account;

/// The key of an operation's `extensions` that adds rights: `json!({ "charges": "read" })`.
const ADDED: &str = "x-rights";

pub type Rights = BTreeMap<Section, Right>;

/// Returns the same right in every section: of operations that show or change whatever an account has.
pub fn everywhere(right: Right) -> Rights {
    Section::ALL.iter().map(|section| (*section, right)).collect()
}

/// The rights that each operation needs, by path and method. They are read from the annotations for the first restricted key,
/// because that takes longer than the rest of a start.
#[derive(Debug)]
pub struct OperationRights {
    operations: Descriptions,
    needed: OnceLock<HashMap<(String, Method), Rights>>,
}

impl OperationRights {
    /// Creates the list for these operations.
    pub fn new(operations: Descriptions) -> Self {
        Self { operations, needed: OnceLock::new() }
    }

    pub fn needed(&self) -> &HashMap<(String, Method), Rights> {
        self.needed.get_or_init(|| {
            let annotated = self.operations.document();
            let mut document = serde_json::to_value(annotated).expect("the document is JSON");
            let needed = operations(&mut document).map(|(path, method, operation)| {
                let method = method.to_uppercase().parse().expect("a method");
                let rights = rights_of(&method, operation).expect("an operation of a section");
                ((path.clone(), method), rights)
            });
            needed.collect()
        })
    }

    /// Returns the rights that the operation of the request needs; `None` for one that is not in the list.
    fn of_request(&self) -> Option<&Rights> {
        let request = request_context::current();
        let (method, route) = request.operation()?;
        let method = if *method == Method::HEAD { Method::GET } else { method.clone() };
        self.needed().get(&(route.to_owned(), method))
    }

    /// Returns the restriction of a request's key if the response shows keys: a repeated request must have the same one, because it may
    /// not get a key with more rights than its own.
    pub(super) fn restriction_of_keys<'a>(&self, account: &'a Account) -> Option<&'a KeyRestriction> {
        let restriction = account.restriction()?;
        self.of_request().is_none_or(|needed| needed.contains_key(&Section::Keys)).then_some(restriction)
    }

    /// Refuses a request for which its key lacks a right.
    ///
    /// Refusals: `forbidden`.
    pub(super) fn check(&self, account: &Account) -> Result<(), Error> {
        if account.restriction().is_none() {
            return Ok(());
        }
        let needed = self.of_request().ok_or(ErrorCode::Forbidden)?;
        needed.iter().try_for_each(|(section, right)| require(account, *section, *right))
    }
}

fn rights_of(method: &Method, operation: &Map<String, Value>) -> Option<Rights> {
    let mut rights = added(operation)?;
    rights.insert(Section::from_tag(operation.get("tags")?[0].as_str()?)?, right_for(method));
    Some(rights)
}

fn added(operation: &Map<String, Value>) -> Option<Rights> {
    operation.get(ADDED).map_or(Some(Rights::new()), |added| serde_json::from_value(added.clone()).ok())
}

/// Adds the rights that the operation's annotation adds to its description.
pub(super) fn describe(operation: &mut Map<String, Value>) {
    let added = added(operation).unwrap_or_default();
    operation.shift_remove(ADDED);
    let Some((_, right)) = added.first_key_value() else { return };
    let needs = if added.len() == Section::ALL.len() {
        format!("Needs `{}` everywhere.", right.code())
    } else {
        let added = added.iter().map(|(section, right)| in_words(*section, *right));
        format!("Also needs {}.", added.collect::<Vec<_>>().join(", "))
    };
    let description = operation["description"].as_str().unwrap_or_default();
    operation["description"] = format!("{description} {needs}").into();
}

fn in_words(section: Section, right: Right) -> String {
    format!("`{}: {}`", section.code(), right.code())
}

/// Returns the right that a method needs: `read` for what only reads and `write` for the others.
pub fn right_for(method: &Method) -> Right {
    if [Method::GET, Method::HEAD].contains(method) { Right::Read } else { Right::Write }
}

/// Refuses what needs a right that a key, or the person who is signed in, lacks.
///
/// Refusals: `forbidden`.
pub fn require(account: &Account, section: Section, right: Right) -> Result<(), Error> {
    if account.may(section, right) {
        return Ok(());
    }
    let (code, name, needed) = (right.code(), section.name(), in_words(section, right));
    let sentence = if account.person.is_some() {
        format!("Your roles may not {code} {name}: that needs {needed}.")
    } else {
        format!("This key may not {code} {name}: it needs {needed}.")
    };
    Err(Error::explained(ErrorCode::Forbidden, sentence))
}
