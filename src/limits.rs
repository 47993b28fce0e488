//! Every number of the specification and the decisions, in one place.

use std::num::NonZeroU32;
use std::time::Duration;

use entity::TimeSpan;

/// Decisions 1: "over 1 MiB: 413".
pub const BODY_BYTES_MAX: usize = 1024 * 1024;
/// Decisions 1: request time-out.
pub const REQUEST_TIMEOUT: Duration = Duration::from_mins(1);

/// How many bytes the head of a request may have, its path and query among them.
pub const HEAD_BYTES_MAX: usize = 64 * 1024;
/// How long a connection may be idle, or take to send the head of a request: longer than proxies keep theirs (a minute),
/// so that none sends a request on a connection that is just being closed.
pub const CONNECTION_IDLE: Duration = Duration::from_secs(75);
/// How long a new connection may send nothing at all.
pub const FIRST_BYTE: Duration = Duration::from_secs(5);
/// How many headers a request may have.
pub const HEADERS_MAX: usize = 100;
/// How many connections may wait in the listener's queue, as far as the system allows.
pub const LISTEN_BACKLOG: u32 = 4096;
/// How long a caller may take nothing at all of an answer that is being sent. Kernels tell of room in steps of many
/// kilobytes, so that who takes a byte at a time is cut off, too.
pub const ANSWER_STALLED: Duration = Duration::from_secs(30);
/// How many requests are worked on at once where the operator says nothing: more than two cores and their database are
/// ever busy with.
pub const CONCURRENCY: u16 = 128;
/// How many connections there may be for each request that is worked on at once: idle ones, those that wait for a place,
/// and those whose request waits for the acquirer.
pub const CONNECTIONS_A_PLACE: usize = 8;
/// How many tasks there may be for each such request that go on to their end though their callers hang up, most of which
/// wait for the acquirer: fewer than connections, so that a silent acquirer leaves some of those to everybody else.
pub const TASKS_A_PLACE: usize = 6;
/// How many connections an operator's own listener takes: a few that watch.
pub const ADMIN_CONNECTIONS: usize = 32;
/// How long a request waits for a place before it is refused.
pub const GATE_WAIT: Duration = Duration::from_secs(1);
/// How many may wait for each place: a burst of one client's is no overload; in a longer queue most would wait in vain.
pub const QUEUE_A_PLACE: usize = 4;
/// How long a request may wait for its own body before its place is others'.
pub const BODY_PATIENCE: Duration = Duration::from_millis(250);
/// Up to here, any body is read; larger ones wait for their turn.
pub const SMALL_BODY_BYTES: usize = 16 * 1024;
/// How long a large body may take once it has its turn.
pub const LARGE_BODY_TIME: Duration = Duration::from_secs(10);
/// How much is read of a body that nobody wants: more than the longest that somebody might.
pub const UNREAD_BYTES_MAX: usize = 12 * 1024 * 1024;
/// And for how long.
pub const UNREAD_TIME: Duration = Duration::from_secs(5);
/// One large body for so many requests that are worked on at once.
pub const PLACES_A_LARGE_BODY: usize = 8;
/// How large an answer may be that counts for nothing: larger ones take of what follows until the last of them is sent.
pub const SMALL_ANSWER_BYTES: usize = 64 * 1024;
/// How many bytes of large answers a process holds until their callers have taken them.
pub const ANSWERS_BYTES_MAX: usize = 64 * 1024 * 1024;
/// What a record of a list is taken to need until its list is made: twice a charge without metadata.
pub const RECORD_BYTES: usize = 2 * 1024;
/// How long a long answer waits for its turn to be made. It holds up nobody meanwhile.
pub const LONG_ANSWER_WAIT: Duration = Duration::from_secs(5);
/// How many processors it takes that one of them makes long answers: the others stay with everything else.
pub const PROCESSORS_A_LONG_ANSWER: usize = 2;
/// How many callers' accounts are remembered by their keys, so that places are shared fairly before a key is looked up.
pub const LANES_MAX: u64 = 50_000;
/// For how long one is remembered that does not ask.
pub const LANE_IDLE: Duration = Duration::from_mins(10);

