//! The numbers of the specification and of `docs/decisions.md`, in one place; those of a crate are in its own `limits`.

use std::num::NonZeroU32;
use std::time::Duration;

use entity::TimeSpan;

/// The longest body; a longer one is 413 (`docs/decisions.md`, 5).
pub const BODY_BYTES_MAX: usize = 1024 * 1024;

/// The default of CARD_PAYMENTS_CONCURRENCY: more requests than two cores and their database are ever busy with.
pub const CONCURRENCY: u16 = 128;
/// Connections per permit of a request: idle ones, those that wait for a permit, and those whose request waits for the
/// acquirer.
pub const CONNECTIONS_PER_PERMIT: usize = 8;
/// Tasks per permit of a request that outlive their connection; most wait for the acquirer. Fewer than connections, so
/// that a silent acquirer leaves some connections to all others.
pub const TASKS_PER_PERMIT: usize = 6;
/// The connections of the operator's own listener, for monitoring.
pub const ADMIN_CONNECTIONS: usize = 32;
/// The time for which a request waits for a permit before it is refused.
pub const ADMISSION_TIMEOUT: Duration = Duration::from_secs(1);
/// The number of requests that may wait per permit: a burst of one client is not overload; in a longer queue most would wait in
/// vain.
pub const QUEUE_PER_PERMIT: usize = 4;
/// The time for which a request may wait for its own body before it releases its permit: others wait for the permit.
pub const BODY_STALL_TIMEOUT: Duration = Duration::from_millis(20);
/// The time that a large body may take once it has its permit.
pub const LARGE_BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// One permit for a large body per this many permits of requests.
pub const PERMITS_PER_LARGE_BODY: usize = 8;
/// The largest response that needs no permit; larger ones take from `ANSWERS_BYTES_MAX` until their last byte is sent.
pub const SMALL_ANSWER_BYTES: usize = 64 * 1024;
/// The number of bytes of large responses that a process holds until clients have read them.
pub const ANSWERS_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The memory reserved per record of a list until the list is built: twice a charge without metadata.
pub const RECORD_BYTES: usize = 2 * 1024;
/// The time for which a request waits for the permit of long work: the hash of a password, or a snapshot. It holds no request
/// permit meanwhile.
pub const LONG_WORK_TIMEOUT: Duration = Duration::from_secs(25);
/// The time for which a long list waits for its permit to be built. It holds no request permit meanwhile.
pub const LONG_ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// Processors per long list being built: the others stay free for everything else.
pub const PROCESSORS_PER_LONG_ANSWER: usize = 2;
/// The number of keys' accounts that are remembered, so that permits are shared fairly before a key is looked up.
pub const LANES_MAX: u64 = 50_000;
/// The time for which the account of an unused key is remembered.
pub const LANE_IDLE: Duration = Duration::from_mins(10);

/// A full bucket holds the requests of this many seconds.
pub const RATE_BURST_SECONDS: NonZeroU32 = NonZeroU32::new(2).expect("not 0");
/// The number of buckets that are remembered.
pub const RATE_BUCKETS_MAX: u64 = 50_000;
/// The time for which an unused bucket is remembered: long enough to be full again, as a new one is.
pub const RATE_BUCKET_IDLE: Duration = Duration::from_mins(1);

