//! The reasons why a request cannot be read, and its size limits.

/// The maximum nesting of objects and lists, counting the request itself.
pub(super) const LEVELS_MAX: usize = 6;
/// The maximum number of parameters, counting each field and each item at every level.
pub(super) const PAIRS_MAX: usize = 1000;

pub(super) const TOO_DEEP: Unreadable = Unreadable::Malformed("The parameters are nested too deeply");
pub(super) const TOO_MANY: Unreadable = Unreadable::Malformed("There are too many parameters");

/// The reason why the parameters cannot be read. The sentences never repeat what the client sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreadable {
    /// 415: a body of an unsupported type.
    MediaType,
    /// 400, with the sentence that says why.
    Malformed(&'static str),
}
