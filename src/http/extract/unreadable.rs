//! Why a request cannot be read, and the limits of what can.

/// How deep objects and lists may lie in each other, the request itself counted.
pub(super) const LEVELS_MAX: usize = 6;
/// How many parameters a request may have, counting each field and each item at every level.
pub(super) const PAIRS_MAX: usize = 1000;

pub(super) const TOO_DEEP: Unreadable = Unreadable::Malformed("The parameters are nested too deeply");
pub(super) const TOO_MANY: Unreadable = Unreadable::Malformed("There are too many parameters");

/// Why there is no tree. The sentences never repeat what was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreadable {
    /// 415: a body of a type that we do not read.
    MediaType,
    /// 400, and the sentence that says why.
    Malformed(&'static str),
}