/// The least characters of a live server's dashboard key (`docs/decisions.md`, 327).
pub const OPERATOR_KEY_LENGTH_MIN: usize = 32;
/// The time for which the command that prints the vault key may run: a token asks its hardware, a KMS another machine.
pub const KEY_COMMAND_TIMEOUT: Duration = Duration::from_secs(30);
/// The number of bytes that the command may print: room for some fifty keys.
pub const KEY_COMMAND_OUTPUT_MAX: usize = 4096;
/// The time for which a dashboard session lasts, by the wall clock (`docs/decisions.md`, 328).
pub const DASHBOARD_SESSION: TimeSpan = TimeSpan::seconds(12 * 3600);
/// The time for which a person's session lasts without a request (`docs/decisions.md`, 386).
pub const PERSON_SESSION_IDLE: TimeSpan = TimeSpan::seconds(15 * 60);
/// The time that a person may take at the provider to sign in.
pub const PERSON_SIGN_IN: TimeSpan = TimeSpan::seconds(10 * 60);
/// The time for which a request for approval waits for another person (`docs/decisions.md`, 390).
pub const APPROVAL_OPEN: TimeSpan = TimeSpan::days(7);
/// The number of requests for approval that a page lists.
pub const APPROVALS_LISTED: u64 = 50;
/// The number of sign-ins that an address may try at once; after those it may try one per [`SIGN_IN_EVERY`]. A bucket is full
/// again before it is forgotten.
pub const SIGN_INS_AT_ONCE: NonZeroU32 = NonZeroU32::new(10).expect("not 0");
/// See [`SIGN_INS_AT_ONCE`].
pub const SIGN_IN_EVERY: Duration = Duration::from_secs(6);
/// The number of days before today on which the dashboard's plot of the balance begins.
pub const BALANCE_PLOT_DAYS: i32 = 90;
/// The number of days that the dashboard's pictures of charges show, today included.
pub const CHARGES_PLOT_DAYS: i32 = 30;
/// The number of an account's latest charges that the dashboard's pictures read.
pub const CHARGES_PLOTTED_MAX: u64 = 20_000;
/// The age in days up to which the dashboard counts a dispute.
pub const DISPUTES_PLOT_DAYS: i64 = 90;
/// The number of accounts that the dashboard offers to choose from.
pub const ACCOUNTS_OFFERED: u64 = 50;

/// The longest text (`docs/decisions.md`, 10).
pub const TEXT_LENGTH_MAX: u64 = 1000;
/// The longest name, e-mail address or URL (`docs/decisions.md`, 10).
pub const NAME_LENGTH_MAX: u64 = 255;
/// The longest notes (`docs/decisions.md`, 10).
pub const NOTES_LENGTH_MAX: u64 = 10_000;
/// The longest text on the bank statement (`docs/decisions.md`, 10).
pub const REFERENCE_LENGTH_MAX: u64 = 40;

/// The longest certificate in PEM (`docs/decisions.md`, 227): real ones have about 2,000 characters.
pub const WALLET_PEM_LENGTH_MAX: u64 = 10_000;

/// The shortest search query of disputes and merchants (specification, Limits).
pub const QUERY_CHARACTERS_MIN: usize = 3;

/// The most metadata items (specification, Limits).
pub const METADATA_ITEMS_MAX: usize = 25;
/// The longest key of a metadata item (specification, Limits).
pub const METADATA_KEY_CHARACTERS_MAX: usize = 50;
/// The longest value of a metadata item (specification, Limits).
pub const METADATA_VALUE_CHARACTERS_MAX: usize = 500;

/// The default page size (specification, Limits).
pub const PER_PAGE_DEFAULT: u64 = 25;
/// The largest page size (specification, Limits).
pub const PER_PAGE_MAX: i64 = 500;

/// The time for which an authorised charge can be captured (specification, Limits, "Authorised charge lifetime").
pub const AUTHORISATION_LIFETIME: TimeSpan = TimeSpan::days(7);
/// The time that a cardholder may take to verify a payment (`docs/decisions.md`, 144).
pub const SESSION_LIFETIME: TimeSpan = TimeSpan::seconds(30 * 60);
/// The longest form of the challenge page.
pub const CHALLENGE_BODY_BYTES_MAX: usize = 1024;
/// The number of months after which a card token expires: "after one month unused" (specification, Limits), on the same day of
/// the next month (`docs/decisions.md`, 106).
pub const CARD_TOKEN_LIFETIME_MONTHS: u32 = 1;

