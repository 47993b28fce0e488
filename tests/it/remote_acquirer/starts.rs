//! The programs: how a server meets its acquirer, and what both say when something is wrong.

use std::net::{SocketAddr, TcpListener};
use std::process::Command;

use vault::OperatorKeys;

use crate::harness::process::{PAYMENT, Process, output, program};
use crate::harness::remote_acquirer::{self, SECRET};

const OTHER: &str = "another-secret-that-nobody-else-knows";

/// The program ends at once with exit code 1, and this is its last line.
#[track_caller]
fn refuses(command: &mut Command, line: &str) {
    let (code, stdout, stderr) = output(command);
    assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
    assert_eq!(stderr.lines().last(), Some(&*format!("error: {line}")), "{stderr}");
}

fn is_empty(folder: &tempfile::TempDir) -> bool {
    std::fs::read_dir(folder.path()).unwrap().next().is_none()
}

/// A server that gives every request the same answer.
fn somebody(answer: &'static str) -> SocketAddr {
    use std::io::{Read, Write};

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address
}

#[test]
fn a_payment_goes_to_the_acquirer_and_its_card_into_no_log() {
    let (code, acquirer) =
        ("7391", Process::start(remote_acquirer::acquirer("127.0.0.1:0").env("CARD_PAYMENTS_LOG", "trace")));
    let data = tempfile::tempdir().unwrap();
    let mut command = program(data.path());
    let server = Process::start(
        remote_acquirer::use_acquirer(&mut command, acquirer.address).env("CARD_PAYMENTS_LOG", "trace"),
    );
    let (secret, _) = server.keys();
    let payment = PAYMENT
        .replace("card[cvc]=123", &format!("card[cvc]={code}"))
        .replace("4200000000000000", "372000000000000");
    server.ask("POST", "/1/charges", Some(&secret), &payment).ok(201);
    let declined = payment.replace("372000000000000", "371000000000001");
    assert_eq!(server.ask("POST", "/1/charges", Some(&secret), &declined).status, 400);
    let logs = [server.stopped(), acquirer.stopped()];
    assert!(logs[0].contains("the acquirer answered"), "{}", logs[0]);
    for log in logs {
        // The code alone may be part of a time or a port.
        let code = format!("cvc\\\":\\\"{code}");
        for hidden in ["372000000000000", "371000000000001", &code, SECRET] {
            assert!(!log.contains(hidden), "{hidden} is told");
        }
    }
}

#[test]
fn a_server_that_does_not_reach_its_acquirer_starts_and_is_ready_once_it_has() {
    let acquirer = remote_acquirer::process();
    let address = acquirer.address;
    acquirer.stopped();
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(remote_acquirer::use_acquirer(&mut program(data.path()), address));
    let (secret, _) = server.keys();
    assert_eq!(server.ask("GET", "/readyz", None, "").status, 503);
    assert_eq!(server.pay(&secret).status, 503, "nobody says what card it is");
    assert_eq!(server.ask("GET", "/1/charges", Some(&secret), "").json()["count"], 0);
    let acquirer = Process::start(&mut remote_acquirer::acquirer(&address.to_string()));
    assert_eq!(server.ask("GET", "/readyz", None, "").status, 200);
    server.pay(&secret).ok(201);
    // From now on its silence is that of payments, not of the server.
    acquirer.stopped();
    assert_eq!(server.ask("GET", "/readyz", None, "").status, 200);
    let log = server.stopped();
    assert!(log.contains("this server is not ready until its acquirer answers"), "{log}");
}

#[test]
fn an_acquirer_that_comes_back_in_the_other_environment_is_given_no_payment() {
    let acquirer = remote_acquirer::process();
    let address = acquirer.address;
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(remote_acquirer::use_acquirer(&mut program(data.path()), address));
    let (secret, _) = server.keys();
    server.pay(&secret).ok(201);
    acquirer.stopped();
    let mut live = remote_acquirer::acquirer(&address.to_string());
    let live = Process::start(live.env("CARD_PAYMENTS_ENVIRONMENT", "live"));
    assert_eq!(server.pay(&secret).status, 502, "its card is known");
    let another = PAYMENT.replace("4200000000000000", "372000000000000");
    assert_eq!(server.ask("POST", "/1/charges", Some(&secret), &another).status, 503);
    live.stopped();
    let _back = Process::start(&mut remote_acquirer::acquirer(&address.to_string()));
    server.pay(&secret).ok(201);
    let log = server.stopped();
    assert!(log.contains("belongs to the live environment"), "{log}");
}

