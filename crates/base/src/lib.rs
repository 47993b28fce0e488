//! The basis of all parts of the server: it knows the columns of the tables (`entity`) and nothing of payments.
//!
//! Time, and which of it is believed; ids and randomness, of the system or of a seed; the context of a request, its trace, and permits
//! that accounts share; secrets and card numbers, which appear in no log and no error; texts of strangers, made harmless; durable files,
//! crash points, what a run reaches, and mutants; addresses, their networks and zones; times, lists and variables as people write them.

pub mod address_zone;
pub mod api_path;
pub mod card_number;
pub mod client_network;
pub mod clock;
pub mod coverage;
pub mod crash_points;
pub mod durable_fs;
pub mod environment;
pub mod hexadecimal;
pub mod http_address;
pub mod limits;
pub mod list;
pub mod mutants;
pub mod mutex;
pub mod permits;
pub mod plain_text;
pub mod platform;
pub mod progress;
pub mod random;
pub mod request_context;
pub mod request_permits;
pub mod secret;
pub mod secret_shares;
pub mod time_text;
pub mod trace;
pub mod trusted_clock;
pub mod variables;
