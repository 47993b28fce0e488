//! Plans, one file per operation (specification, Plans; `docs/decisions.md`, 179 to 182).

pub mod count;
pub mod create;
pub mod delete;
pub mod find;
pub mod params;
pub mod update;
pub mod view;

pub use create::create;
pub use delete::delete;
pub use find::{list, search, show};
pub use update::update;