/// The time after its creation at which the test acquirer decides a refund, by the account's clock (`docs/decisions.md`, 167).
pub const REFUND_SETTLES_AFTER: TimeSpan = TimeSpan::seconds(10);
/// The longest interval or trial of a plan, in its unit.
pub const PLAN_INTERVAL_MAX: i64 = 1_000;
/// The most intervals that a plan may bill.
pub const PLAN_INTERVALS_MAX: i64 = 10_000;
/// The times at which a renewal is retried, counted from its first failure; a late retry moves the later ones. After the last one the
/// subscription is cancelled.
pub const RENEWAL_RETRIES: [TimeSpan; 3] = [TimeSpan::days(1), TimeSpan::days(3), TimeSpan::days(6)];
/// A bill this much after its time counts as late: the server was down.
pub const RENEWAL_LATE: TimeSpan = TimeSpan::seconds(3600);
/// How much too early a doubted clock may make live renewals and settlements (`docs/decisions.md`, 405).
pub const DOUBTED_AHEAD_MAX: TimeSpan = TimeSpan::days(1);
/// The shortest interval with retries: in a shorter one there is no time for them.
pub const RENEWAL_RETRIED_FROM: TimeSpan = TimeSpan::days(7);
/// The number of subscriptions of a deleted plan that one transaction deletes.
pub const DELETED_SUBSCRIPTIONS: u64 = 100;
/// The number of entries of their ledgers that it deletes.
pub const DELETED_ENTRIES: u64 = 1000;
/// The fee of a chargeback, in AUD cents (`docs/decisions.md`, 209).
pub const CHARGEBACK_FEE_CENTS: i64 = 2500;
/// Evidence is required by the midnight this many days after a dispute arrives (`docs/decisions.md`, 212).
pub const EVIDENCE_DAYS: i64 = 20;
/// The longest text of dispute evidence (specification, Limits).
pub const EVIDENCE_TEXT_LENGTH_MAX: u64 = 500;
/// The largest file (`docs/decisions.md`, 217).
pub const FILE_BYTES_MAX: u64 = 10 * 1024 * 1024;
/// The longest body of an upload.
pub const UPLOAD_BYTES_MAX: usize = 11 * 1024 * 1024;
/// The number of bytes that are kept of each text next to an upload's file, such as its purpose (`docs/decisions.md`, 42).
pub const UPLOAD_TEXT_BYTES_KEPT: usize = 16 * 1024;
/// The number of bytes of an upload that may be buffered outside of the parts' content: the bytes before the first part, and all
/// part headers. It is more than two pieces as a connection delivers them.
pub const UPLOAD_AHEAD_BYTES_MAX: u64 = 192 * 1024;
/// The time for which an upload may arrive without a byte (`docs/decisions.md`, 25).
pub const UPLOAD_IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// The time for which a link to a file is valid, by the account's clock.
pub const LINK_LIFETIME: TimeSpan = TimeSpan::seconds(3600);
/// The age, by the wall clock, at which a blob without a file is the rest of an interrupted upload.
pub const STRAY_BLOB_AFTER: TimeSpan = TimeSpan::seconds(3600);
/// The number of such blobs that one statement checks.
pub const STRAY_BLOBS_AT_ONCE: usize = 500;
/// A value of `default_settings`.
pub const SETTLEMENT_DELAY_DAYS: i32 = 5;
/// A value of `default_settings`, in AUD cents.
pub const MAXIMUM_CHARGE_CENTS: i64 = 2_500_000;
/// A value of `default_settings`, in AUD cents: shown only.
pub const POS_MAXIMUM_CHARGE_CENTS: i64 = 100_000;
/// The least age of a merchant's director (`docs/decisions.md`, 232).
pub const DIRECTOR_AGE_MIN_YEARS: u32 = 18;
/// The longest business registration number that is not an ABN.
pub const REGISTRATION_NUMBER_LENGTH_MAX: usize = 20;
/// The number of passwords that a process hashes at once, each of another partner: a hash takes 19 MiB (`docs/decisions.md`, 233).
pub const PASSWORDS_HASHED_AT_ONCE: usize = 2;
/// The largest fixed fee, in AUD cents: ten thousand dollars.
pub const FEE_CENTS_MAX: i64 = 1_000_000;
/// The least that an account's largest charge can be, in AUD cents (`docs/decisions.md`, 320).
pub const CHARGE_CENTS_MIN: i64 = 100;
/// The opening deposit of the first account and of sandbox accounts, in AUD cents (`docs/decisions.md`, 196).
pub const OPENING_DEPOSIT_CENTS: i64 = 100_000_000;
/// The largest deposit, in AUD cents: a billion dollars. No realistic sum of deposits overflows 64 bits.
pub const DEPOSIT_CENTS_MAX: i64 = 100_000_000_000;
/// The number of months after which an unused bank account token expires (`docs/decisions.md`, 201).
pub const BANK_ACCOUNT_TOKEN_LIFETIME_MONTHS: u32 = 1;
/// The most digits of an account number (`docs/decisions.md`, 200).
pub const BANK_ACCOUNT_DIGITS_MAX: usize = 12;
/// The fee of a transfer to a recipient, in AUD cents (`docs/decisions.md`, 203).
pub const THIRD_PARTY_TRANSFER_FEE_CENTS: i64 = 30;
/// The time after which the bank returns a transfer, by the account's clock.
pub const TRANSFER_RETURNS_AFTER: TimeSpan = TimeSpan::days(1);
/// The time for which the audit trail is kept, by the wall clock: a year, and a month to read it (`docs/decisions.md`, 348).
pub const AUDIT_RETENTION: TimeSpan = TimeSpan::days(400);
/// The number of entries of the audit trail that one unit of work seals.
pub const AUDIT_SEALED_AT_ONCE: u64 = 100;
/// The number of entries that a verification of the audit trail has in memory.
pub const AUDIT_READ_AT_ONCE: u64 = 500;
/// The interval at which the counted uses of keys are written (`docs/decisions.md`, 346).
pub const KEY_USES_WRITE_INTERVAL: Duration = Duration::from_secs(10);
/// The number of keys' uses per day that are counted between two writes.
pub const KEYS_COUNTED_MAX: usize = 4096;
/// The number of addresses of a key's uses per day that a server distinguishes (`docs/decisions.md`, 346).
pub const KEY_ADDRESSES_MAX: usize = 20;
/// The number of rows of uses that one unit of work writes.
pub const KEY_USES_BATCH: usize = 16;
/// The largest threshold of a rule that notices card testing (`docs/decisions.md`, 387).
pub const CARD_TESTING_THRESHOLD_MAX: i64 = 50;
/// The time for which a looked-up API key may be cached (`docs/decisions.md`, 56).
pub const KEY_CACHE_LIFETIME: Duration = Duration::from_secs(5);
/// The number of looked-up API keys that are cached.
pub const KEY_CACHE_ENTRIES: u64 = 10_000;
/// The time after its last payment for which a process keeps an account; what it keeps is compared in each payment.
pub const ACCOUNT_CACHE_IDLE: Duration = Duration::from_mins(1);

