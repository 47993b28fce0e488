//! The numbers of connections, in one place.

use std::time::Duration;

/// The time-out of a request (`docs/decisions.md`, 22).
pub const REQUEST_TIMEOUT: Duration = Duration::from_mins(1);
/// The longest head of a request in bytes, path and query included (`docs/decisions.md`, 28).
pub const HEAD_BYTES_MAX: usize = 64 * 1024;
/// The time for which a connection may be idle, or that it may take for the head of a request: longer than proxies keep theirs (a
/// minute), so that no proxy sends a request on a connection that is just being closed.
pub const CONNECTION_IDLE_TIMEOUT: Duration = Duration::from_secs(75);
/// The time for which a new connection may send nothing at all.
pub const FIRST_BYTE_TIMEOUT: Duration = Duration::from_secs(5);
/// The most headers of a request.
pub const HEADERS_MAX: usize = 100;
/// The length of the listener's queue, as far as the system allows.
pub const LISTEN_BACKLOG: u32 = 4096;
/// The time for which a client may read nothing at all of its response (`docs/decisions.md`, 43). Kernels report free buffer
/// space in steps of many kilobytes, so a client that reads one byte at a time is cut off, too.
pub const ANSWER_STALL_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest body that is read without a permit; larger ones wait for one.
pub const SMALL_BODY_BYTES: usize = 16 * 1024;
/// The number of bytes of an unread body that are discarded: more than the longest that any endpoint accepts.
pub const UNREAD_BYTES_MAX: usize = 12 * 1024 * 1024;
/// The time that discarding may take.
pub const UNREAD_TIMEOUT: Duration = Duration::from_secs(5);
