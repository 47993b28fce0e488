//! `card-payments mcp`: tools for assistants, by the real program, which speaks JSON-RPC line by line.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::answers::operations;
use crate::harness::process::{Process, free_address, program};
use crate::harness::{Installed, fields, operated, token};

const NUMBERS: [&str; 3] = ["4200000000000000", "4100000000000001", "4200300000000012"];

/// A session of a client, and all that it has read.
struct Session {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    read: String,
    calls: u64,
}

impl Session {
    fn start(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output, read: String::new(), calls: 0 }
    }

    /// Starts it at a server, and opens the session.
    fn open(installed: &Installed, server: &Process) -> Self {
        let mut session =
            Self::start(installed.program().args(["mcp", "--server", &format!("http://{}", server.address)]));
        let begun = session.request("initialize", &json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
        }));
        assert_eq!(begun["result"]["protocolVersion"], "2025-06-18", "{begun}");
        assert_eq!(begun["result"]["serverInfo"]["name"], "card-payments");
        session.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        session
    }

    fn send(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
    }

    fn line(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        self.read.push_str(&line);
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("not of the protocol: {line:?}"))
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.calls += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.calls, "method": method, "params": params });
        self.send(&request.to_string());
        let answer = self.line();
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(self.calls)), "{answer}");
        answer
    }

    /// Calls a tool. Returns its structured answer, and whether it is an error.
    fn call(&mut self, tool: &str, arguments: &Value) -> (Value, bool) {
        let answer = self.request("tools/call", &json!({ "name": tool, "arguments": arguments }));
        let result = &answer["result"];
        let structured = result["structuredContent"].clone();
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), structured, "as text it is the same");
        (structured, result["isError"] == true)
    }

    #[track_caller]
    fn ok(&mut self, tool: &str, arguments: &Value) -> Value {
        let (answer, is_error) = self.call(tool, arguments);
        assert!(!is_error, "{tool}: {answer}");
        answer
    }

    #[track_caller]
    fn refused(&mut self, tool: &str, arguments: &Value) -> Value {
        let (answer, is_error) = self.call(tool, arguments);
        assert!(is_error, "{tool}: {answer}");
        answer
    }

    /// Ends its input. Returns all that it printed: the protocol, and stderr, after checking that it ends well.
    fn ends(mut self) -> String {
        drop(self.input.take());
        self.output.read_to_string(&mut self.read).unwrap();
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!((self.child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""));
        self.read
    }
}

fn messages(refusal: &Value) -> Vec<&str> {
    let messages = refusal["messages"].as_array().unwrap_or_else(|| panic!("no messages: {refusal}"));
    messages.iter().map(|message| message["message"].as_str().unwrap()).collect()
}

fn count(server: &Process, key: &str, list: &str) -> Value {
    server.ask("GET", list, Some(key), "").json()["pagination"]["count"].clone()
}

