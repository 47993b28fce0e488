//! Conversions between the messages and the calls of [`crate::Acquirer`].

use std::collections::BTreeMap;

use base::card_number::CardNumber;
use entity::failure::Decline;
use entity::{Currency, Rate};

use super::{
    Accepted, Answer, Approved, Authorisation, CardData, CardDetails, CardLookup, CardLookupAnswer, FollowUp,
    PayingCard, Proof, Rates, Reference, Settled,
};
use crate::{
    Aftermath, Approval, AuthoriseCall, CallKey, CardInfo, Failure, Fault, FollowUpCall, NetworkProof,
    NoAnswer, RefundAnswer, SimulatedOutcome,
};

impl CardLookup {
    /// Converts a card number.
    pub fn new(number: &CardNumber) -> Self {
        Self { number: CardData(number.digits().clone()) }
    }

    /// Returns the number; `None` where it is impossible.
    pub fn number(&self) -> Option<CardNumber> {
        CardNumber::parse(&self.number.0)
    }
}

impl From<Option<CardInfo>> for CardLookupAnswer {
    fn from(known: Option<CardInfo>) -> Self {
        let card = known.map(|CardInfo { scheme, issuing_country, three_d_secure }| CardDetails {
            scheme,
            issuing_country,
            three_d_secure,
        });
        Self { card }
    }
}

impl CardLookupAnswer {
    /// Returns the card's details; `Err` where they are malformed.
    pub fn known(self) -> Result<Option<CardInfo>, NoAnswer> {
        let Some(CardDetails { scheme, issuing_country, three_d_secure }) = self.card else {
            return Ok(None);
        };
        let is_country =
            issuing_country.len() == 2 && issuing_country.bytes().all(|b| b.is_ascii_uppercase());
        if is_country {
            Ok(Some(CardInfo { scheme, issuing_country, three_d_secure }))
        } else {
            Err(NoAnswer)
        }
    }
}

impl Rates {
    /// Converts a list of rates.
    pub fn new(rates: impl IntoIterator<Item = (Currency, Rate)>) -> Self {
        let rates = rates.into_iter();
        Self {
            rates: rates.map(|(currency, rate)| (currency.code().to_owned(), rate.millionths())).collect(),
        }
    }

    /// Returns the rates of known currencies; `None` where one is not positive, or the AUD is not worth one AUD.
    pub fn table(&self) -> Option<BTreeMap<Currency, Rate>> {
        let known = self.rates.iter().filter_map(|(code, rate)| Some((Currency::from_code(code)?, *rate)));
        let table: BTreeMap<_, _> = known
            .map(|(currency, rate)| (rate > 0).then(|| (currency, Rate::from_millionths(rate))))
            .collect::<Option<_>>()?;
        table.get(&Currency::Aud).is_none_or(|rate| *rate == Rate::AUD).then_some(table)
    }
}

impl Authorisation {
    /// Converts a call. Includes a forced outcome only in the sandbox.
    pub fn from_call(call: &AuthoriseCall, sandbox: bool) -> Self {
        Self {
            card: PayingCard {
                number: CardData(call.number.clone()),
                cvc: call.cvc.clone().map(CardData),
                expiry_month: call.expiry_month,
                expiry_year: call.expiry_year,
                name: call.name.clone(),
            },
            network: call.network.as_ref().map(|NetworkProof { eci, cryptogram }| Proof {
                eci: eci.clone(),
                cryptogram: CardData(cryptogram.clone()),
            }),
            amount: call.amount,
            currency: call.currency,
            capture: call.capture,
            reference: call.reference.clone(),
            sandbox: call.forced.filter(|_| sandbox).map(|outcome| word(outcome).to_owned()),
        }
    }

    /// Returns the call under a key; `None` where it is malformed.
    pub fn call(self, key: CallKey, sandbox: bool) -> Option<AuthoriseCall> {
        let PayingCard { number: CardData(number), cvc, expiry_month, expiry_year, name } = self.card;
        let network = self
            .network
            .map(|Proof { eci, cryptogram: CardData(cryptogram) }| NetworkProof { eci, cryptogram });
        Some(AuthoriseCall {
            key,
            number,
            cvc: cvc.map(|CardData(cvc)| cvc),
            expiry_month,
            expiry_year,
            name,
            amount: amount(self.amount)?,
            currency: self.currency,
            capture: self.capture,
            reference: self.reference,
            network,
            forced: match self.sandbox.filter(|_| sandbox) {
                Some(word) => Some(ordered(&word)?),
                None => None,
            },
        })
    }
}

impl FollowUp {
    /// Converts a call; `None` where no acquirer could have issued its reference.
    pub fn from_call(call: &FollowUpCall, sandbox: bool) -> Option<Self> {
        Some(Self {
            reference: call.reference.clone().try_into().ok()?,
            amount: call.amount,
            currency: call.currency,
            sandbox: call.fault.filter(|_| sandbox).map(|fault| word(ordered_fault(fault)).to_owned()),
        })
    }

