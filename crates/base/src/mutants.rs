//! Mutants: slips that a programmer could make, a line each, for the simulation to find (`docs/reliability.md` says which it does).
//! Compiled for tests only: the feature `mutants` is on in `[dev-dependencies]` and nowhere else.

macro_rules! mutants {
    ($($mutant:ident $name:literal $slip:literal)*) => {
        /// A slip, which stands at one place of the code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Mutant {$(
            #[doc = $slip]
            $mutant,
        )*}

        impl Mutant {
            /// Every mutant.
            pub const ALL: &[Self] = &[$(Self::$mutant),*];

            /// The name by which a run of the simulation chooses it.
            pub const fn name(self) -> &'static str {
                match self {$(Self::$mutant => $name),*}
            }

            /// Its slip, in a sentence.
            pub const fn slip(self) -> &'static str {
                match self {$(Self::$mutant => $slip),*}
            }
        }
    };
}

mutants! {
    // Payments.
    OutcomeWithoutCompareAndSet "outcome-without-compare-and-set"
        "The outcome of a payment is booked though another worker has recorded it."
    CapturedAgain "captured-again"
        "A captured charge can be captured again."
    ExpiryOffByOne "expiry-off-by-one"
        "An authorisation can be captured at the very instant at which it expires."
    LostAnswerStands "lost-answer-stands"
        "A payment whose answer was lost stands, though its client was told that it had failed."
    RecoveryWithoutAttempt "recovery-without-attempt"
        "A recovery does not raise the attempt of a payment, so that its caller may still record an outcome."
    TokenStaysReserved "token-stays-reserved"
        "The token of a card stays reserved after a payment that charged nothing."
    TokenUsedTwice "token-used-twice"
        "Payments at the same moment use one token of a card."
    // Idempotency-Keys.
    ClaimOutsideUnit "claim-outside-unit"
        "The claim of an Idempotency-Key is committed though its unit was refused."
    DeclineReleasesKey "decline-releases-key"
        "A decline is not kept under its Idempotency-Key, so that a repeated request pays again."
    KeyOfAnotherRequest "key-of-another-request"
        "An Idempotency-Key replays its response to another request."
    // Money.
    CounterOutsideUnit "counter-outside-unit"
        "What a unit adds to a counter or a balance is committed after the unit."
    FeesNotPosted "fees-not-posted"
        "The fees of an entry have no posting."
    CreditDoubled "credit-doubled"
        "A credit is added to the balance twice."
    RefundNotCompared "refund-not-compared"
        "A refund is not compared in its commit with what is left of its charge."
    RefundUnderNewKey "refund-under-new-key"
        "A refund whose answer was lost is submitted again under a new key."
    FailedRefundStaysCounted "failed-refund-stays-counted"
        "The amount of a failed refund cannot be refunded again."
    SettledAgain "settled-again"
        "The lines of a settlement go on waiting, so that the next settlement pays them once more."
    ReturnedFeeKept "returned-fee-kept"
        "A transfer that the bank sends back does not give its fee back."
    BilledInFlight "billed-in-flight"
        "A subscription is billed again for an interval whose charge is in flight."
    // Events and webhooks.
    EventWithoutWebhooks "event-without-webhooks"
        "An event is recorded without a webhook for each endpoint."
    PublishedBeforeCommit "published-before-commit"
        "The dispatcher hears of an event before its commit, and does not find its webhooks."
    DoneBeforeSent "done-before-sent"
        "A webhook is marked as done with its lease, before it is sent."
    LostAnswerAccepts "lost-answer-accepts"
        "A webhook whose answer was lost counts as accepted."
    RetryNotCounted "retry-not-counted"
        "A refused webhook does not count its attempt, and is retried for ever."
    WebhookLeasedForever "webhook-leased-forever"
        "The lease of a webhook does not end, though the server that had it is gone."
    // Clocks and caches.
    HeldWorkTaken "held-work-taken"
        "A clock that moves takes over work that another worker is doing."
    ChangedKeyCached "changed-key-cached"
        "A changed or revoked restricted key stays in the cache."
    // The disk.
    CommitNotFlushed "commit-not-flushed"
        "A commit on SQLite is answered before it is flushed."
    FailedCommitAnswered "failed-commit-answered"
        "A commit on SQLite that failed is answered as if it had succeeded."
}

/// The mutant of this process.
#[cfg(feature = "mutants")]
static CHOSEN: std::sync::OnceLock<Mutant> = std::sync::OnceLock::new();

/// Chooses the mutant of this process, before anything else.
#[cfg(feature = "mutants")]
pub fn choose(mutant: Mutant) {
    assert_eq!(*CHOSEN.get_or_init(|| mutant), mutant, "a process has one mutant");
}

/// Returns whether this process has a mutant.
#[cfg(feature = "mutants")]
#[inline]
pub fn is(mutant: Mutant) -> bool {
    CHOSEN.get() == Some(&mutant)
}

/// Returns false, as mutants are not compiled in.
#[cfg(not(feature = "mutants"))]
#[inline]
pub const fn is(_: Mutant) -> bool {
    false
}