#[test]
fn a_server_whose_time_stands_still_signs_at_the_time_of_its_machine() {
    let acquirer = remote_acquirer::process();
    let data = tempfile::tempdir().unwrap();
    let mut command = program(data.path());
    let server = Process::start(
        remote_acquirer::use_acquirer(&mut command, acquirer.address)
            .env("CARD_PAYMENTS_SEED", "a-standing-clock"),
    );
    server.pay(&server.keys().0).ok(201);
    server.stopped();
    acquirer.stopped();
}

#[test]
fn a_host_that_has_no_address_is_told_as_such() {
    let data = tempfile::tempdir().unwrap();
    // No resolver looks up a label that is too long.
    let address = format!("http://{}", "a".repeat(64));
    let mut command = program(data.path());
    command.env("CARD_PAYMENTS_ACQUIRER", address).env("CARD_PAYMENTS_ACQUIRER_SECRET", SECRET);
    let server = Process::start(&mut command);
    assert_eq!(server.ask("GET", "/readyz", None, "").status, 503);
    let log = server.stopped();
    assert!(log.contains("cannot be reached: The host name could not be resolved"), "{log}");
}

#[test]
fn a_server_refuses_an_acquirer_that_is_not_its_own() {
    let acquirer = remote_acquirer::process();
    let data = tempfile::tempdir().unwrap();
    let serve = |address: SocketAddr| {
        let mut command = program(data.path());
        remote_acquirer::use_acquirer(&mut command, address).env("CARD_PAYMENTS_LOG", "error");
        command
    };
    let message = |address: SocketAddr, what: &str| format!("the acquirer at http://{address} {what}");
    let at = acquirer.address;
    let unknown = "does not have the secret in CARD_PAYMENTS_ACQUIRER_SECRET";
    refuses(serve(at).env("CARD_PAYMENTS_ACQUIRER_SECRET", OTHER), &message(at, unknown));
    let live = OperatorKeys::generate("live").to_text();
    let mut command = serve(at);
    command.env("CARD_PAYMENTS_ENVIRONMENT", "live").env("CARD_PAYMENTS_VAULT_KEY", live.expose());
    refuses(&mut command, &message(at, "belongs to the test environment"));
    acquirer.stopped();
    for (answer, what) in [
        ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", "does not speak the acquirer protocol"),
        (
            "HTTP/1.1 200 OK\r\nacquirer-protocol: 2\r\ncontent-length: 2\r\n\r\n{}",
            "speaks version 2 of the protocol, and this server version 1",
        ),
        (
            "HTTP/1.1 200 OK\r\nacquirer-protocol: 1\r\ncontent-length: 2\r\n\r\n{}",
            "does not speak the acquirer protocol",
        ),
        (
            "HTTP/1.1 200 OK\r\nacquirer-protocol: 1\r\nacquirer-environment: live\r\ncontent-length: 2\r\n\r\n{}",
            "belongs to the live environment",
        ),
        (
            "HTTP/1.1 200 OK\r\nacquirer-protocol: 1\r\nacquirer-environment: test\r\nacquirer-signature: v1,AAAA\r\ncontent-length: 2\r\n\r\n{}",
            "does not sign its answers with the secret in CARD_PAYMENTS_ACQUIRER_SECRET",
        ),
        (
            "HTTP/1.1 401 Unauthorized\r\nacquirer-protocol: 1\r\nacquirer-environment: test\r\ncontent-length: 17\r\n\r\n{\"error\":\"clock\"}",
            "has a clock that differs from this machine's by more than a minute",
        ),
    ] {
        let somebody = somebody(answer);
        refuses(&mut serve(somebody), &message(somebody, what));
    }
    assert!(is_empty(&data), "nothing was made");
}