operated! {
    async fn an_assistant_pays_refunds_disputes_moves_the_clock_and_sees_it_all(installed) {
        let server = installed.serve();
        let (key, publishable) = server.keys();
        let mut session = Session::open(installed, &server);
        let charge = session.ok("create_charge", &json!({ "amount": 1_000, "idempotency_key": "pay" }))["response"].clone();
        assert_eq!((&charge["amount"], &charge["currency"], &charge["captured"]), (&json!(1_000), &json!("AUD"), &json!(true)));
        let named = json!({ "charge_token": token(&charge) });
        let refund = json!({ "charge_token": token(&charge), "amount": 100, "idempotency_key": "refund" });
        assert_eq!(session.ok("create_refund", &refund)["response"]["status_message"], "Pending");
        let dispute = json!({ "charge_token": token(&charge), "amount": 300, "idempotency_key": "dispute" });
        let dispute = session.ok("create_sandbox_dispute", &dispute)["response"].clone();
        let clock = session.ok("move_clock", &json!({ "advance": "10d", "idempotency_key": "move" }))["response"].clone();
        assert_eq!(clock["complete"], true);
        assert_eq!(server.ask("GET", "/1/sandbox/clock", Some(&key), "").ok(200)["now"].as_str().unwrap()[..10],
            clock["now"].as_str().unwrap()[..10]);

        let shown = session.ok("get_charge", &named);
        assert_eq!(shown["response"], server.ask("GET", &format!("/1/charges/{}", token(&charge)), Some(&key), "").ok(200));
        assert_eq!(session.ok("get_balance", &json!({}))["response"], server.ask("GET", "/1/balance", Some(&key), "").ok(200));
        let events = session.ok("list_events", &json!({ "per_page": 50 }));
        let types: BTreeSet<_> = events["response"].as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap()).collect();
        for expected in ["charge.captured", "refund.created", "refund.succeeded", "dispute.evidence_required"] {
            assert!(types.contains(expected), "{expected} is not in {types:?}");
        }
        let about = events["response"].as_array().unwrap().iter().find(|event| event["type"] == "dispute.evidence_required");
        assert_eq!(about.unwrap()["data"]["token"], dispute["token"]);
        assert_eq!(session.ok("list_events", &json!({ "page": 2, "per_page": 1 }))["response"][0], events["response"][1]);
        let disputed = json!({ "after": "0", "about": token(&dispute), "count": 1, "wait": 30, "type": null });
        assert_eq!(session.ok("list_events", &disputed)["response"][0]["data"]["token"], dispute["token"]);
        let reads = json!({ "method": "GET", "route": "/1/charges/{charge_token}", "token": token(&charge), "wait": 30 });
        assert_eq!(session.ok("list_sandbox_requests", &reads)["pagination"], json!({
            "current": 1, "previous": null, "next": null, "per_page": 10, "pages": 1, "count": 2,
        }));
        let requests = session.ok("list_sandbox_requests", &json!({ "per_page": 50 }));
        let paid = requests["response"].as_array().unwrap().iter().find(|request| request["idempotency_key"] == "pay").unwrap();
        assert_eq!((&paid["path"], &paid["status"]), (&json!("/1/charges"), &json!(201)));
        let one = session.ok("get_sandbox_request", &json!({ "request_id": paid["request_id"] }));
        assert_eq!(&one["response"], paid);
        assert_eq!(one["response"]["parameters"]["amount"], 1_000);

        let printed = session.ends();
        let log = server.stopped();
        for secret in NUMBERS.into_iter().chain([key.as_str(), &publishable]) {
            assert!(!printed.contains(secret) && !log.contains(secret), "a secret is told");
        }
        assert_eq!(installed.run(&["ledger", "verify"]).0, Some(0));
    }

    async fn a_call_that_is_made_twice_has_one_effect_and_one_answer(installed) {
        let server = installed.serve();
        let (key, _) = server.keys();
        let mut session = Session::open(installed, &server);
        let mut again = Session::open(installed, &server);
        let pay = json!({ "amount": 500, "idempotency_key": "order-1" });
        let charge = session.ok("create_charge", &pay);
        let charged = token(&charge["response"]).to_owned();
        let decline = json!({ "amount": 500, "card": "declined", "idempotency_key": "order-2" });
        let declined = session.refused("create_charge", &decline);
        let mut calls = vec![("create_charge", pay, charge)];
        for (tool, arguments) in [
            ("create_refund", json!({ "charge_token": charged, "amount": 100, "idempotency_key": "order-3" })),
            ("create_sandbox_dispute", json!({ "charge_token": charged, "amount": 100, "idempotency_key": "order-4" })),
            ("move_clock", json!({ "advance": "1d", "idempotency_key": "order-5" })),
        ] {
            let first = session.ok(tool, &arguments);
            calls.push((tool, arguments, first));
        }
        let state = || (
            count(&server, &key, "/1/charges"), count(&server, &key, "/1/events"), count(&server, &key, "/1/refunds"),
            server.ask("GET", "/1/sandbox/clock", Some(&key), "").ok(200)["offset_seconds"].clone(),
        );
        let before = state();
        for (tool, arguments, first) in &calls {
            assert_eq!(session.ok(tool, arguments), *first, "{tool}");
            assert_eq!(again.ok(tool, arguments), *first, "{tool}, of another process");
        }
        let repeated = again.refused("create_charge", &decline);
        assert_eq!((&repeated["error"], &repeated["charge_token"]), (&declined["error"], &declined["charge_token"]));
        let other = session.refused("create_charge", &json!({ "amount": 501, "idempotency_key": "order-1" }));
        assert_eq!((&other["error"], &other["status"]), (&json!("idempotency_key_reused"), &json!(422)));
        assert_eq!(state(), before);
        session.ok("create_charge", &json!({ "amount": 500, "idempotency_key": "order-6" }));
        assert_ne!(state(), before, "another key is another charge");
        session.ends();
        again.ends();
        server.stopped();
    }

    async fn a_refusal_of_the_api_is_the_tools_error_in_the_apis_words(installed) {
        let server = installed.serve();
        let (key, _) = server.keys();
        let mut session = Session::open(installed, &server);
        let declined = session.refused("create_charge", &json!({ "amount": 500, "card": "insufficient_funds", "idempotency_key": "a" }));
        assert_eq!((&declined["error"], &declined["status"]), (&json!("insufficient_funds"), &json!(400)));
        assert!(declined["error_description"].is_string() && declined["charge_token"].is_string(), "{declined}");
        let logged = session.ok("get_sandbox_request", &json!({ "request_id": declined["request_id"] }));
        assert_eq!(logged["response"]["error"]["error"], "insufficient_funds");
        let before = (count(&server, &key, "/1/charges"), count(&server, &key, "/1/events"));
        let wrong = session.refused("create_charge", &json!({ "amount": 1, "currency": "XXX", "email": "nobody", "idempotency_key": "b" }));
        assert_eq!((&wrong["error"], &wrong["status"]), (&json!("invalid_resource"), &json!(422)));
        assert!(messages(&wrong).len() >= 2 && wrong["request_id"].is_string(), "{wrong}");
        let unknown = json!({ "charge_token": "ch_AZqYv3rVcBKUQ1mHn7tKRw" });
        assert_eq!(session.refused("get_charge", &unknown)["status"], 404);
        let unknown = json!({ "charge_token": "ch_AZqYv3rVcBKUQ1mHn7tKRw", "idempotency_key": "c" });
        assert_eq!(session.refused("create_refund", &unknown)["status"], 404);
        assert_eq!(session.refused("create_sandbox_dispute", &unknown)["error"], "invalid_resource");
        let nowhere = session.refused("move_clock", &json!({ "advance": "soon", "idempotency_key": "d" }));
        assert_eq!(nowhere["error"], "invalid_resource");
        assert_eq!((count(&server, &key, "/1/charges"), count(&server, &key, "/1/events")), before);
        session.ends();
        server.stopped();
    }

    async fn arguments_that_do_not_fit_are_told_all_at_once_and_not_repeated(installed) {
        let server = installed.serve();
        let (key, _) = server.keys();
        let mut session = Session::open(installed, &server);
        let number = NUMBERS[0];
        for (tool, arguments, expected) in [
            ("create_charge", json!({}), &["amount is required", "idempotency_key is required"][..]),
            ("create_charge", json!({ "amount": number, "capture": "no", "idempotency_key": 1 }), &[
                "amount must be of type \"integer\"", "capture must be of type \"boolean\"", "idempotency_key must be of type \"string\"",
            ]),
            ("create_charge", json!({ "amount": 1.5, "idempotency_key": "a" }), &["amount must be of type \"integer\""]),
            ("create_charge", json!({ "amount": 400, "card": number, "idempotency_key": "a" }), &[
                "card must be one of accepted, mastercard, american_express, foreign, declined, insufficient_funds, disputed, refunds_fail",
            ]),
            ("create_charge", json!({ "amount": 400, "idempotency_key": "" }), &["idempotency_key must be 1 to 255 visible ASCII characters"]),
            ("create_charge", json!({ "amount": 400, "idempotency_key": "a b" }), &["idempotency_key must be 1 to 255 visible ASCII characters"]),
            ("get_balance", json!({ number: number }), &["an argument is unknown: there are []"]),
            ("get_charge", json!({ "charge_token": "../balance" }), &["charge_token is not one"]),
            ("get_charge", json!({ "charge_token": "" }), &["charge_token is not one"]),
            ("get_sandbox_request", json!({ "request_id": "a?page=2" }), &["request_id is not one"]),
            ("create_refund", json!({ "charge_token": "..", "idempotency_key": "a" }), &["charge_token is not one"]),
            ("list_events", json!({ "wait": "30", "route": "/1/charges" }), &[
                "wait must be of type \"integer\"",
                "an argument is unknown: there are [type, about, after, count, wait, page, per_page]",
            ]),
        ] {
            let refused = session.refused(tool, &arguments);
            assert_eq!(messages(&refused), expected, "{tool} {arguments}");
            assert_eq!(refused["error"], "invalid_arguments");
        }
        for (tool, arguments) in [
            ("list_events", json!({ "about": number, "wait": 31 })),
            ("list_sandbox_requests", json!({ "token": number, "wait": 31 })),
        ] {
            let refused = session.refused(tool, &arguments);
            assert_eq!((&refused["error"], messages(&refused).len()), (&json!("invalid_resource"), 2), "{refused}");
        }
        let missing = session.request("tools/call", &json!({ "name": number, "arguments": {} }));
        assert_eq!(missing["error"], json!({ "code": -32602, "message": "there is no such tool" }));
        assert_eq!(count(&server, &key, "/1/charges"), 0);
        let printed = session.ends();
        let log = server.stopped();
        assert!(NUMBERS.iter().all(|number| !printed.contains(number) && !log.contains(number)), "{printed}");
    }

    async fn a_server_that_is_gone_is_told_and_the_session_goes_on(installed) {
        let address = free_address();
        let serve = || Process::start(installed.program().env("CARD_PAYMENTS_LISTEN", address.to_string()));
        let server = serve();
        let mut session = Session::open(installed, &server);
        server.stopped();
        let gone = format!("http://{address} does not answer: The connection could not be made or broke before the answer");
        let pay = json!({ "amount": 500, "idempotency_key": "order-1" });
        assert_eq!(session.refused("create_charge", &pay)["error_description"], gone);
        let server = serve();
        session.ok("create_charge", &pay);
        assert_eq!(count(&server, &server.keys().0, "/1/charges"), 1);
        session.ends();
        server.stopped();
        installed.refuses(&["mcp", "--server", &format!("http://{address}")], &gone);
        installed.refuses(&["mcp"], "CARD_PAYMENTS_LISTEN names no port: name the server by --server");
    }

    async fn who_cannot_use_tools_is_told_why(installed) {
        let server = installed.serve();
        let address = format!("http://{}", server.address);
        installed.refuses(
            &["mcp", "--server", &address, "--key", "nobody-has-this-key"],
            "Not authorised. (Check API Key) (401 unauthorized)",
        );
        for wrong in [&["mcp", "--server", "nowhere"][..], &["mcp", "tools"], &["mcp", "--json"]] {
            let (code, stdout, stderr) = installed.run(wrong);
            assert!(code == Some(2) && stdout.is_empty() && !stderr.is_empty(), "{wrong:?}: {stderr}");
        }
        server.stopped();
    }

    async fn no_tools_are_offered_where_cards_are_real(installed) {
        installed.with("ENVIRONMENT", "live");
        installed.with("ACQUIRER", "simulator");
        installed.with("VAULT_KEY", "own:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
        let made =
            installed.records(&["account", "create", "--business-name", "Shop", "--email", "shop@example.com"]).remove(0);
        let server = installed.serve();
        let address = format!("http://{}", server.address);
        installed.with("KEY", made["secret_key"].as_str().unwrap());
        installed.refuses(
            &["mcp", "--server", &address],
            &format!("{address} has no sandbox: no tools are offered where cards are real"),
        );
        server.stopped();
    }
}