/// A full bucket holds the requests of so many seconds.
pub const RATE_BURST_SECONDS: NonZeroU32 = NonZeroU32::new(2).expect("not 0");
/// How many accounts' buckets are remembered.
pub const RATE_BUCKETS_MAX: u64 = 50_000;
/// For how long one is remembered that nobody takes from: long enough to be full again, as a new one is.
pub const RATE_BUCKET_IDLE: Duration = Duration::from_mins(1);

/// Decisions 14: characters of the key that opens a live server's dashboard, at least.
pub const OPERATOR_KEY_LENGTH_MIN: usize = 32;
/// Decisions 14: how long a session of the dashboard lasts, by the wall clock.
pub const DASHBOARD_SESSION: Duration = Duration::from_hours(12);
/// How many sessions that somebody has ended are remembered.
pub const DASHBOARD_ENDED_MAX: u64 = 10_000;
/// How often an address may try to open a session: so many times at once, and then once in this time. A bucket is full again
/// before it is forgotten.
pub const SIGN_INS_AT_ONCE: NonZeroU32 = NonZeroU32::new(10).expect("not 0");
/// See [`SIGN_INS_AT_ONCE`].
pub const SIGN_IN_EVERY: Duration = Duration::from_secs(6);
/// How many days before today the dashboard's plot of the balance begins.
pub const BALANCE_PLOT_DAYS: i32 = 90;

/// Decisions 1, "sizes of values".
pub const TEXT_LENGTH_MAX: u64 = 1000;
/// Decisions 1: names, e-mails, URLs.
pub const NAME_LENGTH_MAX: u64 = 255;
/// Decisions 1: notes.
pub const NOTES_LENGTH_MAX: u64 = 10_000;
/// Decisions 1 and 5: the text on the bank statement.
pub const REFERENCE_LENGTH_MAX: u64 = 40;

/// A certificate in PEM: real ones have about 2,000 characters.
pub const WALLET_PEM_LENGTH_MAX: u64 = 10_000;

/// Specification, Limits: search query of disputes and merchants.
pub const QUERY_CHARACTERS_MIN: usize = 3;

/// Specification, Limits: metadata items.
pub const METADATA_ITEMS_MAX: usize = 25;
/// Specification, Limits: metadata items, a key.
pub const METADATA_KEY_CHARACTERS_MAX: usize = 50;
/// Specification, Limits: metadata items, a value.
pub const METADATA_VALUE_CHARACTERS_MAX: usize = 500;

/// Specification, Limits: page size.
pub const PER_PAGE_DEFAULT: u64 = 25;
/// And at most.
pub const PER_PAGE_MAX: i64 = 500;

/// Specification, Limits: "Authorised charge lifetime".
pub const AUTHORISATION_LIFETIME: TimeSpan = TimeSpan::days(7);
/// Decisions 5: how long a cardholder may take to verify a payment.
pub const SESSION_LIFETIME: TimeSpan = TimeSpan::seconds(30 * 60);
/// What the form of the challenge page may send.
pub const CHALLENGE_BODY_BYTES_MAX: usize = 1024;
/// Specification, Limits: "expire after one month unused"; decisions 4: the same day of the next month.
pub const CARD_TOKEN_LIFETIME_MONTHS: u32 = 1;

/// Decisions 6: the test acquirer settles a refund this long after its creation, by the account's clock.
pub const REFUND_SETTLES_AFTER: TimeSpan = TimeSpan::seconds(10);

/// Decisions 7: intervals of plans, and trials, in their units.
pub const PLAN_INTERVAL_MAX: i64 = 1_000;
/// Decisions 7: how many intervals a plan may bill.
pub const PLAN_INTERVALS_MAX: i64 = 10_000;
/// Decisions 7: how long after the first failed renewal it is tried again; after the last one it is cancelled.
pub const RENEWAL_RETRIES: [TimeSpan; 3] = [TimeSpan::days(1), TimeSpan::days(3), TimeSpan::days(6)];
/// Decisions 7: where intervals are shorter, there is no time for that.
pub const RENEWAL_RETRIED_FROM: TimeSpan = TimeSpan::days(7);
/// How many subscriptions of a deleted plan go in one transaction.
pub const DELETED_SUBSCRIPTIONS: u64 = 100;
/// How many entries of their ledgers do.
pub const DELETED_ENTRIES: u64 = 1000;

