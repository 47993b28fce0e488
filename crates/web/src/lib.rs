//! Connections of HTTP: how many there are and of whom, how long they last, what their heads may be, and how they end. It serves any
//! router, and knows `base` and nothing of payments.
//!
//! A [`server`] gives each connection a slot of its [`connections`]. Its bytes pass a [`stall_timeout`] and [`heads`], which refuse a
//! malformed head ([`frame`]) before the HTTP library reads it; what a handler leaves of a body is an [`unread_body`]. With
//! [`handlers`], all handlers of a router have one type.

pub mod connections;
pub mod frame;
pub mod handlers;
pub mod heads;
pub mod limits;
pub mod server;
pub mod socket;
pub mod stall_timeout;
pub mod unread_body;
