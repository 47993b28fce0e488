use base::secret::Secret;

use super::super::test_cards::TABLE;
use super::*;
use crate::Fault;

const GOOD: &str = "4200000000000000";
const NEVER_ANSWERS: &str = "4200800000000011";
const DISPUTED: &str = "4200300000000012";
const REFUNDS_FAIL: &str = "4200700000000013";
/// Possible, but in no row of the table.
const UNLISTED: &str = "4000056655665556";

fn test() -> Simulator {
    Simulator::new(Numbers::TestCards)
}

fn live() -> Simulator {
    Simulator::new(Numbers::All)
}

fn key() -> CallKey {
    CallKey::new("ch_1", "authorise")
}

fn purchase(number: &str) -> AuthoriseCall {
    AuthoriseCall {
        key: key(),
        number: Secret::from(number),
        cvc: Some(Secret::from("123")),
        expiry_month: 5,
        expiry_year: 2099,
        name: Some("Roland Robot".to_owned()),
        amount: 400,
        currency: Currency::Aud,
        capture: true,
        reference: None,
        network: None,
        forced: None,
    }
}

fn forced(outcome: SimulatedOutcome) -> AuthoriseCall {
    AuthoriseCall { forced: Some(outcome), ..purchase(GOOD) }
}

fn lost() -> AuthoriseCall {
    forced(SimulatedOutcome::Fault(Fault::AnswerLost))
}

fn follow(reference: &str, fault: Option<Fault>) -> FollowUpCall {
    let key = CallKey::new("ch_1", "capture");
    FollowUpCall { key, reference: reference.to_owned(), amount: 400, currency: Currency::Aud, fault }
}

/// Polls once; `None` is a call that never answers: the simulator answers at the first poll or never.
fn answer<T>(call: BoxFuture<'_, T>) -> Option<T> {
    call.now_or_never()
}

fn authorised(simulator: &Simulator, call: AuthoriseCall) -> Option<Result<String, Failure>> {
    answer(simulator.authorise(call)).map(|answer| answer.map(|approval| approval.reference))
}

fn approved(simulator: &Simulator, number: &str) -> String {
    authorised(simulator, purchase(number)).expect("an answer").expect("an approval")
}

fn card(simulator: &Simulator, number: &str) -> Option<CardInfo> {
    let number = CardNumber::parse(&Secret::from(number)).expect("a possible number");
    answer(simulator.card(&number)).expect("an answer").expect("at once")
}

fn rate(currency: Currency) -> Option<Rate> {
    answer(test().rate(currency)).expect("an answer").expect("at once")
}

#[test]
fn every_card_of_the_table_has_its_outcome() {
    for (row, number) in TABLE.iter().flat_map(|row| row.numbers().map(move |number| (row, number))) {
        let expected = match row.outcome {
            SimulatedOutcome::Approved(aftermath) => Some(Ok(reference(aftermath, &key()))),
            SimulatedOutcome::Declined(decline) => Some(Err(Failure::Declined(decline))),
            SimulatedOutcome::Fault(Fault::GatewayError) => Some(Err(Failure::GatewayError)),
            SimulatedOutcome::Fault(Fault::NoAnswer) => None,
            SimulatedOutcome::ApprovedButLost | SimulatedOutcome::Fault(Fault::AnswerLost) => {
                Some(Err(Failure::NoAnswer))
            }
        };
        assert_eq!(authorised(&test(), purchase(number)), expected, "{number}");
    }
}

#[test]
fn a_card_says_its_scheme_country_and_enrolment() {
    let info = |scheme, country: &str, three_d_secure| {
        Some(CardInfo { scheme, issuing_country: country.to_owned(), three_d_secure })
    };
    assert_eq!(card(&test(), GOOD), info(Scheme::Visa, "AU", true));
    assert_eq!(card(&test(), "5520000190000000"), info(Scheme::Master, "NZ", false));
    assert_eq!(card(&test(), "378282246310005"), info(Scheme::AmericanExpress, "US", true));
}

#[test]
fn only_live_takes_a_number_that_the_table_does_not_know() {
    assert_eq!(card(&test(), UNLISTED), None);
    let refused = authorised(&test(), purchase(UNLISTED));
    assert_eq!(refused, Some(Err(Failure::Declined(Decline::InvalidCard))));
    assert_eq!(card(&live(), UNLISTED).map(|card| card.issuing_country).as_deref(), Some("AU"));
    approved(&live(), UNLISTED);
}

#[test]
fn the_sandbox_orders_an_outcome_over_the_card() {
    let decline = SimulatedOutcome::Declined(Decline::LostCard);
    assert_eq!(authorised(&test(), forced(decline)), Some(Err(Failure::Declined(Decline::LostCard))));
    let disputed = authorised(&test(), forced(SimulatedOutcome::Approved(Aftermath::Disputed)));
    assert_eq!(disputed, Some(Ok("simulator:disputed:ch_1:authorise".to_owned())));
}

#[test]
fn a_lost_answer_is_one_to_what_the_card_decides() {
    let simulator = test();
    let mut call = lost();
    call.number = DISPUTED.into();
    assert_eq!(authorised(&simulator, call), Some(Err(Failure::NoAnswer)));
    let reference = "simulator:disputed:ch_1:authorise".to_owned();
    assert_eq!(answer(simulator.settle(&key())), Some(Ok(Settled::Done { reference })));
    let simulator = test();
    let mut call = lost();
    call.number = "4100000000000001".into();
    assert_eq!(authorised(&simulator, call), Some(Err(Failure::GatewayError)));
    assert_eq!(answer(simulator.settle(&key())), Some(Ok(Settled::NotDone)));
    let simulator = test();
    let mut call = forced(SimulatedOutcome::ApprovedButLost);
    call.number = "4100000000000001".into();
    assert_eq!(authorised(&simulator, call), Some(Err(Failure::NoAnswer)));
    let reference = "simulator:ordinary:ch_1:authorise".to_owned();
    assert_eq!(answer(simulator.settle(&key())), Some(Ok(Settled::Done { reference })));
}