/// Decisions 9: what a chargeback costs, in AUD cents.
pub const CHARGEBACK_FEE_CENTS: i64 = 2500;
/// Decisions 9: evidence is required by the midnight so many days after a dispute has arrived.
pub const EVIDENCE_DAYS: i64 = 20;
/// Specification, Limits: dispute evidence text.
pub const EVIDENCE_TEXT_CHARACTERS_MAX: usize = 500;

/// Decisions 9: a file's content.
pub const FILE_BYTES_MAX: u64 = 10 * 1024 * 1024;
/// Decisions 9: the body that brings it.
pub const UPLOAD_BYTES_MAX: usize = 11 * 1024 * 1024;
/// How much is kept of each text that an upload brings beside its file: a purpose.
pub const UPLOAD_TEXT_BYTES_KEPT: usize = 16 * 1024;
/// How much of an upload may be held that is no part's content: what stands before the first one, and all their heads. More
/// than two pieces as they come from a connection.
pub const UPLOAD_AHEAD_BYTES_MAX: u64 = 192 * 1024;
/// Decisions 1: how long an upload may come without a byte.
pub const UPLOAD_IDLE: Duration = Duration::from_secs(30);
/// Decisions 9: how long a link to a file is good, by the account's clock.
pub const LINK_LIFETIME: TimeSpan = TimeSpan::seconds(3600);
/// Wall clock after which a blob without a file is an interrupted upload's.
pub const STRAY_BLOB_AFTER: TimeSpan = TimeSpan::seconds(3600);
/// How many of them are named in one statement.
pub const STRAY_BLOBS_AT_ONCE: usize = 500;
/// What is sent to a bucket at a time: the least that S3 takes.
pub const BUCKET_PART_BYTES: usize = 5 * 1024 * 1024;
/// How many blobs a process writes to its bucket at a time; each holds a part in memory.
pub const BUCKET_WRITES_MAX: usize = 2;

/// Decisions 10, `default_settings`.
pub const SETTLEMENT_DELAY_DAYS: i32 = 5;
/// Decisions 10, `default_settings`, in AUD cents.
pub const MAXIMUM_CHARGE_CENTS: i64 = 2_500_000;
/// Decisions 10, `default_settings`, in AUD cents: shown only.
pub const POS_MAXIMUM_CHARGE_CENTS: i64 = 100_000;
/// Decisions 10: how old a merchant's director must be.
pub const DIRECTOR_AGE_MIN_YEARS: u32 = 18;
/// Decisions 10: characters of a business registration number that is no ABN.
pub const REGISTRATION_NUMBER_LENGTH_MAX: usize = 20;
/// How many passwords a process hashes at a time: each takes 19 MiB.
pub const PASSWORDS_HASHED_AT_ONCE: usize = 2;
/// The largest fee that is a number of cents, in AUD: ten thousand dollars.
pub const FEE_CENTS_MAX: i64 = 1_000_000;
/// The least that an account's largest charge can be, in AUD cents.
pub const CHARGE_CENTS_MIN: i64 = 100;
/// Decisions 8: what the first account and sandbox accounts open with, in AUD cents.
pub const OPENING_DEPOSIT_CENTS: i64 = 100_000_000;

/// The largest deposit, in AUD cents: a billion. No sum of deposits that anybody makes leaves 64 bits.
pub const DEPOSIT_CENTS_MAX: i64 = 100_000_000_000;
/// Decisions 8: a bank account token expires after one month unused.
pub const BANK_ACCOUNT_TOKEN_LIFETIME_MONTHS: u32 = 1;
/// Decisions 8: digits of an account number.
pub const BANK_ACCOUNT_DIGITS_MAX: usize = 12;
/// Decisions 10: what a transfer to somebody else costs, in AUD cents.
pub const THIRD_PARTY_TRANSFER_FEE_CENTS: i64 = 30;
/// Decisions 8: when the bank sends a transfer back, by the account's clock.
pub const TRANSFER_RETURNS_AFTER: TimeSpan = TimeSpan::days(1);

