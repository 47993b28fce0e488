//! Plans, a file a verb (specification, Plans; decisions 7).

pub mod count;
pub mod create;
pub mod delete;
pub mod find;
pub mod update;

pub use create::create;
pub use delete::delete;
pub use find::{list, show};
pub use update::update;
