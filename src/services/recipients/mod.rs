//! Recipients of transfers, one file per operation (specification, Recipients).

pub mod create;
pub mod find;
pub mod params;
pub mod update;
pub mod view;

pub use create::create;
pub use find::{list, search, show};
pub use update::update;
