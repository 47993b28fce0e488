//! `card-payments exec` and the fixtures of `serve`: a server that is ready for a test, and nothing of it afterwards.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::harness::process::{
    PAYMENT, Process, RawResponse, ask, free_address, output, pause, program, request, try_to_ask,
};

const TEA: &str = "plans:\n  tea: { name: Tea, amount: 1000, every: month }\n";
const SHOWS: &str = "echo $CARD_PAYMENTS_URL $CARD_PAYMENTS_SECRET_KEY $CARD_PAYMENTS_PUBLISHABLE_KEY";

/// `card-payments exec` with a folder for temporary files.
fn exec(folder: &Path) -> Command {
    let mut exec = program(&folder.join("other"));
    exec.arg("exec").env("TMPDIR", folder).env("PATH", "/usr/bin:/bin");
    exec
}

/// What it says that runs a script of the shell: exit code, stdout, stderr.
fn run(folder: &Path, options: &[&str], script: &str) -> (Option<i32>, String, String) {
    output(exec(folder).args(options).args(["--", "sh", "-c", script]))
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}

/// Starts it in a group of its own, as a shell does, and returns its first line.
fn start(command: &mut Command) -> (Child, String) {
    let mut child = command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    (child, line)
}

/// A request to the server at this URL.
fn call(url: &str, method: &str, path: &str, key: &str, form: &str) -> RawResponse {
    ask(url.strip_prefix("http://").unwrap().parse().unwrap(), method, path, Some(key), form)
}

#[test]
fn a_command_has_a_server_and_its_exit_code_is_passed_on() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!("{SHOWS}; read -r end; exit $end");
    let (mut child, line) = start(exec(folder.path()).args(["--", "sh", "-c", &script]));
    let [url, secret, publishable] = line.split_whitespace().collect::<Vec<_>>()[..] else {
        panic!("{line}")
    };
    call(url, "POST", "/1/charges", secret, PAYMENT).ok(201);
    assert_eq!(call(url, "GET", "/1/charges", publishable, "").status, 401);
    child.stdin.as_mut().unwrap().write_all(b"7\n").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(7));
    assert!(is_empty(folder.path()), "nothing is left");
}

#[test]
fn other_commands_find_the_same_server_and_its_database() {
    let folder = tempfile::tempdir().unwrap();
    let mut exec = exec(folder.path());
    exec.env("CARD_PAYMENTS_DATABASE_URL", "postgres://nowhere/nothing")
        .env("CARD_PAYMENTS_KEY", "sk_of_another");
    let script = "\"$0\" trigger plan.created >&2 && \"$0\" ledger verify && \"$0\" account list --json";
    let (code, stdout, stderr) =
        output(exec.args(["--", "sh", "-c", script, env!("CARGO_BIN_EXE_card-payments")]));
    assert_eq!(code, Some(0), "{stderr}");
    let (verified, account) = stdout.split_once('\n').unwrap();
    assert_eq!(verified, "The books balance.");
    assert!(serde_json::from_str::<Value>(account).unwrap()["token"].is_string());
    assert!(is_empty(folder.path()));
}

#[test]
fn the_command_does_not_inherit_what_is_about_the_first_account() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("account.json");
    let mut exec = exec(folder.path());
    exec.env("CARD_PAYMENTS_EXPORT_ON_EXIT", &file);
    let (code, stdout, stderr) =
        output(exec.args(["--", "sh", "-c", "echo \"$CARD_PAYMENTS_EXPORT_ON_EXIT\""]));
    assert_eq!((code, stdout.as_str()), (Some(0), "\n"), "{stderr}");
    assert!(file.exists(), "this server's account is exported");
}

#[test]
fn files_of_the_command_have_the_users_mask() {
    let folder = tempfile::tempdir().unwrap();
    let (_, own, _) = output(Command::new("sh").args(["-c", "umask"]));
    assert_eq!(run(folder.path(), &[], "umask").1, own);
}

#[test]
fn only_its_user_may_enter_its_folder_whatever_the_mask() {
    for mask in ["000", "022"] {
        let folder = tempfile::tempdir().unwrap();
        let script =
            format!("umask {mask}; exec \"$0\" exec -- sh -c 'stat -c %a \"$CARD_PAYMENTS_DATA_DIR\"'");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_card-payments")]);
        shell.env_clear().env("TMPDIR", folder.path()).env("PATH", "/usr/bin:/bin");
        assert_eq!(output(&mut shell).1, "700\n", "{mask}");
    }
}

