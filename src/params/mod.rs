//! Request parameters: from the tree of a body or a query to a plain struct, with every fault on the way.

mod collect;
mod complaints;
mod field_errors;
mod findings;
mod grace;
mod http_url;
mod loggable;
mod paging;
mod patch;
pub mod rules;
mod search;
#[cfg(test)]
mod tests;
pub(crate) mod values;
mod waiting;

pub use field_errors::{FieldErrors, FieldMessage, unknown_parameter};
pub use findings::{ReadValues, ShownValues};
pub use grace::{GRACE, parse_grace_period, read_grace};
pub use http_url::{HttpUrl, without_credentials};
pub use loggable::LoggableParams;
pub use paging::Paging;
pub use patch::Patch;
pub use search::{Search, Sorting, read_instant};
pub use waiting::Waiting;

use serde::de::DeserializeOwned;
use serde_json::Value;
use validator::Validate;

/// The paths of parameters that are lists. A form may repeat their names, and each value is an item.
pub const LISTS: [&[&str]; 3] =
    [&["customer_permissions"], &["networks"], &["source", "intermediateSigningKey", "signatures"]];

/// Decoded parameters with every fault found so far. Services add the faults that only they can see, then take the value.
#[derive(Debug)]
pub struct Params<T> {
    /// The parameters. If there are faults, some are placeholders: decide nothing by them before [`Params::valid`].
    pub value: T,
    pub faults: FieldErrors,
}

impl<T> Params<T> {
    /// Returns the value, if there is no fault.
    pub fn valid(self) -> Result<T, FieldErrors> {
        if self.faults.is_empty() { Ok(self.value) } else { Err(self.faults) }
    }
}

/// A tree of parameters, from which request structs are read.
pub trait ParameterTree {
    /// Reads a request struct: decodes all of it, then runs `validator`.
    fn params<T: DeserializeOwned + Validate>(&self) -> Params<T>;
}

impl ParameterTree for Value {
    fn params<T: DeserializeOwned + Validate>(&self) -> Params<T> {
        read(self)
    }
}

/// Reads a request struct from a tree, as [`decode`].
pub fn read<T: DeserializeOwned + Validate>(tree: &Value) -> Params<T> {
    decode(tree).0
}

/// Reads a request struct from a tree. Returns it with the values that it has read.
///
/// The struct may contain `String`, newtypes over it, `i64`, `bool`, enums of plain names, lists and maps of these, nested
/// structs, and any of them in an `Option` or a [`Patch`]. It must not use `serde(default)`, `serde(alias)` or `serde(flatten)`:
/// every field is offered exactly once, absent or not. Lists contain no structs: their faults could not be distinguished.
pub fn decode<T: DeserializeOwned + Validate>(tree: &Value) -> (Params<T>, ReadValues) {
    let (value, mut findings) = collect::collect::<T>(tree);
    if let Err(errors) = value.validate() {
        complaints::note(&errors, "", &mut findings);
    }
    (Params { value, faults: findings.faults }, findings.read)
}

/// Returns the trimmed text, unless it is blank or cannot be read. For optional choices and tokens, where blank means absent.
pub fn non_blank(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty() && *text != values::UNREADABLE)
}

/// Returns whether an optional text was sent that is not blank, even if it cannot be read.
pub fn is_sent(text: Option<&str>) -> bool {
    text.is_some_and(|text| !text.trim().is_empty())
}
