//! Server and acquirer as programs: the acquirer writes a statement of what it knows, and the books say the same.

use base::clock::{Clock, SystemClock};
use serde_json::json;

use super::{exceptions, pairs, reconciled, write};
use crate::harness::process::{PAYMENT, Process, output, request, try_to_ask};
use crate::harness::{operated, remote_acquirer};

const DISPUTED: &str = "4200300000000012";
const REFUNDS_FAIL: &str = "4200700000000013";

/// The payment by another card.
fn by_card(number: &str) -> String {
    PAYMENT.replace("4200000000000000", number)
}

operated! {
    async fn the_acquirers_statement_is_what_the_books_say(installed) {
        let book = installed.data.path().join("acquirer.csv");
        let acquirer = Process::start(remote_acquirer::acquirer("127.0.0.1:0").arg("--book").arg(&book));
        installed.with("ACQUIRER", &format!("http://{}", acquirer.address));
        installed.with("ACQUIRER_SECRET", remote_acquirer::SECRET);
        let began = SystemClock.now().day();
        let server = installed.serve();
        let key = server.keys().0;
        let post = |path: &str, form: &str| {
            let answer = server.ask("POST", path, Some(&key), form);
            assert!([200, 201].contains(&answer.status), "{}", answer.body);
            answer.json()["response"]["token"].as_str().unwrap().to_owned()
        };
        // Captures, also in another currency, later, and of a part of an authorisation.
        let paid = post("/1/charges", PAYMENT);
        post("/1/charges", &format!("{PAYMENT}&currency=JPY"));
        let reserved = post("/1/charges", &format!("{PAYMENT}&capture=false"));
        server.ask("PUT", &format!("/1/charges/{reserved}/capture"), Some(&key), "").ok(200);
        let voided = post("/1/charges", &format!("{PAYMENT}&capture=false"));
        server.ask("PUT", &format!("/1/charges/{voided}/void"), Some(&key), "").ok(200);
        let authorised = post("/1/authorisations", PAYMENT);
        let part = post(&format!("/1/authorisations/{authorised}/charges"), "amount=300");
        // What the acquirer did and had to undo.
        let lost = request("POST", "/1/charges", Some(&key), PAYMENT)
            .replacen("\r\n", "\r\nSandbox-Outcome: approved_but_lost\r\n", 1);
        assert_eq!(try_to_ask(server.address, &lost).unwrap().status, 502);
        // Refunds, one of which fails, and a dispute that the merchant does not answer.
        for (charge, amount) in [(&paid, 100), (&paid, 50), (&part, 300)] {
            post(&format!("/1/charges/{charge}/refunds"), &format!("amount={amount}"));
        }
        let returned = post("/1/charges", &by_card(REFUNDS_FAIL));
        post(&format!("/1/charges/{returned}/refunds"), "amount=400");
        post("/1/charges", &by_card(DISPUTED));
        server.ask("PUT", "/1/sandbox/clock", Some(&key), "advance=1month").ok(200);
        assert_eq!(server.ask("GET", "/1/disputes", Some(&key), "").json()["response"][0]["status"], "expired");

        let days = [began, SystemClock.now().day()];
        let statement = |day: entity::Day| {
            let mut acquirer = remote_acquirer::acquirer("127.0.0.1:0");
            acquirer.arg("--book").arg(&book).args(["--statement", &day.date().to_string()]);
            let (code, text, stderr) = output(&mut acquirer);
            assert_eq!((code, stderr.as_str()), (Some(0), ""));
            text
        };
        // Two, if midnight has passed meanwhile.
        let days = if days[0] == days[1] { &days[1..] } else { &days[..] };
        let mut lines = 0;
        for (n, day) in days.iter().enumerate() {
            let reconciled = reconciled(installed, &write(installed, &format!("of-{n}"), &statement(*day)));
            lines += reconciled["lines"].as_i64().unwrap();
            assert_eq!(reconciled["matched"], reconciled["lines"], "{}", statement(*day));
        }
        assert_eq!(exceptions(installed, "open"), pairs([]));
        // Six captures, four refunds, one of them returned, and a chargeback.
        assert_eq!(lines, 6 + 4 + 1 + 1, "{}", statement(days[0]));

        // The acquirer is started again and keeps its book. A dispute that a tester opens is not in it.
        acquirer.stopped();
        let text = statement(days[0]);
        post("/1/sandbox/disputes", &format!("charge_token={reserved}"));
        let acquirer = Process::start(remote_acquirer::acquirer("127.0.0.1:0").arg("--book").arg(&book));
        assert_eq!(statement(days[0]), text);
        let name = text.lines().nth(1).unwrap().split(',').nth(1).unwrap();
        // Up to the day of the dispute: midnight may have passed meanwhile.
        let (rows, until) = text.trim_end().rsplit_once(',').unwrap();
        let text = format!("{rows},{}\n", Ord::max(until, &SystemClock.now().day().date().to_string()));
        let corrected = write(installed, "corrected", &text.replace(name, &format!("{name}-corrected")));
        let again = reconciled(installed, &corrected);
        assert_eq!(again["matched"], 0);
        assert!(again["exceptions"].as_array().unwrap().contains(&json!({ "kind": "missing", "n": 1 })), "{again}");
        acquirer.stopped();
        server.stopped();
        assert_eq!(installed.run(&["ledger", "verify"]).0, Some(0));
    }

    async fn what_moved_before_an_arbitration_is_compared_with_what_the_dispute_was_about_then(installed) {
        let server = installed.serve();
        let key = server.keys().0;
        let day = SystemClock.now().day();
        let post = |path: &str, form: &str| {
            let answer = server.ask("POST", path, Some(&key), form);
            assert!([200, 201].contains(&answer.status), "{}", answer.body);
            answer.json()["response"]["token"].as_str().unwrap().to_owned()
        };
        let charge = post("/1/charges", &format!("{PAYMENT}&currency=USD"));
        let dispute = post("/1/sandbox/disputes", &format!("charge_token={charge}"));
        let decide = |status: &str| {
            let path = format!("/1/sandbox/disputes/{dispute}");
            server.ask("PUT", &path, Some(&key), &format!("status={status}")).ok(200);
        };
        decide("evidence_under_review");
        decide("won");
        let refund = post(&format!("/1/charges/{charge}/refunds"), "amount=300");
        decide("arbitration_under_review");
        decide("arbitration_lost");
        let lines = [
            ("capture", &charge, 400),
            ("chargeback", &charge, 400),
            ("chargeback_return", &charge, 400),
            ("refund", &refund, 300),
            ("chargeback", &charge, 100),
        ];
        let (from, to) = (day.date(), SystemClock.now().day().date());
        let lines = lines.map(|(movement, of, amount)| format!("{movement},{of},{amount},USD,{from}\n"));
        let text = format!(
            "type,reference,amount,currency,day\nstatement,of-an-arbitration,,,{from}\n{}end,of-an-arbitration,5,,{to}\n",
            lines.concat()
        );
        server.stopped();
        let reconciled = reconciled(installed, &write(installed, "of-an-arbitration", &text));
        assert_eq!((&reconciled["matched"], &reconciled["exceptions"]), (&json!(5), &json!([])), "{reconciled}");
    }
}
