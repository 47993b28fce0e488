//! The numbers of acquirers, in one place.

use std::time::Duration;

use entity::TimeSpan;

/// The time that a remote acquirer may take to say what it knows of a card or a currency, and which acquirer it is.
pub const ACQUIRER_QUESTION_TIMEOUT: Duration = Duration::from_secs(10);
/// The time that a connection to it may take (`docs/decisions.md`, 155): a call that was not sent was not made.
pub const ACQUIRER_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The time for which rates are cached (`docs/decisions.md`, 154).
pub const RATES_LIFETIME: Duration = Duration::from_mins(1);
/// The time for which the data of a card number is cached (`docs/decisions.md`, 154).
pub const CARDS_LIFETIME: Duration = Duration::from_mins(10);
/// The number of cards that are cached.
pub const CARDS_REMEMBERED_MAX: u64 = 10_000;
/// The number of bytes that are read of an acquirer's request or response.
pub const ACQUIRER_BYTES_MAX: usize = 64 * 1024;
/// The span by which the clocks of a server and its acquirer may differ (`docs/decisions.md`, 156). A simulator remembers a call
/// for longer than an attacker who recorded the request could replay it.
pub const ACQUIRER_CLOCKS_APART: TimeSpan = TimeSpan::seconds(60);
/// The time for which a served simulator waits for the body of a request before it knows the sender.
pub const ACQUIRER_BODY_TIMEOUT: Duration = Duration::from_secs(5);
/// The time for which a served simulator holds a call that it never answers: longer than any server waits.
pub const ACQUIRER_SILENCE: Duration = Duration::from_secs(25);
/// The time for which a simulator in the process remembers a call (`docs/decisions.md`, 138): longer than its server takes to
/// record or recover it.
pub const SIMULATOR_REMEMBERS: Duration = Duration::from_mins(2);
/// The time for which a served simulator remembers a call: longer than many pauses of servers that could not reach it.
pub const SIMULATOR_REMEMBERS_ELSEWHERE: Duration = Duration::from_hours(24);
/// The number of calls that a simulator remembers, some 150 MB; beyond that it forgets the oldest ones early.
pub const SIMULATOR_CALLS_MAX: usize = 500_000;
/// The highest amount of a statement's line, in base units: nine million of them add up to an integer of 64 bits.
pub const STATEMENT_AMOUNT_MAX: i64 = 1_000_000_000_000;
/// The number of days that a statement of the acquirer may cover (`docs/decisions.md`, 383).
pub const STATEMENT_DAYS_MAX: i32 = 366;
/// The longest name of a statement, and the longest reference in one.
pub const STATEMENT_TEXT_MAX: usize = 255;