/// The time that the acquirer may take to answer (`docs/decisions.md`, 133).
pub const ACQUIRER_TIMEOUT: Duration = Duration::from_secs(20);
/// The number of connections that a served simulator accepts.
pub const ACQUIRER_CONNECTIONS: usize = 1024;

/// The number of lines or movements that one unit of a reconciliation handles.
pub const RECONCILIATION_BATCH: usize = 1000;
/// The number of faults of a file that are kept; a file with more is of another kind.
pub const STATEMENT_FAULTS_MAX: usize = 1000;
/// The time before or after midnight within which a movement may belong to either day: the acquirer moves money before the server
/// records it.
pub const MIDNIGHT_TOLERANCE: TimeSpan = TimeSpan::seconds(300);
/// The longest note of an exception.
pub const NOTE_LENGTH_MAX: usize = 1000;
/// A call starts this soon after its intent or not at all (`docs/decisions.md`, 133).
pub const ACQUIRER_CALL_START: TimeSpan = TimeSpan::seconds(5);
/// Wall clock from an intent until a worker may recover it (`docs/decisions.md`, 135).
pub const SETTLE_AFTER: TimeSpan = TimeSpan::seconds(30);
/// The growing pauses between recoveries: thirty seconds, then twice as long each time, up to about an hour
/// (`docs/decisions.md`, 134).
pub const SETTLE_PAUSE_DOUBLINGS_MAX: u32 = 7;

