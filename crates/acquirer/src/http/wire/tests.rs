use entity::Rate;
use entity::failure::Decline;

use super::meaning::ordered;
use super::*;
use crate::{
    Aftermath, AuthoriseCall, CallKey, Failure, Fault, NetworkProof, NoAnswer, RefundAnswer, SimulatedOutcome,
};

fn outcomes() -> Vec<SimulatedOutcome> {
    let approved =
        [Aftermath::Ordinary, Aftermath::Disputed, Aftermath::RefundsFail].map(SimulatedOutcome::Approved);
    let faults = [Fault::GatewayError, Fault::NoAnswer, Fault::AnswerLost].map(SimulatedOutcome::Fault);
    let declines = Decline::ALL.iter().copied().map(SimulatedOutcome::Declined);
    approved.into_iter().chain(faults).chain(declines).chain([SimulatedOutcome::ApprovedButLost]).collect()
}

fn call(forced: Option<SimulatedOutcome>) -> AuthoriseCall {
    AuthoriseCall {
        key: CallKey::new("ch_1", "charge"),
        number: "4200000000000000".into(),
        cvc: Some("123".into()),
        expiry_month: 5,
        expiry_year: 2030,
        name: None,
        amount: 400,
        currency: Currency::Jpy,
        capture: true,
        reference: Some("Shop".to_owned()),
        network: Some(NetworkProof { eci: None, cryptogram: "AgAA".into() }),
        forced,
    }
}

fn carried(call: &AuthoriseCall, sandbox: bool) -> Option<AuthoriseCall> {
    let decoded: Authorisation = read(&encode(&Authorisation::from_call(call, true)))?;
    decoded.call(call.key.clone(), sandbox)
}

#[test]
fn a_call_arrives_as_it_was_made() {
    let arrived = carried(&call(None), true).unwrap();
    assert_eq!((arrived.number.expose(), arrived.cvc), ("4200000000000000", Some("123".into())));
    assert_eq!((arrived.expiry_month, arrived.expiry_year, arrived.name), (5, 2030, None));
    assert_eq!((arrived.amount, arrived.currency, arrived.capture), (400, Currency::Jpy, true));
    assert_eq!(arrived.reference.as_deref(), Some("Shop"));
    assert_eq!(arrived.network.unwrap().cryptogram.expose(), "AgAA");
}

#[test]
fn every_order_of_a_tester_arrives_in_the_sandbox_and_none_elsewhere() {
    for outcome in outcomes() {
        let forced = |sandbox| carried(&call(Some(outcome)), sandbox).unwrap().forced;
        assert_eq!((forced(true), forced(false)), (Some(outcome), None));
    }
    let encoded = encode(&Authorisation::from_call(&call(Some(outcomes()[0])), false));
    let encoded = std::str::from_utf8(&encoded).unwrap();
    assert!(!encoded.contains("sandbox"), "{encoded}");
    for wrong in ["", "Approved", "ordinary"] {
        assert_eq!(ordered(wrong), None, "{wrong:?}");
    }
}

#[test]
fn every_outcome_arrives_and_an_unknown_decline_is_one() {
    let failures = Decline::ALL.iter().copied().map(Failure::Declined);
    for failure in failures.chain([Failure::GatewayError, Failure::NoAnswer, Failure::Closed]) {
        let encoded = encode(&Answer::to(Err::<(), _>(failure), |()| Some(Completed {})));
        assert_eq!(read::<Answer<Completed>>(&encoded).unwrap().outcome().err(), Some(failure));
    }
    let odd = br#"{"result":"declined","code":"bank_is_closed"}"#;
    let odd = read::<Answer<Completed>>(odd).unwrap().outcome().err();
    assert_eq!(odd, Some(Failure::Declined(Decline::Unknown)));
    let done = encode(&Answer::to(Ok(()), |()| Some(Completed {})));
    assert_eq!(&done[..], br#"{"result":"done"}"#);
    assert!(read::<Answer<Completed>>(&done).unwrap().outcome().is_ok());
}

#[test]
fn the_outcome_of_a_call_arrives() {
    let done = crate::Settled::Done { reference: "bank-1".to_owned() };
    for settled in [Ok(done), Ok(crate::Settled::NotDone), Err(NoAnswer)] {
        let decoded: Settled = read(&encode(&Settled::from_result(settled.clone()))).unwrap();
        assert_eq!(decoded.settled(), settled);
    }
}

#[test]
fn a_refund_succeeds_unless_the_acquirer_knows_better() {
    let answer = |text: &str| read::<Answer<Accepted>>(text.as_bytes()).unwrap().outcome().unwrap().answer();
    assert_eq!(answer(r#"{"result":"done"}"#), RefundAnswer::Succeeds);
    assert_eq!(answer(r#"{"result":"done","succeeds":false}"#), RefundAnswer::Fails);
}

#[test]
fn a_reference_is_as_long_as_its_characters_are_many() {
    let approved = |reference: &str| {
        let text = format!(r#"{{"result":"done","reference":"{reference}"}}"#);
        Some(read::<Answer<Approved>>(text.as_bytes())?.outcome().unwrap().approval().reference)
    };
    for letter in ["x", "é", "銀"] {
        let (longest, longer) = (letter.repeat(255), letter.repeat(256));
        assert_eq!((approved(&longest), approved(&longer)), (Some(longest), None));
    }
}

#[test]
fn nonsense_is_no_answer() {
    for wrong in [
        "",
        "{}",
        "[]",
        "null",
        r#"{"result":"done"}"#,
        r#"{"result":"done","reference":""}"#,
        r#"{"result":"done","reference":"a\nb"}"#,
        r#"{"result":"done","reference":7}"#,
        r#"{"result":"maybe"}"#,
        r#"{"result":"declined"}"#,
    ] {
        assert!(read::<Answer<Approved>>(wrong.as_bytes()).is_none(), "{wrong}");
    }
    for wrong in ["Australia", "au", "", "A1"] {
        let card = CardDetails { scheme: Scheme::Visa, issuing_country: wrong.into(), three_d_secure: true };
        assert_eq!(CardLookupAnswer { card: Some(card) }.known(), Err(NoAnswer), "{wrong}");
    }
    for (wrong, rates) in [
        ("free", r#"{"rates":{"AUD":1000000,"USD":0}}"#),
        ("less than free", r#"{"rates":{"USD":-1}}"#),
        ("an AUD that is none", r#"{"rates":{"AUD":999999}}"#),
    ] {
        assert_eq!(read::<Rates>(rates.as_bytes()).unwrap().table(), None, "{wrong}");
    }
    let unknown = read::<Rates>(br#"{"rates":{"XAU":-5,"USD":1500000}}"#).unwrap().table().unwrap();
    assert_eq!(unknown, BTreeMap::from([(Currency::Usd, Rate::from_millionths(1_500_000))]));
}

#[test]
fn no_debug_print_shows_what_is_told() {
    let printed = format!("{:?}", Authorisation::from_call(&call(None), true));
    for hidden in ["4200000000000000", "\"123\"", "AgAA"] {
        assert!(!printed.contains(hidden), "{printed}");
    }
}
