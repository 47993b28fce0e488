//! The JSON between a server and its acquirer, in both directions.

use acquirer::CallKey;
use acquirer::http::wire::{
    Accepted, Answer, Approved, Authorisation, CardLookup, CardLookupAnswer, Completed, FollowUp, Greeting,
    OriginalCall, Rates, Refused, Settled, encode, read,
};
use entity::{Currency, Rate};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Target, inputs};

pub const TARGET: Target = Target {
    name: "acquirer_wire",
    hold,
    samples,
    words: &[
        "\"result\":\"done\"",
        "\"declined\"",
        "\"no_answer\"",
        "\"reference\":",
        "\"sandbox\":",
        "\"approved_but_lost\"",
        "\"insufficient_funds\"",
        "\"currency\":\"JPY\"",
        "\"rates\":",
        "\"issuing_country\":",
    ],
};

fn samples() -> Vec<Vec<u8>> {
    inputs([
        r#"{"card":{"number":"4200000000000000","cvc":"123","expiry_month":5,"expiry_year":2030,"name":"A"},"network":{"eci":"07","cryptogram":"AgAA"},"amount":400,"currency":"AUD","capture":true,"reference":"Shop","sandbox":"insufficient_funds"}"#,
        r#"{"reference":"simulator:ordinary:ch_1:charge","amount":400,"currency":"JPY","sandbox":"approved_but_lost"}"#,
        r#"{"result":"done","reference":"bank-1","succeeds":false}"#,
        r#"{"result":"declined","code":"stolen_card"}"#,
        r#"{"result":"not_done"}"#,
        r#"{"card":{"scheme":"visa","issuing_country":"AU","three_d_secure":true}}"#,
        r#"{"rates":{"AUD":1000000,"USD":1500000,"JPY":10000,"XAU":-5}}"#,
        r#"{"number":"4200000000000000"}"#,
        r#"{"name":"simulator","key":"ch_1:charge","error":"signature"}"#,
    ])
}

fn hold(input: &[u8]) {
    if let Some(message) = hold_message::<Authorisation>(input)
        && let Some(call) = message.call(CallKey::new("ch_1", "charge"), true)
    {
        let arrived: Authorisation = read(&encode(&Authorisation::from_call(&call, true))).expect("our own");
        let arrived = arrived.call(call.key.clone(), true).expect("our own call");
        assert!(call.amount > 0 && call.number == arrived.number && call.forced == arrived.forced);
    }
    if let Some(message) = hold_message::<FollowUp>(input)
        && let Some(call) = message.call(CallKey::new("ch_1", "capture"), true)
    {
        let arrived: FollowUp = read(&encode(&FollowUp::from_call(&call, true))).expect("our own");
        let arrived = arrived.call(call.key.clone(), true).expect("our own call");
        assert!(call.amount > 0 && call.reference == arrived.reference && call.fault == arrived.fault);
    }
    if let Some(message) = hold_message::<CardLookup>(input)
        && let Some(number) = message.number()
    {
        assert_eq!(CardLookup::new(&number).number(), Some(number), "a number is read as it is written");
    }
    if let Some(Ok(Some(card))) = hold_message::<CardLookupAnswer>(input).map(CardLookupAnswer::known) {
        assert_eq!(CardLookupAnswer::from(Some(card.clone())).known(), Ok(Some(card)));
    }
    if let Some(table) = hold_message::<Rates>(input).and_then(|rates| rates.table()) {
        assert!(table.values().all(|rate| rate.millionths() > 0), "{table:?}");
        assert!(table.get(&Currency::Aud).is_none_or(|rate| *rate == Rate::AUD), "{table:?}");
        assert_eq!(Rates::new(table.clone()).table(), Some(table));
    }
    if let Some(Ok(approved)) = hold_message::<Answer<Approved>>(input).map(Answer::outcome) {
        let approval = approved.approval();
        let again = Approved::from_approval(approval.clone()).expect("it came over the wire").approval();
        assert_eq!(again, approval);
    }
    if let Some(settled) = hold_message::<Settled>(input) {
        let settled = settled.settled();
        assert_eq!(Settled::from_result(settled.clone()).settled(), settled);
    }
    hold_message::<Answer<Accepted>>(input);
    hold_message::<Answer<Completed>>(input);
    hold_message::<Greeting>(input);
    hold_message::<OriginalCall>(input);
    hold_message::<Refused>(input);
}

/// Holds that a message that is read is printed as JSON that is read as the same.
fn hold_message<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let message: T = read(bytes)?;
    let printed = encode(&message);
    let again: T = read(&printed).expect("what was read is printed so that it can be read");
    assert_eq!(encode(&again), printed);
    Some(message)
}