/// Decisions 14: how long the audit trail is kept, by the wall clock: a year, and a month to look at it.
pub const AUDIT_KEPT: TimeSpan = TimeSpan::days(400);
/// How often uses of keys that were counted are written.
pub const KEY_USES_WRITTEN: Duration = Duration::from_secs(10);
/// How many keys' uses of a day are counted between two such times.
pub const KEYS_COUNTED_MAX: usize = 4096;
/// Decisions 14: how many addresses of a key's uses on a day a server tells apart.
pub const KEY_ADDRESSES_MAX: usize = 20;
/// How many rows of uses are written by one unit of work.
pub const KEY_USES_BATCH: usize = 16;

/// Decisions 2: how long a looked-up API key may be remembered.
pub const KEY_CACHE_LIFETIME: Duration = Duration::from_secs(5);
/// How many looked-up keys are remembered.
pub const KEY_CACHE_ENTRIES: u64 = 10_000;

/// Decisions 5: how long the acquirer may take to answer.
pub const ACQUIRER_ANSWER: Duration = Duration::from_secs(20);
/// Decisions 5: how long one elsewhere may take to say what it knows of a card or a currency, and who it is.
pub const ACQUIRER_QUESTION: Duration = Duration::from_secs(10);
/// Decisions 5: how long a connection to it may take: what was not sent was not done.
pub const ACQUIRER_CONNECT: Duration = Duration::from_secs(5);
/// Decisions 5: for how long rates are remembered.
pub const RATES_LIFETIME: Duration = Duration::from_mins(1);
/// Decisions 5: for how long it is remembered what a number's card is.
pub const CARDS_LIFETIME: Duration = Duration::from_mins(10);
/// How many cards are.
pub const CARDS_REMEMBERED_MAX: u64 = 10_000;
/// How much of an acquirer's request or answer is read.
pub const ACQUIRER_BYTES_MAX: usize = 64 * 1024;
/// Decisions 5: how far the clocks of a server and its acquirer may be apart. A simulator remembers a call for longer than
/// anybody who kept the request could repeat it.
pub const ACQUIRER_CLOCKS_APART: TimeSpan = TimeSpan::seconds(60);
/// How long a served simulator waits for the body of a request, before it knows who sends it.
pub const ACQUIRER_BODY: Duration = Duration::from_secs(5);
/// How long a served simulator keeps a call that it never answers: longer than anybody waits.
pub const ACQUIRER_SILENCE: Duration = Duration::from_secs(25);
/// How long a simulator in the process remembers a call: longer than its server takes to record it or to settle it.
pub const SIMULATOR_REMEMBERS: Duration = Duration::from_mins(2);
/// How long a served one does: longer than many pauses of the servers that could not reach it.
pub const SIMULATOR_REMEMBERS_ELSEWHERE: Duration = Duration::from_hours(24);
/// How many calls a simulator remembers; of more the oldest are forgotten before their time. So many take some 150 MB.
pub const SIMULATOR_CALLS_MAX: usize = 500_000;
/// How many connections a served simulator takes.
pub const ACQUIRER_CONNECTIONS: usize = 1024;
/// Decisions 5: a call starts this soon after its intent or not at all.
pub const ACQUIRER_CALL_START: TimeSpan = TimeSpan::seconds(5);
/// Decisions 5: wall clock from an intent to the moment a worker may settle it.
pub const SETTLE_AFTER: TimeSpan = TimeSpan::seconds(30);
/// Decisions 5, "growing pauses": thirty seconds, then twice as long each time, up to about an hour.
pub const SETTLE_PAUSE_DOUBLINGS_MAX: u32 = 7;

/// Decisions 2: characters of an Idempotency-Key.
pub const IDEMPOTENCY_KEY_LENGTH_MAX: usize = 255;
/// Decisions 2: how long its answer is kept, by the wall clock.
pub const IDEMPOTENCY_KEPT: TimeSpan = TimeSpan::days(1);