#[test]
fn the_list_names_operations_of_the_document_with_what_they_take_and_do() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    let mut session =
        Session::start(program(data.path()).args(["mcp", "--server", &format!("http://{}", server.address)]));
    session.request("initialize", &json!({
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
    }));
    let listed = session.request("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let known: BTreeSet<_> = operations()
        .iter()
        .map(|operation| operation.described["operationId"].as_str().unwrap().to_owned())
        .collect();
    let page = include_str!("../../../docs/tools.md");
    assert_eq!(tools.len(), 9);
    for tool in tools {
        let (name, schema) = (tool["name"].as_str().unwrap(), &tool["inputSchema"]);
        assert!(known.contains(name), "{name} is no operation");
        assert!(page.contains(&format!("| `{name}` |")), "docs/tools.md does not name {name}");
        assert!(tool["description"].as_str().unwrap().ends_with('.'), "{name}");
        assert_eq!(
            (&schema["type"], &schema["additionalProperties"]),
            (&json!("object"), &json!(false)),
            "{name}"
        );
        for (parameter, about) in schema["properties"].as_object().into_iter().flatten() {
            assert!(
                about["type"] != Value::Null && about["description"].is_string(),
                "{name} {parameter}: {about}"
            );
            assert!(about.get("enum").is_none_or(Value::is_array), "{name} {parameter}: {about}");
        }
        let reads = name.starts_with("get_") || name.starts_with("list_");
        assert_eq!(
            tool["annotations"],
            json!({
                "readOnlyHint": reads, "destructiveHint": name == "move_clock", "idempotentHint": true, "openWorldHint": false,
            }),
            "{name}"
        );
        let required: Vec<_> = schema["required"].as_array().into_iter().flatten().collect();
        assert_eq!(required.contains(&&json!("idempotency_key")), !reads, "{name}");
    }
    session.ends();
    server.stopped();
}