#[test]
fn nothing_is_left_where_the_folder_for_temporary_files_has_an_odd_name() {
    for name in [&b"feature?x"[..], b"a#b", b"50%20c", b"file:x", b"not \xff utf-8"] {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join(OsStr::from_bytes(name));
        std::fs::create_dir(&odd).unwrap();
        let (code, stdout, stderr) = run(&odd, &[], "ls \"$CARD_PAYMENTS_DATA_DIR\"");
        assert_eq!(code, Some(0), "{stderr}");
        assert!(stdout.contains("card-payments.db\n"), "{stdout}");
        assert!(is_empty(&odd), "{odd:?}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "{odd:?}");
    }
}

#[test]
fn signals_go_to_the_command() {
    for signal in ["INT", "TERM", "HUP", "QUIT"] {
        let folder = tempfile::tempdir().unwrap();
        let script =
            format!("trap 'echo got {signal}; exit 9' {signal}; echo ready; while :; do sleep 0.1; done");
        let (mut child, line) = start(exec(folder.path()).args(["--", "sh", "-c", &script]));
        assert_eq!(line, "ready\n");
        let kill = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        assert!(kill.unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(9), "{signal}");
        assert!(is_empty(folder.path()));
    }
}

#[test]
fn an_end_without_an_exit_code_has_one() {
    let folder = tempfile::tempdir().unwrap();
    for (script, expected) in [("kill -TERM $$", 143), ("kill -KILL $$", 137), ("exit 0", 0)] {
        assert_eq!(run(folder.path(), &[], script).0, Some(expected), "{script}");
    }
    for (program, expected) in [("no-such-command", 127), ("/etc/passwd", 126)] {
        let (code, stdout, stderr) = output(exec(folder.path()).args(["--", program]));
        assert_eq!((code, stdout.as_str()), (Some(expected), ""), "{stderr}");
        assert!(stderr.starts_with(&format!("error: {program}: ")), "{stderr}");
    }
    assert!(is_empty(folder.path()));
}

#[test]
fn without_a_command_it_serves_until_its_input_ends() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, line) = start(exec(folder.path()).arg("--json"));
    let server: Value = serde_json::from_str(&line).unwrap();
    let (url, secret) = (server["listening"].as_str().unwrap(), server["secret_key"].as_str().unwrap());
    assert!(server["publishable_key"].as_str().unwrap().starts_with("pk_"));
    call(url, "POST", "/1/charges", secret, PAYMENT).ok(201);
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let (mut child, line) = start(&mut exec(folder.path()));
    let _open = child.stdin.take();
    assert!(line.starts_with("card-payments "), "{line}");
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    let status = child.wait().unwrap();
    assert_eq!((status.code(), status.signal()), (Some(143), None));
    assert!(is_empty(folder.path()));
}

#[test]
fn the_data_is_kept_on_request_and_the_log_has_its_file() {
    let (folder, log) = (tempfile::tempdir().unwrap(), tempfile::NamedTempFile::new().unwrap());
    let options = ["--keep", "--log", log.path().to_str().unwrap()];
    let (code, _, stderr) = run(folder.path(), &options, "exit 0");
    assert_eq!(code, Some(0));
    let kept = stderr.trim_end().strip_prefix("The data directory is ").unwrap();
    assert!(Path::new(kept).starts_with(folder.path()));
    assert_eq!(output(program(Path::new(kept)).args(["ledger", "verify"])).0, Some(0));
    assert!(std::fs::read_to_string(log.path()).unwrap().contains("\"message\":\"stopping\""));
    // That of a server that does not start, too.
    let fixtures = tempfile::NamedTempFile::new().unwrap();
    let declined = "charges:\n  cup: { email: a@example.com, card: declined, amount: 900 }\n";
    std::fs::write(fixtures.path(), declined).unwrap();
    let (code, _, stderr) =
        run(folder.path(), &["--keep", "--fixtures", fixtures.path().to_str().unwrap()], "exit 0");
    assert!(code == Some(1) && stderr.contains("card_declined"), "{stderr}");
    let kept = stderr.lines().find_map(|line| line.strip_prefix("The data directory is ")).unwrap();
    assert!(Path::new(kept).starts_with(folder.path()) && Path::new(kept).is_dir(), "{stderr}");
}