/// The longest Idempotency-Key (`docs/decisions.md`, 63).
pub const IDEMPOTENCY_KEY_LENGTH_MAX: usize = 255;
/// The time for which its response is kept, by the wall clock (`docs/decisions.md`, 65).
pub const IDEMPOTENCY_RETENTION: TimeSpan = TimeSpan::days(1);

/// The interval at which a server notes the time in the database.
pub const CLOCK_NOTE_INTERVAL: Duration = Duration::from_mins(1);

/// The time for which one request moves a clock.
pub const CLOCK_MOVE_TIMEOUT: Duration = Duration::from_secs(50);
/// The time that a remote acquirer may take to answer while a clock is moved (`docs/decisions.md`, 307).
pub const CLOCK_MOVE_CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// The lease of a move on its clock, by the wall clock, unless the move renews it (`docs/decisions.md`, 298).
pub const CLOCK_LEASE: TimeSpan = TimeSpan::seconds(5);
/// The interval at which a move renews its lease, however long a step takes.
pub const CLOCK_LEASE_RENEW_INTERVAL: Duration = Duration::from_secs(1);
/// The pause after which a cardholder's second request looks again for the acquirer's answer to the first.
pub const OUTCOME_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The pause after which a move polls again for work that another process has leased, and repeats a call that was not answered;
/// each pause is twice as long as the one before.
pub const CLOCK_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Eleven pauses fill the time of a move.
pub const CLOCK_DOUBLINGS_MAX: u32 = 11;
/// The number of times that a move asks an acquirer that does not answer about a refund, within about a second, before the clock
/// passes the refund (`docs/decisions.md`, 297).
pub const CLOCK_REFUND_TRIES: u32 = 5;
/// The number of items of `ran` that a move returns.
pub const CLOCK_RAN_REPORTED_MAX: usize = 1000;

/// The time that a wallet's provider, or a merchant's own site, may take to answer (`docs/decisions.md`, 229).
pub const WALLET_TIMEOUT: Duration = Duration::from_secs(15);

/// The slot of debits (`docs/decisions.md`, 198): debits are serialised anyway, and in their own slot they never wait
/// for credits.
pub const DEBIT_SLOT: i32 = 32;
/// How long a worker rests after a poll for due work that has found nothing, or has failed.
pub const DUE_REST: Duration = Duration::from_secs(1);
/// The same for work that nobody waits for.
pub const TIDY_REST: Duration = Duration::from_secs(10);
/// The number of due items that are read at a time.
pub const DUE_BATCH: u64 = 100;
/// The number of due items of a kind that a process works on at once.
pub const DUE_IN_FLIGHT_MAX: usize = 100;
/// How many of them may be of one account, so that its slow ones leave places to others: more than half, so that at most one is there.
pub const DUE_IN_FLIGHT_OF_AN_ACCOUNT_MAX: usize = 75;
/// The pause after which the worker polls for more items while some of them are slow.
pub const DUE_POLL_PAUSE: Duration = Duration::from_secs(1);
/// The number of items in flight or failed that are read again to find others.
pub const DUE_STEPPED_OVER_MAX: u64 = 1000;
/// The time for which a failed item rests while others are in flight.
pub const DUE_FAILED_REST: Duration = Duration::from_secs(30);

