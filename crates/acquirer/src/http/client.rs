//! The client of a remote acquirer, as an [`Acquirer`].

use std::collections::BTreeMap;
use std::hash::Hash;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base::card_number::CardNumber;
use base::clock::Clock;
use base::environment::Environment;
use base::random::random;
use base::request_context::{Wait, waiting};
use bytes::Bytes;
use entity::{Currency, Rate};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use hmac::{Hmac, KeyInit as _, Mac as _};
use moka::future::Cache;
use outbound::OutboundError;
use serde::de::DeserializeOwned;
use sha2::Sha256;
use tokio::time::timeout;

use super::signature::Secrets;
use super::signed_client::{AcquirerClientError, SignedClient};
use super::wire::{
    Accepted, Answer, Approved, Authorisation, CardLookup, CardLookupAnswer, Completed, FollowUp, Greeting,
    OriginalCall, Rates, Settled as WireSettled, encode, is_name,
};
use super::{Address, Call};
use crate::limits::{ACQUIRER_QUESTION_TIMEOUT, CARDS_LIFETIME, CARDS_REMEMBERED_MAX, RATES_LIFETIME};
use crate::simulator::foretells_dispute;
use crate::{
    Acquirer, Approval, AuthoriseCall, CallKey, CardInfo, Failure, FollowUpCall, NoAnswer, RefundAnswer,
    Settled,
};

/// A remote acquirer. Cards and rates are cached for a while; a card number is cached only as a keyed hash, under a key
/// that no other process has.
pub struct HttpAcquirer {
    line: SignedClient,
    /// Set by the first greeting.
    name: OnceLock<String>,
    rates: Cache<(), Arc<BTreeMap<Currency, Rate>>>,
    cards: Cache<[u8; 32], Option<CardInfo>>,
    number_key: [u8; 32],
}

impl HttpAcquirer {
    /// Creates a client without connecting. Requests are signed with the time of `clock`.
    pub fn new(address: Address, secrets: Secrets, environment: Environment, clock: Arc<dyn Clock>) -> Self {
        Self {
            line: SignedClient::to(address, secrets, environment, clock),
            name: OnceLock::new(),
            rates: remembered(1, RATES_LIFETIME),
            cards: remembered(CARDS_REMEMBERED_MAX, CARDS_LIFETIME),
            number_key: random(),
        }
    }

    /// Greets the acquirer, once. Its answer proves that both sides share a secret and an environment.
    pub async fn greet(&self) -> Result<(), AcquirerClientError> {
        if self.name.get().is_some() {
            return Ok(());
        }
        let greeting = timeout(ACQUIRER_QUESTION_TIMEOUT, self.line.send(Call::Greet, "", Bytes::new()));
        let late = |_| Err(AcquirerClientError::Broken(OutboundError::Timeout));
        let Greeting { name } = greeting.await.unwrap_or_else(late)?;
        if !is_name(&name, 100) {
            return Err(AcquirerClientError::Nonsense);
        }
        tracing::info!(name, address = %self.line.address(), "the acquirer answered");
        // Another request may have greeted it, too.
        let _ = self.name.set(name);
        Ok(())
    }

    /// Returns whether to send test cards and forced outcomes.
    fn is_sandbox(&self) -> bool {
        self.line.environment() == Environment::Test
    }

    async fn send<A: DeserializeOwned>(&self, call: Call, key: &CallKey, body: Bytes) -> Result<A, Failure> {
        self.line.send(call, key.as_str(), body).await.map_err(|error| match error {
            // The acquirer did not receive the request or did not process it, so nothing was done.
            AcquirerClientError::Unreached(_) | AcquirerClientError::Refused(_) => Failure::GatewayError,
            AcquirerClientError::Broken(_)
            | AcquirerClientError::OutOfOrder(_)
            | AcquirerClientError::Stranger
            | AcquirerClientError::Version(_)
            | AcquirerClientError::Unknown
            | AcquirerClientError::Clocks
            | AcquirerClientError::Forged
            | AcquirerClientError::Nonsense
            | AcquirerClientError::Environment(_) => Failure::NoAnswer,
        })
    }

    async fn follow<A: DeserializeOwned>(&self, call: Call, follow: FollowUpCall) -> Result<A, Failure> {
        // No acquirer of this kind issued this reference, so nothing can happen.
        let follow_up = FollowUp::from_call(&follow, self.is_sandbox()).ok_or(Failure::GatewayError)?;
        self.send::<Answer<A>>(call, &follow.key, encode(&follow_up)).await?.outcome()
    }

    async fn settled(&self, call: Call, key: &CallKey) -> Result<Settled, NoAnswer> {
        let original = OriginalCall { key: key.to_string() };
        let answer: WireSettled = self.line.send(call, "", encode(&original)).await.map_err(|_| NoAnswer)?;
        answer.settled()
    }