    /// Returns the call under a key; `None` where it is malformed.
    pub fn call(self, key: CallKey, sandbox: bool) -> Option<FollowUpCall> {
        let fault = match self.sandbox.filter(|_| sandbox) {
            Some(word) => match ordered(&word)? {
                SimulatedOutcome::Fault(fault) => Some(fault),
                SimulatedOutcome::ApprovedButLost => Some(Fault::AnswerLost),
                SimulatedOutcome::Approved(_) | SimulatedOutcome::Declined(_) => return None,
            },
            None => None,
        };
        let Reference(reference) = self.reference;
        Some(FollowUpCall { key, reference, amount: amount(self.amount)?, currency: self.currency, fault })
    }
}

fn amount(amount: i64) -> Option<i64> {
    (amount > 0).then_some(amount)
}

impl<Done> Answer<Done> {
    /// Converts the outcome of a call.
    pub fn to<T>(outcome: Result<T, Failure>, done: impl FnOnce(T) -> Option<Done>) -> Self {
        match outcome.map(done) {
            Ok(Some(done)) => Self::Done(done),
            // The call was done, and its answer has no form on the wire.
            Ok(None) | Err(Failure::NoAnswer) => Self::NoAnswer,
            Err(Failure::Declined(decline)) => Self::Declined { code: decline.code().to_owned() },
            Err(Failure::GatewayError) => Self::GatewayError,
            Err(Failure::Closed) => Self::Closed,
        }
    }

    /// Returns the outcome that the message reports.
    pub fn outcome(self) -> Result<Done, Failure> {
        Err(match self {
            Self::Done(done) => return Ok(done),
            Self::Declined { code } => Failure::Declined(Decline::from_code(&code).unwrap_or_else(|| {
                // Letters only: whatever it says, no card's digits.
                let code: String = code
                    .chars()
                    .filter(|letter| letter.is_ascii_alphabetic() || *letter == '_')
                    .take(50)
                    .collect();
                tracing::warn!(code, "the acquirer declines with a code that is none of the protocol's");
                Decline::Unknown
            })),
            Self::GatewayError => Failure::GatewayError,
            Self::Closed => Failure::Closed,
            Self::NoAnswer => Failure::NoAnswer,
        })
    }
}

impl Approved {
    /// Converts an approval; `None` where its reference is not valid.
    pub fn from_approval(approval: Approval) -> Option<Self> {
        Some(Self { reference: approval.reference.try_into().ok()? })
    }

    /// Returns the approval.
    pub fn approval(self) -> Approval {
        let Reference(reference) = self.reference;
        Approval { reference }
    }
}

impl Accepted {
    /// Converts the answer to a refund.
    pub const fn from_answer(answer: RefundAnswer) -> Self {
        Self { succeeds: matches!(answer, RefundAnswer::Succeeds) }
    }

    /// Returns the answer to the refund.
    pub const fn answer(&self) -> RefundAnswer {
        if self.succeeds { RefundAnswer::Succeeds } else { RefundAnswer::Fails }
    }
}

impl Settled {
    /// Converts the outcome of settling a key.
    pub fn from_result(settled: Result<crate::Settled, NoAnswer>) -> Self {
        match settled {
            Ok(crate::Settled::Done { reference }) => {
                reference.try_into().map_or(Self::NoAnswer, |reference| Self::Done { reference })
            }
            Ok(crate::Settled::NotDone) => Self::NotDone,
            Err(NoAnswer) => Self::NoAnswer,
        }
    }

    /// Returns the outcome of settling a key.
    pub fn settled(self) -> Result<crate::Settled, NoAnswer> {
        match self {
            Self::Done { reference: Reference(reference) } => Ok(crate::Settled::Done { reference }),
            Self::NotDone => Ok(crate::Settled::NotDone),
            Self::NoAnswer => Err(NoAnswer),
        }
    }
}

const fn word(outcome: SimulatedOutcome) -> &'static str {
    match outcome {
        SimulatedOutcome::Approved(Aftermath::Ordinary) => "approved",
        SimulatedOutcome::Approved(Aftermath::Disputed) => "disputed",
        SimulatedOutcome::Approved(Aftermath::RefundsFail) => "refunds_fail",
        SimulatedOutcome::Declined(decline) => decline.code(),
        SimulatedOutcome::Fault(Fault::GatewayError) => "gateway_error",
        SimulatedOutcome::Fault(Fault::NoAnswer) => "no_answer",
        SimulatedOutcome::Fault(Fault::AnswerLost) => "answer_lost",
        SimulatedOutcome::ApprovedButLost => "approved_but_lost",
    }
}

/// Returns the order of a call that no issuer decides.
const fn ordered_fault(fault: Fault) -> SimulatedOutcome {
    match fault {
        Fault::AnswerLost => SimulatedOutcome::ApprovedButLost,
        Fault::GatewayError | Fault::NoAnswer => SimulatedOutcome::Fault(fault),
    }
}

/// Returns the forced outcome of a word; `None` where there is none.
pub(super) fn ordered(word: &str) -> Option<SimulatedOutcome> {
    match word {
        "approved" => Some(SimulatedOutcome::Approved(Aftermath::Ordinary)),
        "refunds_fail" => Some(SimulatedOutcome::Approved(Aftermath::RefundsFail)),
        "answer_lost" => Some(SimulatedOutcome::Fault(Fault::AnswerLost)),
        word => SimulatedOutcome::from_sandbox_word(word),
    }
}