#[test]
fn a_line_that_is_no_message_is_answered_and_the_end_of_input_ends_it() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    let address = format!("http://{}", server.address);
    let start = || Session::start(program(data.path()).args(["mcp", "--server", &address]));
    assert_eq!(start().ends(), "", "before a session, too");
    let mut session = start();
    let not_json = |answer: &Value| {
        assert_eq!(answer["error"], json!({ "code": -32700, "message": "the line is not JSON" }));
        assert_eq!(answer.get("id"), None);
    };
    session.send("{\"jsonrpc\":");
    not_json(&session.line());
    session.send("");
    session.request("initialize", &json!({
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
    }));
    session.send("no JSON: 4200000000000000");
    not_json(&session.line());
    session.send("{\"jsonrpc\":\"2.0\",\"number\":\"4200000000000000\"}");
    let refused = session.line();
    assert_eq!((&refused["error"]["code"], refused.get("id")), (&json!(-32600), None));
    session.send("[{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\"},{\"jsonrpc\":\"1.0\",\"id\":5}]");
    assert_eq!(session.line(), json!({ "jsonrpc": "2.0", "id": "a", "result": {} }));
    let refused = session.line();
    assert_eq!((&refused["error"]["code"], &refused["id"]), (&json!(-32600), &json!(5)));
    let balance = session.ok("get_balance", &json!({}));
    assert_eq!(fields(&balance), ["response"]);
    session.send("the last one");
    let printed = session.ends();
    assert!(!printed.contains("4200000000000000"));
    not_json(&serde_json::from_str(printed.lines().last().unwrap()).unwrap());
    let mut astray = start();
    astray.send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    let mut stderr = String::new();
    astray.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(astray.child.wait().unwrap().code(), Some(1));
    assert_eq!(stderr, "error: the client's first message does not begin a session\n");
    server.stopped();
}