    async fn question<A: DeserializeOwned>(&self, call: Call, body: Bytes) -> Result<A, NoAnswer> {
        let answer = timeout(ACQUIRER_QUESTION_TIMEOUT, self.line.send(call, "", body));
        answer.await.map_err(|_| NoAnswer)?.map_err(|_| NoAnswer)
    }

    async fn all_rates(&self) -> Result<Arc<BTreeMap<Currency, Rate>>, NoAnswer> {
        let rates: Rates = self.question(Call::Rates, Bytes::new()).await?;
        rates.table().map(Arc::new).ok_or_else(|| nonsense(Call::Rates))
    }

    async fn looked_up(&self, number: &CardNumber) -> Result<Option<CardInfo>, NoAnswer> {
        let answer: CardLookupAnswer = self.question(Call::Card, encode(&CardLookup::new(number))).await?;
        answer.known().map_err(|NoAnswer| nonsense(Call::Card))
    }

    fn hash(&self, number: &CardNumber) -> [u8; 32] {
        let mut hash =
            Hmac::<Sha256>::new_from_slice(&self.number_key).expect("HMAC takes keys of any length");
        hash.update(number.digits().expose().as_bytes());
        hash.finalize().into_bytes().into()
    }
}

/// Logs a signed and well-formed answer that is impossible.
fn nonsense(call: Call) -> NoAnswer {
    tracing::warn!(path = call.path(), why = %AcquirerClientError::Nonsense, "the acquirer gave no answer");
    NoAnswer
}

fn remembered<K, V>(entries: u64, lifetime: Duration) -> Cache<K, V>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    Cache::builder().max_capacity(entries).time_to_live(lifetime).build()
}

/// Returns the cached value of a key. Otherwise one of the waiting callers looks it up for all.
async fn known<K, V>(
    cache: &Cache<K, V>,
    key: K,
    found_out: impl Future<Output = Result<V, NoAnswer>>,
) -> Result<V, NoAnswer>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    if let Some(known) = cache.get(&key).await {
        return Ok(known);
    }
    waiting(Wait::Acquirer, cache.try_get_with(key, found_out)).await.map_err(|_| NoAnswer)
}

impl Acquirer for HttpAcquirer {
    fn name(&self) -> &str {
        self.name.get().map_or_else(|| self.line.address().host(), String::as_str)
    }

    fn is_known(&self) -> BoxFuture<'_, bool> {
        self.greet().map(|greeted| greeted.is_ok()).boxed()
    }

    fn card<'a>(&'a self, number: &'a CardNumber) -> BoxFuture<'a, Result<Option<CardInfo>, NoAnswer>> {
        known(&self.cards, self.hash(number), self.looked_up(number)).boxed()
    }

    fn rate(&self, currency: Currency) -> BoxFuture<'_, Result<Option<Rate>, NoAnswer>> {
        let rates = known(&self.rates, (), self.all_rates());
        rates.map(move |rates| rates.map(|rates| rates.get(&currency).copied())).boxed()
    }

    fn authorise(&self, call: AuthoriseCall) -> BoxFuture<'_, Result<Approval, Failure>> {
        async move {
            let body = encode(&Authorisation::from_call(&call, self.is_sandbox()));
            let answer: Answer<Approved> = self.send(Call::Authorise, &call.key, body).await?;
            answer.outcome().map(Approved::approval)
        }
        .boxed()
    }

    fn capture(&self, call: FollowUpCall) -> BoxFuture<'_, Result<(), Failure>> {
        self.follow(Call::Capture, call).map(|done| done.map(|Completed {}| ())).boxed()
    }

    fn void(&self, call: FollowUpCall) -> BoxFuture<'_, Result<(), Failure>> {
        self.follow(Call::Void, call).map(|done| done.map(|Completed {}| ())).boxed()
    }

    fn refund(&self, call: FollowUpCall) -> BoxFuture<'_, Result<RefundAnswer, Failure>> {
        let accepted = self.follow::<Accepted>(Call::Refund, call);
        accepted.map(|accepted| accepted.map(|accepted| accepted.answer())).boxed()
    }

    fn reverse(&self, key: &CallKey) -> BoxFuture<'_, Result<Settled, NoAnswer>> {
        let key = key.clone();
        async move { self.settled(Call::Reverse, &key).await }.boxed()
    }

    fn settle(&self, key: &CallKey) -> BoxFuture<'_, Result<Settled, NoAnswer>> {
        let key = key.clone();
        async move { self.settled(Call::Settle, &key).await }.boxed()
    }

    fn is_disputed_once_captured(&self, reference: &str) -> bool {
        self.is_sandbox() && foretells_dispute(reference)
    }
}
