//! The numbers of outbound calls, in one place.

use std::time::Duration;

/// The number of bytes that are read of the response to an outbound call (`docs/decisions.md`, 246).
pub const OUTBOUND_ANSWER_BYTES_MAX: usize = 64 * 1024;
/// The time for which the addresses of a name are cached: for one burst of calls (`docs/decisions.md`, 248).
pub const LOOKUP_LIFETIME: Duration = Duration::from_secs(1);
/// The number of names' addresses that are cached.
pub const LOOKUPS_MAX: u64 = 1000;
/// The time that an endpoint may take to answer a webhook (`docs/decisions.md`, 246).
pub const WEBHOOK_TIMEOUT: Duration = Duration::from_secs(15);
/// The span by which the time of a signature may differ from now: as much as the libraries of Standard Webhooks allow.
pub const SIGNATURE_TOLERANCE: Duration = Duration::from_mins(5);
/// The number of spans that wait for the trace collector; more are lost (`docs/decisions.md`, 350).
pub const SPANS_WAITING_MAX: usize = 2048;
/// The number of spans that one post sends.
pub const SPANS_PER_POST_MAX: usize = 512;
/// The time for which a stopping process waits for the collector.
pub const SPAN_FLUSH_TIMEOUT: Duration = Duration::from_secs(5);
/// The time that a call to the provider may take: a sign-in makes up to three of them, one after the other.
pub const PROVIDER_TIMEOUT: Duration = Duration::from_secs(5);
/// The number of bytes that are read of each answer of the provider.
pub const PROVIDER_BYTES_MAX: usize = 1024 * 1024;
/// The number of characters of a name from the provider that are kept.
pub const PERSON_NAME_MAX: usize = 200;
/// The size of one part of an upload to a bucket: the least that S3 accepts.
pub const BUCKET_PART_BYTES: usize = 5 * 1024 * 1024;
/// The number of blobs that a process writes to its bucket at once; each holds a part in memory.
pub const BUCKET_WRITES_MAX: usize = 2;