/// The most webhook endpoints of an account (`docs/decisions.md`, 250).
pub const WEBHOOK_ENDPOINTS_MAX: usize = 5;
/// The pauses between a failed delivery and the next one; after the last one there is none (`docs/decisions.md`, 255).
pub const WEBHOOK_RETRIES: [TimeSpan; 8] = [
    TimeSpan::seconds(60),
    TimeSpan::seconds(5 * 60),
    TimeSpan::seconds(30 * 60),
    TimeSpan::seconds(2 * 3600),
    TimeSpan::seconds(6 * 3600),
    TimeSpan::seconds(12 * 3600),
    TimeSpan::seconds(24 * 3600),
    TimeSpan::seconds(24 * 3600),
];
/// The lease of a webhook, by the wall clock (`docs/decisions.md`, 253): longer than it waits for its permit and the
/// response.
pub const WEBHOOK_LEASE: TimeSpan = TimeSpan::seconds(60);
/// The time within which a leased webhook is sent without being read again.
pub const WEBHOOK_REREAD_AFTER: TimeSpan = TimeSpan::seconds(1);
/// The number of deliveries to one endpoint that a process makes at once (`docs/decisions.md`, 254).
pub const WEBHOOKS_IN_FLIGHT_MAX: usize = 16;
/// The number of webhooks to one endpoint that wait in memory; the rest waits in the table.
pub const WEBHOOKS_WAITING_MAX: usize = 256;
/// The number of deliveries that a process makes at once, to all endpoints.
pub const DELIVERIES_MAX: usize = 512;
/// The number of these deliveries that may go to endpoints that did not accept their last delivery, or got none yet: each may
/// take as long as the time-out, and the rest is reserved for endpoints known to answer.
pub const DELIVERIES_UNPROVEN_MAX: usize = 384;
/// The number of committed events that wait for the webhook dispatcher; polling finds the webhooks of further ones.
pub const OUTBOX_EVENTS_WAITING_MAX: usize = 4096;
/// The time for which the result of an idle endpoint's last delivery is remembered (`docs/decisions.md`, 260): the endpoint may
/// have been deleted, which the webhook dispatcher does not learn. A forgotten endpoint gets several webhooks at once
/// again, until the first one fails.
pub const ENDPOINT_MEMORY_LIFETIME: Duration = Duration::from_hours(1);
/// The number of webhooks that one statement reads, or of outcomes that it writes.
pub const WEBHOOK_BATCH: usize = 64;

/// The shortest retention of events and webhooks ("guaranteed for 30 days": specification, Limits).
pub const RETENTION_DAYS_MIN: i64 = 30;
/// A hundred years: for ever, except in arithmetic.
pub const RETENTION_DAYS_MAX: i64 = 36_500;
/// The number of old events, and of old webhooks, that one transaction deletes (`docs/decisions.md`, 259).
pub const PURGE_BATCH: u64 = 1000;

/// The number of events of an account that one transaction numbers: payments wait for SQLite's one writer.
pub const EVENTS_NUMBERED_AT_ONCE: u64 = 250;

/// The number of an account's requests that its log keeps (`docs/decisions.md`, 280).
pub const REQUESTS_LOGGED: usize = 1000;
/// The number of logged requests that wait in memory to be written; further ones are dropped (`docs/decisions.md`, 282).
pub const REQUESTS_WAITING_MAX: usize = 4096;
/// The number of logged requests that one transaction writes.
pub const REQUESTS_WRITTEN_AT_ONCE: usize = 256;
/// The longest X-Request-Id, in characters (`docs/decisions.md`, 14).
pub const REQUEST_ID_LENGTH_MAX: usize = 128;
/// The longest wait of a sandbox list, in seconds.
pub const WAIT_SECONDS_MAX: i64 = 30;
/// The most records that a sandbox list is waited for: as many as the log keeps.
pub const WAIT_COUNT_MAX: i64 = 1000;
/// The least time after which a waiting request checks by itself, should messages between copies get lost; the longest is half more.
pub const WAIT_CHECKS: Duration = Duration::from_secs(10);
/// The time for which a copy announces its commits after another one has announced a wait: longer than any wait.
pub const REMOTE_WAIT_RETENTION: Duration = Duration::from_secs(35);
/// The number of waiting requests that check at the same time.
pub const WAIT_CHECK_PERMITS: usize = 16;
/// The number of characters of a parameter's text that the log shows (`docs/decisions.md`, 281).
pub const LOGGED_CHARACTERS_MAX: usize = 200;
/// The longest parameters, in JSON, of which the log shows more than the names (`docs/decisions.md`, 281).
pub const LOGGED_BYTES_MAX: usize = 4096;
/// The number of names of hidden parameters that it shows.
pub const LOGGED_NAMES_MAX: usize = 100;

