//! The numbers of outbound calls, in one place.

use std::time::Duration;

/// How much of the response to an outbound call is read (`docs/decisions.md`, 246).
pub const OUTBOUND_ANSWER_BYTES_MAX: usize = 64 * 1024;
/// How long the addresses of a name are cached: for one burst of calls (`docs/decisions.md`, 248).
pub const LOOKUP_LIFETIME: Duration = Duration::from_secs(1);
/// How many names' addresses are cached.
pub const LOOKUPS_MAX: u64 = 1000;
/// How long an endpoint may take to answer a webhook (`docs/decisions.md`, 246).
pub const WEBHOOK_ANSWER: Duration = Duration::from_secs(15);
/// How far the time of a signature may be from now: as far as the libraries of Standard Webhooks allow.
pub const SIGNATURE_TOLERANCE: Duration = Duration::from_mins(5);
/// How many spans wait for the trace collector; more are lost (`docs/decisions.md`, 350).
pub const SPANS_WAITING_MAX: usize = 2048;
/// How many spans one post sends.
pub const SPANS_A_POST_MAX: usize = 512;
/// How long a stopping process waits for the collector.
pub const SPAN_FLUSH_TIMEOUT: Duration = Duration::from_secs(5);
