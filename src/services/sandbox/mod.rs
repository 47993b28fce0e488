//! The sandbox: what a test environment needs and a card network will not do for a tester (decisions 12). A thin
//! layer: it calls the services that workers and operators call.

pub mod clock;
