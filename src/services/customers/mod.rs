//! Customers, one file a verb (specification, Customers).

pub mod cards;
pub mod create;
pub mod delete;
pub mod find;
pub mod params;
pub mod search;
pub mod update;
pub mod view;

pub use cards::{add_card, delete_card};
pub use create::create;
pub use find::{list, list_cards, show};
pub use search::search;
pub use update::update;