#[test]
fn a_client_of_the_newest_version_begins_with_any_request() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    let mut session =
        Session::start(program(data.path()).args(["mcp", "--server", &format!("http://{}", server.address)]));
    let meta = |version: &str| {
        json!({
            "io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {},
        })
    };
    for (params, expected) in [
        (json!({}), json!(-32602)),
        (json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } }), json!(-32602)),
        (json!({ "_meta": meta("1999-01-01") }), json!(-32022)),
    ] {
        let refused = session.request("tools/list", &params);
        assert_eq!(refused["error"]["code"], expected, "{refused}");
    }
    assert_eq!(session.request("ping", &json!({}))["result"], json!({}));
    let versions = json!(["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]);
    let refused = session.request("server/discover", &json!({ "_meta": meta("1999-01-01") }));
    assert_eq!(refused["error"]["data"], json!({ "supported": versions, "requested": "1999-01-01" }));
    let found = session.request("server/discover", &json!({ "_meta": meta("2026-07-28") }))["result"].clone();
    assert_eq!((&found["supportedVersions"], &found["resultType"]), (&versions, &json!("complete")));
    assert_eq!(found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "card-payments");
    assert_eq!(found["capabilities"], json!({ "tools": {} }));
    let listed = session.request("tools/list", &json!({ "_meta": meta("2026-07-28") }))["result"].clone();
    assert_eq!((&listed["resultType"], &listed["cacheScope"]), (&json!("complete"), &json!("private")));
    let call = json!({ "_meta": meta("2026-07-28"), "name": "get_balance" });
    let called = session.request("tools/call", &call)["result"].clone();
    assert_eq!((&called["resultType"], &called["isError"]), (&json!("complete"), &json!(false)));
    let unknown = session.request("resources/list", &json!({ "_meta": meta("2026-07-28") }));
    assert_eq!(unknown["error"]["code"], -32601);
    session.ends();
    server.stopped();
}

#[test]
fn a_call_that_waits_delays_no_other_and_can_be_cancelled() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    let mut session =
        Session::start(program(data.path()).args(["mcp", "--server", &format!("http://{}", server.address)]));
    // A version that nobody has yet is answered with the newest that begins so.
    let begun = session.request("initialize", &json!({
        "protocolVersion": "2099-01-01", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
    }));
    assert_eq!(begun["result"]["protocolVersion"], "2025-11-25");
    let wait = json!({ "name": "list_events", "arguments": { "type": "refund.succeeded", "after": "0", "wait": 30 } });
    session.send(
        &json!({ "jsonrpc": "2.0", "id": "waits", "method": "tools/call", "params": wait }).to_string(),
    );
    session.ok("get_balance", &json!({}));
    let cancelled = json!({ "requestId": "waits", "reason": "no longer wanted" });
    let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled });
    session.send(&cancelled.to_string());
    // An answer to a request that nobody made is passed over.
    session.send("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}");
    session.ok("get_balance", &json!({}));
    assert!(!session.ends().contains("waits"));
    server.stopped();
}