/// Decisions 13: how far an account's clock may run ahead of the wall clock.
pub const CLOCK_AHEAD_MAX_MONTHS: u32 = 100 * 12;
/// Decisions 13: for how long one request moves a clock.
pub const CLOCK_MOVE: Duration = Duration::from_secs(50);
/// Decisions 13: how long an acquirer elsewhere may take to answer while a clock is moved.
pub const CLOCK_ANSWER: Duration = Duration::from_secs(5);
/// Wall clock for which a move has the clock to itself, unless it says that it still lives.
pub const CLOCK_LEASE: TimeSpan = TimeSpan::seconds(5);
/// How often it says so, however long a step takes.
pub const CLOCK_LEASE_RENEWED: Duration = Duration::from_secs(1);
/// How soon a move looks again at what somebody else has in hand, and asks again what was not answered; each
/// question waits twice as long as the one before.
pub const CLOCK_LOOKS_AGAIN: Duration = Duration::from_millis(20);
/// Eleven questions fill the time of a move.
pub const CLOCK_DOUBLINGS_MAX: u32 = 11;
/// How often a move asks an acquirer that does not answer about a refund, in about a second, before the clock passes it.
pub const CLOCK_REFUND_TRIES: u32 = 5;
/// Decisions 12: how much of what ran is told.
pub const CLOCK_RAN_TOLD_MAX: usize = 1000;

/// Decisions 11: how much of the answer to a call is read.
pub const OUTBOUND_ANSWER_BYTES_MAX: usize = 64 * 1024;

/// How many spans wait for the collector of traces; more are lost.
pub const SPANS_WAITING_MAX: usize = 2048;
/// How many go to it at once.
pub const SPANS_A_POST_MAX: usize = 512;
/// How long a process that ends waits for it.
pub const SPANS_LAST_WORD: Duration = Duration::from_secs(5);

/// How long the provider of a wallet, or a merchant's own site, may take to answer.
pub const WALLET_ANSWER: Duration = Duration::from_secs(15);

/// How long the addresses of a name may be remembered: a burst of calls, not longer.
pub const LOOKUP_LIFETIME: Duration = Duration::from_secs(1);
/// How many names' addresses are remembered.
pub const LOOKUPS_MAX: u64 = 1000;

/// How many units of work one SQLite transaction groups.
pub const BATCH_UNITS_MAX: usize = 64;
/// What a write has to need room for that proves that payments can be written again: more than a batch of them.
pub const PROVING_BYTES: usize = 512 * 1024;
/// Over how many rows PostgreSQL spreads the writers of one count or balance: a hot one would cost two thirds of the throughput.
pub const SLOTS: u8 = 32;
/// Where debits write: they take turns anyway, and in a slot of their own they never wait for credits.
pub const DEBIT_SLOT: i32 = 32;
/// How many due items are read at a time.
pub const DUE_BATCH: u64 = 100;
/// How many due items of a kind a process has in hand.
pub const DUE_UNDER_WAY_MAX: usize = 100;
/// How soon more is looked for while some of them take their time.
pub const DUE_LOOKS_AGAIN: Duration = Duration::from_secs(1);

/// Decisions 11: "at most 5 endpoints".
pub const WEBHOOK_ENDPOINTS_MAX: usize = 5;
/// Decisions 11: an endpoint answers within this time.
pub const WEBHOOK_ANSWER: Duration = Duration::from_secs(15);
/// Decisions 11: how long after each failed delivery the next one is planned; after the last one there is none.
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
/// Wall clock for which a process may deliver what it has taken: longer than it waits for its turn and the answer.
pub const WEBHOOK_LEASE: TimeSpan = TimeSpan::seconds(60);
/// How many deliveries to one endpoint are under way at a time in one process.
pub const WEBHOOKS_UNDER_WAY_MAX: usize = 16;
/// How many webhooks to one endpoint wait in memory; the rest waits in the table.
pub const WEBHOOKS_WAITING_MAX: usize = 256;
/// How many deliveries one process has under way, to whomever.
pub const DELIVERIES_MAX: usize = 512;
/// How many of these go to endpoints whose last delivery was not accepted, or that were sent nothing yet: each may take
/// as long as an answer may, and the rest is kept for whoever is known to answer.
pub const DELIVERIES_UNPROVEN_MAX: usize = 384;
/// How many committed events wait for the delivery worker; the webhooks of more are found when they are looked for.
pub const ANNOUNCEMENTS_WAITING_MAX: usize = 4096;
/// How long it is remembered whether an idle endpoint accepted its last delivery: it may have been deleted, which nobody
/// tells the courier. One that is forgotten is sent some webhooks at a time again, until the first of them fails.
pub const ENDPOINT_REMEMBERED: Duration = Duration::from_hours(1);
/// How many webhooks are read, or their outcomes written, by one statement.
pub const WEBHOOK_BATCH: usize = 64;

