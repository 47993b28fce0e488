//! `card-payments listen`: what happens in an account, as it happens, against real servers and receivers.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::process::{PAYMENT, Process, free_address, pause};
use crate::harness::{Behaviour, Database, Installed, Receiver, operated, token};

const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
/// A program that says nothing for so long says nothing any more.
const PATIENCE: Duration = Duration::from_mins(2);

/// The program, listening.
struct Listening {
    child: Child,
    stdout: mpsc::Receiver<String>,
    notices: mpsc::Receiver<String>,
    readers: Vec<JoinHandle<()>>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        // A failed test leaves no process behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines(stream: impl Read + Send + 'static) -> (mpsc::Receiver<String>, JoinHandle<()>) {
    let (sender, receiver) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        // The test may have ended.
        BufReader::new(stream).lines().map(Result::unwrap).for_each(|line| drop(sender.send(line)));
    });
    (receiver, reader)
}

impl Listening {
    /// It listens from now on.
    fn to(installed: &Installed, server: &Process, arguments: &[&str]) -> Self {
        let address = format!("http://{}", server.address);
        let listening =
            Self::start(installed.program().args(["listen", "--server", &address]).args(arguments));
        assert_eq!(listening.notice(), format!("Listening to the events of {address}"));
        listening
    }

    fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (stdout, events) = lines(child.stdout.take().unwrap());
        let (notices, others) = lines(child.stderr.take().unwrap());
        Self { child, stdout, notices, readers: vec![events, others] }
    }

    /// The next line about an event.
    #[track_caller]
    fn line(&self) -> String {
        self.stdout.recv_timeout(PATIENCE).expect("a line")
    }

    /// The next event in JSON.
    #[track_caller]
    fn event(&self) -> Value {
        serde_json::from_str(&self.line()).expect("an object")
    }

    /// The next line about anything else.
    #[track_caller]
    fn notice(&self) -> String {
        self.notices.recv_timeout(PATIENCE).expect("a notice")
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    /// Stops it. Returns its exit code, and the output that is not read yet.
    fn ended_by(mut self, signal: &str) -> (Option<i32>, Vec<String>) {
        self.signal(signal);
        let code = self.child.wait().unwrap().code();
        for reader in self.readers.drain(..) {
            reader.join().unwrap();
        }
        (code, self.stdout.iter().chain(self.notices.iter()).collect())
    }

    /// Ctrl-C, after which there is nothing more to say.
    fn ends(self) {
        assert_eq!(self.ended_by("-INT"), (Some(0), Vec::new()));
    }
}

/// What the server has recorded, oldest first.
fn recorded(server: &Process, key: &str) -> Vec<Value> {
    let mut events = server.ask("GET", "/1/events?per_page=500", Some(key), "").ok(200);
    events.as_array_mut().unwrap().reverse();
    serde_json::from_value(events).unwrap()
}

/// A server at an address to which another one with the same data comes back: a free one, which nobody takes meanwhile.
fn serve_at(installed: &Installed, address: SocketAddr) -> Process {
    Process::start(installed.program().env("CARD_PAYMENTS_LISTEN", address.to_string()))
}