#[test]
fn a_repeated_call_gets_the_same_reference() {
    let simulator = test();
    assert_eq!(approved(&simulator, GOOD), approved(&simulator, GOOD));
}

#[test]
fn a_reference_carries_what_captures_and_refunds_must_know() {
    for (number, disputed, refund) in [
        (GOOD, false, RefundAnswer::Succeeds),
        (DISPUTED, true, RefundAnswer::Succeeds),
        (REFUNDS_FAIL, false, RefundAnswer::Fails),
    ] {
        let reference = approved(&test(), number);
        // Another server, which never saw the authorisation.
        let simulator = test();
        assert_eq!(answer(simulator.capture(follow(&reference, None))), Some(Ok(())));
        assert_eq!(simulator.is_disputed_once_captured(&reference), disputed);
        assert_eq!(answer(simulator.refund(follow(&reference, None))), Some(Ok(refund)));
    }
}

#[test]
fn a_reference_of_another_acquirer_changes_nothing() {
    for reference in ["", "simulator", "simulator:ordinary", "other:ordinary:ch_1", "simulator:odd:ch_1"] {
        assert_eq!(
            answer(test().void(follow(reference, None))),
            Some(Err(Failure::GatewayError)),
            "{reference:?}"
        );
        assert!(!test().is_disputed_once_captured(reference));
    }
}

#[test]
fn a_lost_approval_is_reversed_once_and_its_key_stays_closed() {
    let simulator = test();
    assert_eq!(authorised(&simulator, lost()), Some(Err(Failure::NoAnswer)));
    let done = Settled::Done { reference: reference(Aftermath::Ordinary, &key()) };
    for _ in 0..2 {
        assert_eq!(answer(simulator.reverse(&key())), Some(Ok(done.clone())));
    }
    assert_eq!(authorised(&simulator, purchase(GOOD)), Some(Err(Failure::Closed)));
    assert_eq!(answer(simulator.settle(&key())), Some(Ok(Settled::NotDone)));
}

#[test]
fn a_call_that_never_answers_has_acted() {
    let simulator = test();
    assert_eq!(authorised(&simulator, purchase(NEVER_ANSWERS)), None);
    let reference = reference(Aftermath::Ordinary, &key());
    assert_eq!(answer(simulator.settle(&key())), Some(Ok(Settled::Done { reference })));
}

#[test]
fn an_approval_that_nobody_could_record_stands_and_a_decline_was_nothing() {
    let simulator = test();
    let reference = approved(&simulator, GOOD);
    assert_eq!(answer(simulator.settle(&key())), Some(Ok(Settled::Done { reference })));
    let simulator = test();
    let declined = answer(simulator.authorise(purchase("4100000000000001"))).unwrap();
    assert!(declined.is_err());
    assert_eq!(answer(simulator.settle(&key())), Some(Ok(Settled::NotDone)));
}

#[test]
fn an_unknown_key_is_closed_by_settling_and_by_reversing() {
    for reverses in [false, true] {
        let simulator = test();
        let settled = if reverses { simulator.reverse(&key()) } else { simulator.settle(&key()) };
        assert_eq!(answer(settled), Some(Ok(Settled::NotDone)));
        for late in [purchase(GOOD), lost(), purchase(NEVER_ANSWERS), purchase("4100000000000001")] {
            assert_eq!(authorised(&simulator, late), Some(Err(Failure::Closed)));
        }
    }
}

#[test]
fn a_capture_whose_answer_was_lost_is_completed_by_the_same_key() {
    let simulator = test();
    let reference = approved(&simulator, GOOD);
    let lost = follow(&reference, Some(Fault::AnswerLost));
    let key = lost.key.clone();
    assert_eq!(answer(simulator.capture(lost)), Some(Err(Failure::NoAnswer)));
    assert_eq!(answer(simulator.settle(&key)), Some(Ok(Settled::Done { reference: reference.clone() })));
    assert_eq!(answer(simulator.capture(follow(&reference, None))), Some(Ok(())));
}

#[test]
fn a_test_rate_settles_each_currency_in_aud_cents() {
    let cents: Vec<_> = Currency::ALL
        .iter()
        .map(|&currency| rate(currency).map(|rate| rate.settle_rounded_half_up(1_000_000, currency)))
        .map(Option::unwrap_or_default)
        .collect();
    assert_eq!(
        cents,
        [
            1_000_000, 1_500_000, 900_000, 1_150_000, 1_650_000, 1_950_000, 1_100_000, 190_000, 1_000_000,
            350_000, 45_000, 26_000, 85_000, 100, 48_000,
        ]
    );
}

#[test]
fn no_debug_print_shows_a_card_number_or_security_code() {
    let simulator = test();
    let call = lost();
    let call_printed = format!("{call:?}");
    authorised(&simulator, call).expect("an answer").expect_err("no approval");
    let approval = approved(&simulator, DISPUTED);
    let printed = format!("{call_printed} {simulator:?} {approval}");
    for hidden in [GOOD, DISPUTED, "\"123\""] {
        assert!(!printed.contains(hidden), "{printed}");
    }
}
