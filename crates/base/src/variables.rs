//! Variables of the environment.

use std::ffi::{OsStr, OsString};

/// Returns a variable of this process. An empty one is unset: a file of Docker Compose passes an unset one so.
pub fn set_variable(name: impl AsRef<OsStr>) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