operated! {
    async fn what_a_command_does_beside_the_server_is_shown_at_once(installed) {
        // A copy over PostgreSQL looks by itself after ten to fifteen seconds.
        if installed.database == Database::Postgres {
            return;
        }
        let server = installed.serve();
        let listening = Listening::to(installed, &server, &["--json"]);
        // It waits for the next event by now.
        pause(Duration::from_secs(1));
        let begun = Instant::now();
        installed.records(&["deposit", "create", &installed.account(), "--amount", "500"]);
        assert_eq!(listening.event()["event"]["type"], "deposit.created");
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}: a wait ends after 20 seconds", begun.elapsed());
        listening.ends();
        server.stopped();
    }

    async fn each_event_is_forwarded_once_in_order_and_signed_as_a_webhook_is(installed) {
        let (server, receiver, webhooks) = (installed.serve(), Receiver::start().await, Receiver::start().await);
        let (key, _) = server.keys();
        server.pay(&key).ok(201);
        server.ask("POST", "/1/webhook_endpoints", Some(&key), &format!("url={}", webhooks.url())).ok(201);
        let listening =
            Listening::to(installed, &server, &["--json", "--forward-to", &receiver.url(), "--sign-with", KEY]);
        assert_eq!(listening.notice(), format!("Forwarding to {}", receiver.url()));
        assert_eq!(listening.notice(), format!("Signing with {KEY}"));
        for _ in 0..3 {
            server.pay(&key).ok(201);
            server.ask("POST", "/1/sandbox/deposits", Some(&key), "amount=100").ok(201);
        }
        let printed: Vec<_> = (0..6).map(|_| listening.event()).collect();
        let events = recorded(&server, &key);
        assert_eq!(printed.iter().map(|printed| &printed["event"]).collect::<Vec<_>>(), events[1..].iter().collect::<Vec<_>>());
        let forwarded = receiver.received();
        assert_eq!(forwarded.len(), 6);
        let webhooks = webhooks.receives(6).await;
        for (request, printed) in forwarded.iter().zip(&printed) {
            assert_eq!(printed["forwarded"]["status"], 200);
            assert!(printed["forwarded"]["ms"].is_u64(), "{printed}");
            assert_eq!(request.headers["webhook-id"], token(&printed["event"]));
            assert_eq!(request.signatures(), [request.signature_under(KEY)]);
            let webhook = webhooks.iter().find(|it| it.headers["webhook-id"] == request.headers["webhook-id"]);
            let webhook = webhook.expect("the webhook of the same event");
            assert_eq!(webhook.body, request.body, "byte for byte");
            for name in ["content-type", "user-agent", "webhook-attempt"] {
                assert_eq!(webhook.headers[name], request.headers[name]);
            }
        }
        listening.ends();
        server.stopped();
    }

    async fn no_event_is_lost_or_told_twice_over_restarts_of_the_server(installed) {
        let (mut server, receiver) = (serve_at(installed, free_address()), Receiver::start().await);
        let (key, address) = (server.keys().0, server.address);
        let listening = Listening::to(installed, &server, &["--json", "--forward-to", &receiver.url()]);
        let mut printed = Vec::new();
        for round in 0..3 {
            for _ in 0..4 {
                server.pay(&key).ok(201);
            }
            // Some are delivered before the server ends, others only recorded.
            printed.push(listening.event());
            if round == 0 {
                server.stopped();
            } else {
                server.killed();
            }
            server = serve_at(installed, address);
            server.pay(&key).ok(201);
        }
        printed.extend((printed.len()..15).map(|_| listening.event()));
        let printed: Vec<_> = printed.iter().map(|printed| printed["event"].clone()).collect();
        assert_eq!(printed, recorded(&server, &key));
        assert_eq!(receiver.received().len(), 15);
        // A server that is gone for long is waited for.
        listening.notices.try_iter().for_each(drop);
        server.stopped();
        let waits = format!("http://{address} does not answer: ");
        while !listening.notice().starts_with(&waits) {}
        let server = serve_at(installed, address);
        while listening.notice() != format!("http://{address} answers again") {}
        server.pay(&key).ok(201);
        assert_eq!(listening.event()["event"], recorded(&server, &key)[15]);
        assert_eq!(listening.ended_by("-INT").0, Some(0));
        server.stopped();
    }

    async fn a_receiver_that_is_down_or_refuses_is_told_of_and_not_asked_again(installed) {
        let (server, receiver) = (installed.serve(), Receiver::on(&free_address().to_string()).await);
        let (key, _) = server.keys();
        let listening = Listening::to(installed, &server, &["--json", "--forward-to", &receiver.url()]);
        listening.notice();
        assert!(listening.notice().starts_with("Signing with whsec_"));
        for (behaviour, forwarded) in [
            (Behaviour::Status(500), json!({ "status": 500 })),
            (Behaviour::Reset, json!({ "error": "connection_failed" })),
            (Behaviour::Redirect("http://127.0.0.1:9/".into()), json!({ "status": 302 })),
            (Behaviour::Status(204), json!({ "status": 204 })),
        ] {
            receiver.behave(behaviour);
            server.pay(&key).ok(201);
            let printed = listening.event();
            for (name, value) in forwarded.as_object().unwrap() {
                assert_eq!(&printed["forwarded"][name], value, "{printed}");
            }
        }
        assert_eq!(receiver.received().len(), 5, "each was sent once, but the one on the kept connection that was reset");
        drop(receiver);
        server.pay(&key).ok(201);
        assert_eq!(listening.event()["forwarded"], json!({
            "error": "connection_failed",
            "error_description": "The connection could not be made or broke before the answer",
        }));
        listening.ends();
        server.stopped();
    }

    async fn without_a_receiver_events_are_printed_and_only_those_that_are_wanted(installed) {
        let server = installed.serve();
        let (key, _) = server.keys();
        let all = Listening::to(installed, &server, &[]);
        let some = Listening::to(installed, &server, &["--json", "--events", "deposit.created,recipient.*"]);
        server.pay(&key).ok(201);
        let recipient = "email=a@example.com&bank_account[name]=A&bank_account[bsb]=806015&bank_account[number]=1";
        server.ask("POST", "/1/recipients", Some(&key), recipient).ok(201);
        let deposit = server.ask("POST", "/1/sandbox/deposits", Some(&key), "amount=100").ok(201);
        let events = recorded(&server, &key);
        for event in &events {
            let text = |name: &str| event[name].as_str().unwrap().to_owned();
            let about = token(&event["data"]);
            let line = format!("{}  {}  {}  {about}", text("created_at"), text("type"), text("token"));
            assert_eq!(all.line(), line);
        }
        for event in &events[1..] {
            assert_eq!(some.event(), json!({ "event": event, "forwarded": null }));
        }
        assert_eq!(events[2]["data"]["token"], deposit["token"]);
        all.ends();
        assert_eq!(some.ended_by("-TERM"), (Some(0), Vec::new()));
        server.stopped();
    }

    // More at a time than a page holds.
    async fn events_that_happened_while_it_slept_are_told_as_well(installed) {
        let server = installed.serve();
        let (key, _) = server.keys();
        let listening = Listening::to(installed, &server, &["--json"]);
        listening.signal("-STOP");
        for _ in 0..230 {
            server.ask("POST", "/1/sandbox/deposits", Some(&key), "amount=100").ok(201);
        }
        listening.signal("-CONT");
        let printed: Vec<_> = (0..230).map(|_| listening.event()["event"].clone()).collect();
        assert_eq!(printed, recorded(&server, &key));
        listening.ends();
        server.stopped();
    }

    // A look at all of it takes more requests than the server answers at a time.
    async fn a_server_that_limits_how_often_it_is_asked_is_asked_as_often_as_it_says(installed) {
        let server = serve_at(installed, free_address());
        let (key, address) = (server.keys().0, server.address);
        for _ in 0..5 {
            server.pay(&key).ok(201);
        }
        let listening = Listening::to(installed, &server, &["--json"]);
        listening.signal("-STOP");
        for _ in 0..430 {
            server.ask("POST", "/1/sandbox/deposits", Some(&key), "amount=100").ok(201);
        }
        let events = recorded(&server, &key).split_off(5);
        server.stopped();
        installed.with("RATE_LIMIT", "1");
        let server = serve_at(installed, address);
        listening.signal("-CONT");
        let printed: Vec<_> = (0..430).map(|_| listening.event()["event"].clone()).collect();
        assert_eq!(printed, events);
        assert_eq!(listening.ended_by("-INT").0, Some(0));
        server.stopped();
    }

    async fn a_server_that_is_unavailable_is_waited_for(installed) {
        let server = serve_at(installed, free_address());
        let (key, address) = (server.keys().0, server.address);
        let listening = Listening::to(installed, &server, &["--json"]);
        server.stopped();
        let unavailable = Receiver::on(&address.to_string()).await;
        unavailable.behave(Behaviour::Status(503));
        unavailable.receives(2).await;
        drop(unavailable);
        let server = serve_at(installed, address);
        while listening.notice() != format!("http://{address} answers again") {}
        server.pay(&key).ok(201);
        assert_eq!(listening.event()["event"], recorded(&server, &key)[0]);
        assert_eq!(listening.ended_by("-TERM").0, Some(0));
        server.stopped();
    }

    async fn a_receiver_that_hangs_is_given_up_and_the_next_event_goes_on(installed) {
        let (server, receiver) = (installed.serve(), Receiver::start().await);
        let (key, _) = server.keys();
        let listening = Listening::to(installed, &server, &["--json", "--forward-to", &receiver.url()]);
        receiver.behave(Behaviour::Hang);
        server.pay(&key).ok(201);
        receiver.receives(1).await;
        receiver.behave(Behaviour::Status(204));
        server.pay(&key).ok(201);
        assert_eq!(listening.event()["forwarded"]["error"], "timeout");
        assert_eq!(listening.event()["forwarded"]["status"], 204);
        assert_eq!(receiver.received().len(), 2);
        assert_eq!(listening.ended_by("-INT").0, Some(0));
        server.stopped();
    }

    async fn types_take_blanks_and_a_receiver_with_a_port_needs_no_scheme(installed) {
        let server = installed.serve();
        let (key, _) = server.keys();
        let receiver = Receiver::start().await;
        let plain = receiver.url().strip_prefix("http://").unwrap().to_owned();
        let arguments = ["--json", "--events", "customer.created, charge.*,", "--forward-to", &plain];
        let listening = Listening::to(installed, &server, &arguments);
        assert_eq!(listening.notice(), format!("Forwarding to {}", receiver.url()));
        server.pay(&key).ok(201);
        assert_eq!(listening.event()["event"]["type"], "charge.captured");
        receiver.receives(1).await;
        assert_eq!(listening.ended_by("-INT").0, Some(0));
        server.stopped();
    }

    async fn who_cannot_listen_is_told_why(installed) {
        let server = serve_at(installed, free_address());
        let address = format!("http://{}", server.address);
        let wrong_key = ["listen", "--server", &address, "--key", "nobody-has-this-key"];
        installed.refuses(&wrong_key, "GET /1/events?per_page=1: 401 Not authorised. (Check API Key)");
        for wrong in [
            &["--forward-to", "localhost"][..], &["--forward-to", "ftp://localhost/"], &["--forward-to", ""],
            &["--events", "charge"], &["--events", "charges.*"], &["--events", "charge.captured,x"], &["--events", ""],
            &["--sign-with", "secret"], &["--sign-with", "whsec_?"], &["--server", "nowhere"], &["charge.captured"],
        ] {
            let (code, stdout, stderr) = installed.run(&[&["listen"][..], wrong].concat());
            assert!(code == Some(2) && stdout.is_empty() && !stderr.is_empty(), "{wrong:?}: {stderr}");
        }
        server.stopped();
        let gone = format!("{address} does not answer: The connection could not be made or broke before the answer");
        installed.refuses(&["listen", "--server", &address], &gone);
        installed.refuses(&["listen"], "CARD_PAYMENTS_LISTEN names no port: name the server by --server");
    }

    // Its variables are those of the server beside it.
    async fn it_finds_the_server_that_is_configured_and_the_key_that_is_named(installed) {
        let server = installed.serve();
        let (key, _) = server.keys();
        let own = server.ask("POST", "/1/sandbox/accounts", Some(&key), "").ok(201);
        let own = own["secret_key"].as_str().unwrap();
        let address = server.address.to_string();
        let mut command = installed.program();
        command.env("CARD_PAYMENTS_LISTEN", &address).env("CARD_PAYMENTS_KEY", own).args(["listen", "--json"]);
        let listening = Listening::start(&mut command);
        assert_eq!(listening.notice(), format!("Listening to the events of http://{address}"));
        server.pay(&key).ok(201);
        let charge = server.ask("POST", "/1/charges", Some(own), PAYMENT).ok(201);
        assert_eq!(listening.event()["event"]["data"]["token"], charge["token"], "of its own account alone");
        listening.ends();
        server.stopped();
    }
}