/// Events and webhooks: specification, Limits, "guaranteed for 30 days".
pub const RETENTION_DAYS_MIN: i64 = 30;
/// A hundred years: for ever, but for the arithmetic.
pub const RETENTION_DAYS_MAX: i64 = 36_500;
/// How many old events, and how many old webhooks, go in one transaction.
pub const PURGE_BATCH: u64 = 1000;

/// How many of an account's requests its log keeps.
pub const REQUESTS_LOGGED: usize = 1000;
/// How many requests wait in memory to be written; of more nothing is kept.
pub const REQUESTS_WAITING_MAX: usize = 4096;
/// How many of them are written in one transaction.
pub const REQUESTS_WRITTEN_AT_ONCE: usize = 256;
/// How much of a parameter's text the log shows.
pub const LOGGED_CHARACTERS_MAX: usize = 200;
/// How long parameters may be, in JSON, of which the log shows more than the names.
pub const LOGGED_BYTES_MAX: usize = 4096;
/// How many names of parameters it tells that it does not show.
pub const LOGGED_NAMES_MAX: usize = 100;

/// Decisions 12: how late the sandbox lets an acquirer answer.
pub const ACQUIRER_LATENCY_MS_MAX: i64 = 30_000;
/// The longest pause between a capture and its money that the sandbox sets: a year.
pub const SETTLEMENT_DELAY_DAYS_MAX: i64 = 365;
/// Wall clock after which no request that began before an account was deleted is under way: its time-out, a payment that
/// begins at its last moment (a start, an answer, a reversal), and some more.
pub const ACCOUNT_QUIET_AFTER: TimeSpan = TimeSpan::seconds(120);
/// How many rows of a deleted account go in one transaction.
pub const WIPE_BATCH: u64 = 1000;

/// How many snapshots an account may have.
pub const SNAPSHOTS_MAX: u64 = 10;
/// How many rows a snapshot may hold: so many are put back in one transaction, for which SQLite's writer is busy.
pub const SNAPSHOT_ROWS_MAX: u64 = 50_000;
/// How many bytes these may be: they are held in memory, more than once.
pub const SNAPSHOT_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// How many bytes of rows are sealed together.
pub const SNAPSHOT_PAGE_BYTES: usize = 64 * 1024;
/// How many rows are put back by one statement: databases take only so many values at a time.
pub const SNAPSHOT_ROWS_AT_ONCE: usize = 100;
/// How many snapshots a process makes, or puts back, at a time.
pub const SNAPSHOTS_AT_ONCE: usize = 2;
/// How long a snapshot is kept, by the wall clock.
pub const SNAPSHOT_KEPT: TimeSpan = TimeSpan::days(30);

/// How often a server reads the table of the vault's keys again.
pub const DATA_KEYS_READ_AGAIN: Duration = Duration::from_secs(5);
/// How often a data key may seal: with more random nonces of 96 bits, two that are the same become likely enough to matter.
pub const SEALS_MAX: u64 = 1 << 32;
/// From here on an operator is told: a busy server has months left.
pub const SEALS_MANY: u64 = SEALS_MAX / 2;
/// For how long a server goes on that cannot read it: half of what follows.
pub const DATA_KEYS_UNREAD_MAX: Duration = Duration::from_mins(30);
/// Wall clock for which a data key that has retired is kept at least: far longer than it takes every server to read the
/// table again, and what it sealed before to be committed.
pub const DATA_KEY_KEPT: TimeSpan = TimeSpan::seconds(3600);
/// How many rows are encrypted anew in one transaction.
pub const SEALED_BATCH: u64 = 100;
