//! The document, its clients, and the pages.

mod clients;
mod compatibility;
pub mod documents;
mod guides;
mod llms;
mod overlays;
pub mod site;
mod swagger_page;
mod workflows;