#[test]
fn a_wrong_configuration_of_either_side_is_one_line() {
    let data = tempfile::tempdir().unwrap();
    let serve = |variables: &[(&str, &str)]| {
        let mut command = program(data.path());
        command.env("CARD_PAYMENTS_LOG", "error");
        command.envs(variables.iter().map(|(name, value)| (format!("CARD_PAYMENTS_{name}"), value)));
        command
    };
    let bank = ("ACQUIRER", "https://bank.example.com");
    let shape = "must be https://HOST, with an optional port and path";
    let secrets = "must be a secret of 32 to 255 visible characters, or two of them with a comma between";
    let key = OperatorKeys::generate("live").to_text();
    let live = [("ENVIRONMENT", "live"), ("VAULT_KEY", key.expose()), ("ACQUIRER_SECRET", SECRET)];
    for (variables, line) in [
        (vec![bank], "CARD_PAYMENTS_ACQUIRER_SECRET is required with CARD_PAYMENTS_ACQUIRER".to_owned()),
        (vec![bank, ("ACQUIRER_SECRET", "short")], format!("CARD_PAYMENTS_ACQUIRER_SECRET {secrets}")),
        (vec![("ACQUIRER", "ftp://bank.example.com")], format!("CARD_PAYMENTS_ACQUIRER {shape}")),
        (vec![("ACQUIRER", "https://me@bank.example.com")], format!("CARD_PAYMENTS_ACQUIRER {shape}")),
        (
            [&live[..], &[("ACQUIRER", "http://10.0.0.1:8090")]].concat(),
            "CARD_PAYMENTS_ACQUIRER must be an https address: in live only an acquirer on this machine may be called over http".to_owned(),
        ),
    ] {
        refuses(&mut serve(&variables), &line);
    }
    assert!(is_empty(&data), "nothing was made");

    let mut acquirer = remote_acquirer::acquirer("127.0.0.1:0");
    refuses(
        acquirer.env_remove("CARD_PAYMENTS_ACQUIRER_SECRET"),
        "CARD_PAYMENTS_ACQUIRER_SECRET is required",
    );
    refuses(
        acquirer.env("CARD_PAYMENTS_ACQUIRER_SECRET", "short"),
        &format!("CARD_PAYMENTS_ACQUIRER_SECRET {secrets}"),
    );
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listener.local_addr().unwrap().to_string();
    refuses(
        &mut remote_acquirer::acquirer(&taken),
        &format!("cannot listen on {taken}: Address already in use (os error 98)"),
    );
}

#[test]
fn a_secret_is_changed_without_a_failed_payment() {
    let both = format!("{OTHER},{SECRET}");
    let acquirer =
        Process::start(remote_acquirer::acquirer("127.0.0.1:0").env("CARD_PAYMENTS_ACQUIRER_SECRET", &both));
    let data = tempfile::tempdir().unwrap();
    for secret in [SECRET, OTHER, &format!("{SECRET},{OTHER}")] {
        let mut command = program(data.path());
        remote_acquirer::use_acquirer(&mut command, acquirer.address)
            .env("CARD_PAYMENTS_ACQUIRER_SECRET", secret);
        let server = Process::start(&mut command);
        server.pay(&server.keys().0).ok(201);
        server.stopped();
    }
    acquirer.stopped();
}

#[test]
fn a_live_server_pays_through_a_live_acquirer_of_its_own_machine() {
    let live = |command: &mut Command| {
        command.env("CARD_PAYMENTS_ENVIRONMENT", "live");
    };
    let mut command = remote_acquirer::acquirer("127.0.0.1:0");
    live(&mut command);
    let acquirer = Process::start(&mut command);
    let (data, key) = (tempfile::tempdir().unwrap(), OperatorKeys::generate("live").to_text());
    let of_live = || {
        let mut command = program(data.path());
        live(remote_acquirer::use_acquirer(&mut command, acquirer.address));
        command.env("CARD_PAYMENTS_VAULT_KEY", key.expose());
        command
    };
    let create = ["account", "create", "--business-name", "Shop", "--email", "shop@example.com", "--json"];
    let (_, made, _) = output(of_live().args(create));
    let made: serde_json::Value = serde_json::from_str(&made).unwrap();
    let secret = made["secret_key"].as_str().unwrap();
    let server = Process::start(&mut of_live());
    let real = PAYMENT.replace("4200000000000000", "4012888888881881");
    server.ask("POST", "/1/charges", Some(secret), &real).ok(201);
    server.stopped();
    let log = acquirer.stopped();
    assert!(log.contains("no money moves"), "{log}");
}
