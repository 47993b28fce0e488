//! The work of operators on a whole database: inspect and check it, back it up, copy it, rewrite it.

pub(crate) mod backup;
pub(crate) mod copy;
pub(crate) mod inspect;
pub(crate) mod installation_info;
pub(crate) mod integrity;
pub(crate) mod rewrite;
pub(crate) mod room;