/// The number of unknown parameters that a refusal names (`docs/decisions.md`, 466).
pub const UNKNOWN_PARAMETERS_MAX: usize = 50;

/// The most restricted keys of an account (`docs/decisions.md`, 382).
pub const RESTRICTED_KEYS_MAX: u64 = 100;
/// The most networks of a restricted key.
pub const KEY_NETWORKS_MAX: u64 = 20;

/// The most inboxes of an account (`docs/decisions.md`, 375).
pub const INBOXES_MAX: u64 = 10;
/// The number of deliveries that an inbox keeps: as many as a request may wait for.
pub const INBOX_DELIVERIES_KEPT: u64 = WAIT_COUNT_MAX.unsigned_abs();
/// The longest body that an inbox takes from outside; webhooks are shorter.
pub const INBOX_BODY_BYTES_MAX: usize = 64 * 1024;
/// The longest latency of an inbox: longer than an endpoint may take, which a tester may want to exceed.
pub const INBOX_LATENCY_MS_MAX: i64 = 30_000;
/// The rarest answer of an inbox.
pub const INBOX_EVERY_MAX: i64 = 1000;

/// The longest latency that the sandbox gives an acquirer's response.
pub const ACQUIRER_LATENCY_MS_MAX: i64 = 30_000;
/// The longest settlement delay that the sandbox sets: a year (`docs/decisions.md`, 276).
pub const SETTLEMENT_DELAY_DAYS_MAX: i64 = 365;
/// Wall clock after which no request that began before an account's deletion is in flight (`docs/decisions.md`, 275):
/// its time-out, a payment that begins at its last moment (a start, an answer, a reversal), and a margin.
pub const ACCOUNT_QUIET_AFTER: TimeSpan = TimeSpan::seconds(120);
/// The number of rows of a deleted account that one transaction deletes (`docs/decisions.md`, 275).
pub const WIPE_BATCH: u64 = 1000;

/// The most snapshots of an account (`docs/decisions.md`, 287).
pub const SNAPSHOTS_MAX: u64 = 10;
/// The most rows of a snapshot: one transaction restores them on PostgreSQL.
pub const SNAPSHOT_ROWS_MAX: u64 = 50_000;
/// The most bytes of these rows: memory holds them, more than once.
pub const SNAPSHOT_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// The number of bytes of rows that are sealed together.
pub const SNAPSHOT_PAGE_BYTES: usize = 64 * 1024;
/// The number of sealed pages of a snapshot that one commit writes or deletes: a few milliseconds of SQLite's writer.
pub const SNAPSHOT_PARTS_AT_ONCE: usize = 16;
/// The number of rows that one statement restores: databases limit the values of a statement.
pub const SNAPSHOT_ROWS_AT_ONCE: usize = 100;
/// The number of snapshots that a process creates or restores at once, each of another account.
pub const SNAPSHOTS_AT_ONCE: usize = 2;
/// The time for which a snapshot is kept, by the wall clock (`docs/decisions.md`, 287).
pub const SNAPSHOT_RETENTION: TimeSpan = TimeSpan::days(30);

/// The interval at which a server reloads the table of the vault's keys (`docs/decisions.md`, 114).
pub const DATA_KEYS_REFRESH_INTERVAL: Duration = Duration::from_secs(5);
/// The time for which a server runs on if it cannot read the table of keys: half of [`DATA_KEY_RETENTION`].
pub const DATA_KEYS_UNREAD_MAX: Duration = Duration::from_mins(30);
/// The time for which a retired data key is kept at least, by the wall clock (`docs/decisions.md`, 115): far longer than all
/// servers need to reload the table, and to commit what they sealed before.
pub const DATA_KEY_RETENTION: TimeSpan = TimeSpan::seconds(3600);
/// The number of rows that one transaction re-encrypts.
pub const SEALED_BATCH: u64 = 100;
/// The number of rows that a statement reads at most to find them.
pub const SEALED_STRETCH: u64 = 2000;