#[test]
fn a_command_finds_the_fixtures_of_its_server() {
    let folder = tempfile::tempdir().unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    let options = ["--fixtures", file.path().to_str().unwrap()];
    std::fs::write(file.path(), TEA).unwrap();
    let (mut child, line) =
        start(exec(folder.path()).args(options).args(["--", "sh", "-c", &format!("{SHOWS}; read -r end")]));
    let [url, secret, _] = line.split_whitespace().collect::<Vec<_>>()[..] else { panic!("{line}") };
    let plans = call(url, "GET", "/1/plans", secret, "").ok(200);
    assert_eq!((plans.as_array().unwrap().len(), &plans[0]["name"]), (1, &"Tea".into()));
    drop(child.stdin.take());
    child.wait().unwrap();
    std::fs::write(file.path(), "plants:\n\nuntil: soon\n").unwrap();
    let (code, stdout, stderr) = run(folder.path(), &options, "echo it runs");
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    let lines: Vec<_> = stderr.lines().collect();
    assert!(lines[0].ends_with(" has 2 faults, and nothing was made"), "{stderr}");
    assert!(
        lines[1].starts_with("  line 1: plants is no section") && lines[2].starts_with("  line 3: until"),
        "{stderr}"
    );
    assert!(is_empty(folder.path()));
}

#[test]
fn a_server_is_ready_when_its_fixtures_are_created() {
    let data = tempfile::tempdir().unwrap();
    let free = free_address();
    let mut serve = program(data.path());
    serve.env("CARD_PAYMENTS_LISTEN", free.to_string()).args(["serve", "--sample"]);
    let starting = std::thread::spawn(move || Process::start(&mut serve));
    let answers = |path: &str| try_to_ask(free, &request("GET", path, None, "")).map(|answer| answer.status);
    while answers("/healthz").is_err() {
        pause(Duration::from_millis(5));
    }
    assert_eq!(answers("/readyz").unwrap(), 503);
    assert!(!starting.is_finished());
    let server = starting.join().unwrap();
    assert_eq!(answers("/readyz").unwrap(), 200);
    let (key, _) = server.keys();
    let charges = server.ask("GET", "/1/charges", Some(&key), "").json()["pagination"]["count"].clone();
    assert!(charges.as_u64().unwrap() > 100, "{charges}");
    server.stopped();
}

#[test]
fn a_start_creates_no_fixtures_twice_and_none_beside_anything_else() {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("shop.yaml");
    std::fs::write(&file, TEA).unwrap();
    let serve =
        |data: &Path| Process::start(program(&data.join("data")).env("CARD_PAYMENTS_FIXTURES", &file));
    let plans = |server: &Process| {
        server.ask("GET", "/1/plans", Some(&server.keys().0), "").ok(200).as_array().unwrap().len()
    };
    for _ in 0..2 {
        let server = serve(data.path());
        assert_eq!(plans(&server), 1);
        server.stopped();
    }
    let used = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(&used.path().join("data")));
    server.pay(&server.keys().0).ok(201);
    server.stopped();
    let server = serve(used.path());
    assert_eq!(plans(&server), 0);
    assert!(server.stopped().contains("no fixtures are created"));
}

#[test]
fn fixtures_that_cannot_be_created_end_the_start() {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("shop.yaml");
    let mut serve = program(&data.path().join("data"));
    serve.args(["serve", "--fixtures", file.to_str().unwrap()]);
    let mut refused = |text: &str, message: &str| {
        std::fs::write(&file, text).unwrap();
        let (code, stdout, stderr) = output(&mut serve);
        assert_eq!((code, stdout.as_str()), (Some(1), ""));
        assert!(stderr.contains(message), "{stderr}");
    };
    refused(
        "plants:\n",
        "error: shop.yaml has a fault, and nothing was made\n  line 1: plants is no section",
    );
    assert!(!data.path().join("data").exists(), "a fault is found before anything is opened");
    refused(
        "customers:\n  anna: { email: anna@example.com }\ncharges:\n  cup: { email: a@example.com, card: declined, amount: 900 }\n",
        "error: line 4: charges/cup: The card was declined (400 card_declined); nothing was made",
    );
    let live = output(serve.args(["--environment", "live"]));
    assert!(live.2.contains("CARD_PAYMENTS_FIXTURES is not for the live environment"), "{}", live.2);
}
