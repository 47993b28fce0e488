//! Options and variables as people and their tools write them: empty, with blanks, without a scheme.

use std::process::Command;

use card_payments::config::{Secrets, VaultKeySource, serve_options, variable};
use serde_json::Value;

use crate::harness::process::{Process, output, program, request, try_to_ask};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// The program with every variable that it reads, empty.
fn with_empty_variables(data: &tempfile::TempDir) -> Command {
    let options = serve_options();
    let own = options.get_arguments().map(variable).filter(|name| !name.is_empty());
    let own = own.filter(|name| !["CARD_PAYMENTS_LISTEN", "CARD_PAYMENTS_DATA_DIR"].contains(&name.as_str()));
    let secrets = Secrets::VARIABLES.into_iter().flat_map(|name| [name.to_owned(), format!("{name}_FILE")]);
    let others =
        [VaultKeySource::COMMAND, VaultKeySource::SHARES, "CARD_PAYMENTS_KEY", "CARD_PAYMENTS_SERVER"];
    let mut command = program(data.path());
    command.envs(own.chain(secrets).chain(others.map(str::to_owned)).map(|name| (name, "")));
    command
}

#[test]
fn an_empty_variable_is_an_unset_one() {
    let data = folder();
    let server = Process::start(&mut with_empty_variables(&data));
    let page = server.ask("GET", "/", None, "").body;
    assert!(page.contains(&format!("at http://{}/1.", server.address)), "{page}");
    server.pay(&server.keys().0).ok(201);
    let mut trigger = with_empty_variables(&data);
    trigger.env("CARD_PAYMENTS_LISTEN", server.address.to_string()).args(["trigger", "customer.created"]);
    assert_eq!(output(&mut trigger).0, Some(0));
    let log = server.stopped();
    assert!(!log.contains("no variable of this release"), "{log}");
    let (code, findings, _) = output(with_empty_variables(&data).arg("check"));
    assert_eq!(code, Some(0), "{findings}");
}

#[test]
fn a_base_url_to_which_no_path_can_be_added_stops_the_start() {
    for wrong in [
        " ",
        "api.example.com",
        "api.example.com:443",
        "ftp://api.example.com",
        "https://api.example.com/ ",
        "https://api.example.com/?a=1",
        "https://api .example.com",
        "https://",
    ] {
        let data = folder();
        let (code, _, stderr) = output(program(data.path()).env("CARD_PAYMENTS_BASE_URL", wrong));
        let told = "error: CARD_PAYMENTS_BASE_URL: must be an http or https address";
        assert!(code == Some(2) && stderr.starts_with(told), "{wrong:?}: {stderr}");
        assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), 0);
        let (code, findings, _) =
            output(program(data.path()).env("CARD_PAYMENTS_BASE_URL", wrong).arg("check"));
        assert!(
            code == Some(1) && findings.contains("CARD_PAYMENTS_BASE_URL: must be"),
            "{wrong:?}: {findings}"
        );
    }
}

#[test]
fn a_server_that_listens_everywhere_links_to_an_address_that_can_be_opened() {
    for (listen, host) in [("0.0.0.0:0", "127.0.0.1"), ("[::]:0", "[::1]")] {
        let data = folder();
        let server = Process::start(program(data.path()).env("CARD_PAYMENTS_LISTEN", listen));
        let own = format!("http://{host}:{}", server.address.port());
        assert!(server.banner.iter().any(|line| line.ends_with(&format!("{own}/1"))), "{:?}", server.banner);
        let page = server.ask("GET", "/", None, "").body;
        assert!(page.contains(&format!("at {own}/1.")), "{page}");
        server.stopped();
    }
}

#[test]
fn lists_take_blanks_single_addresses_and_a_comma_at_the_end() {
    let data = folder();
    let mut command = program(data.path());
    command.env("CARD_PAYMENTS_TRUSTED_PROXIES", "10.0.0.0/8, 127.0.0.1 ,");
    command.env("CARD_PAYMENTS_WEBHOOK_ALLOW", " hooks.internal, 10.1.0.0/16,");
    let server = Process::start(command.args([
        "--trusted-proxies",
        "10.0.0.0/8, 127.0.0.1,",
        "--trusted-proxies",
        "::1",
    ]));
    let form = "name=Roland&bsb=806015&number=987654321";
    let account = request("POST", "/1/bank_accounts", Some(&server.keys().0), form);
    let account = account.replace("Host: test\r\n", "Host: test\r\nX-Forwarded-For: 203.0.113.9\r\n");
    assert_eq!(try_to_ask(server.address, &account).unwrap().json()["ip_address"], "203.0.113.9");
    server.stopped();
    for (name, wrong, told) in [
        ("TRUSTED_PROXIES", "10.0.0.0/8, somewhere", "'somewhere': must be a network"),
        ("TRUSTED_PROXIES", " , ", "names nothing"),
        ("WEBHOOK_ALLOW", "a.example, *.example", "'*.example': must be a network"),
        ("OIDC_ROLES", "finance=accounting, x", "'x': must be ROLE=NAME"),
    ] {
        let (code, _, stderr) = output(program(data.path()).env(format!("CARD_PAYMENTS_{name}"), wrong));
        assert!(code == Some(2) && stderr.contains(told), "{name}: {stderr}");
    }
}

#[test]
fn a_server_is_named_by_host_and_port_and_by_the_address_of_its_api() {
    let data = folder();
    let server = Process::start(&mut program(data.path()));
    let api =
        server.banner.iter().find_map(|line| line.trim().strip_prefix("API ")).unwrap().trim().to_owned();
    assert!(api.ends_with("/1"), "{api}");
    for named in [server.address.to_string(), api.clone(), format!("{api}/")] {
        let (code, stdout, stderr) =
            output(program(data.path()).args(["trigger", "customer.created", "--json", "--server", &named]));
        assert_eq!(code, Some(0), "{named}: {stderr}");
        assert!(serde_json::from_str::<Value>(&stdout).is_ok(), "{named}: {stdout}");
    }
    server.stopped();
}

/// No option but a text takes it.
const WRONG: &str = "no such value!";

#[test]
fn a_wrong_variable_is_named_as_a_check_names_it() {
    let data = folder();
    let options = serve_options().mut_args(|option| option.env(None::<&str>));
    let mut named = 0;
    for option in serve_options().get_arguments() {
        let (name, flag) = (variable(option), option.get_long().unwrap());
        if options.clone().try_get_matches_from(["serve", &format!("--{flag}={WRONG}")]).is_ok() {
            continue;
        }
        let (code, stdout, stderr) = output(program(data.path()).env(&name, WRONG));
        let reason =
            stderr.strip_prefix(&format!("error: {name}: ")).unwrap_or_else(|| panic!("{name}: {stderr}"));
        assert_eq!((code, stdout.as_str(), reason.lines().count()), (Some(2), "", 1), "{name}: {stderr}");
        let (_, findings, _) = output(program(data.path()).env(&name, WRONG).arg("check"));
        // What is wrong with a switch is another thing where it is an argument.
        let reason = if name == "CARD_PAYMENTS_SAMPLE" { "" } else { reason.trim_end() };
        assert!(findings.contains(&format!("{name}: {reason}")), "{name}: {findings}");
        named += 1;
    }
    assert!(named > 10, "{named}");
    let refused = |name: &str, wrong: &str, arguments: &[&str]| {
        let (code, _, stderr) = output(program(data.path()).env(name, wrong).args(arguments));
        (code, stderr)
    };
    for (name, wrong, reason) in [
        ("CARD_PAYMENTS_RETENTION_DAYS", "soon", "must be a whole number"),
        ("CARD_PAYMENTS_CONCURRENCY", "0", "0 is not in 1..=8192"),
        ("CARD_PAYMENTS_DRAIN_SECONDS", "-1", "must be a whole number"),
        ("CARD_PAYMENTS_ENVIRONMENT", "prod", "is none of test, live"),
    ] {
        assert_eq!(refused(name, wrong, &["serve"]), (Some(2), format!("error: {name}: {reason}\n")));
    }
    let (name, line) =
        ("CARD_PAYMENTS_CONCURRENCY", "error: CARD_PAYMENTS_CONCURRENCY: must be a whole number\n");
    assert_eq!(refused(name, "x", &["exec", "--", "true"]), (Some(1), line.to_owned()));
    let (_, stderr) = refused(name, "x", &["--concurrency", "y"]);
    assert!(stderr.contains("'y' for '--concurrency <CONCURRENCY>'"), "what is given is named: {stderr}");
    let (code, stderr) = refused("CARD_PAYMENTS_KEY", "sk_1", &["listen", "--sign-with", "x"]);
    assert!(code == Some(2) && stderr.contains("'--sign-with <KEY>'"), "{stderr}");
    let (code, stderr) = refused("CARD_PAYMENTS_WEBHOOK_KEY", "hunter2", &["listen"]);
    assert_eq!(
        (code, stderr.as_str()),
        (Some(2), "error: CARD_PAYMENTS_WEBHOOK_KEY: not whsec_ and base64\n")
    );
    let collector =
        [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9"), ("OTEL_BSP_SCHEDULE_DELAY", "soon")];
    let (code, _, stderr) = output(program(data.path()).envs(collector));
    assert!(code == Some(1) && stderr.contains("OTEL_BSP_SCHEDULE_DELAY"), "{stderr}");
}

#[test]
fn a_check_takes_a_switch_that_a_variable_sets() {
    let data = folder();
    for value in ["true", "false"] {
        let (code, findings, _) =
            output(program(data.path()).env("CARD_PAYMENTS_SAMPLE", value).arg("check"));
        assert!(code == Some(0) && findings.contains("every variable is valid"), "{value}: {findings}");
    }
}

#[test]
fn the_sample_of_the_environment_is_all_comments_and_valid_without_them() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/environment");
    let sample = std::fs::read_to_string(sample).unwrap();
    assert!(sample.lines().all(|line| line.is_empty() || line.starts_with('#')));
    let settings: Vec<_> =
        sample.lines().filter_map(|line| line.strip_prefix("#CARD_PAYMENTS_")?.split_once('=')).collect();
    assert!(settings.len() > 10);
    let data = folder();
    let secret = data.path().join("acquirer.secret");
    std::fs::write(&secret, "a secret of thirty-two characters").unwrap();
    let mut check = program(data.path());
    check
        .args(["check", "--json"])
        .envs(settings.iter().map(|(name, value)| (format!("CARD_PAYMENTS_{name}"), *value)));
    check.env("CARD_PAYMENTS_ACQUIRER_SECRET_FILE", &secret);
    let (_, findings, _) = output(&mut check);
    let findings = findings.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let of_configuration: Vec<_> = findings.filter(|finding| finding["area"] == "configuration").collect();
    assert!(
        !of_configuration.is_empty() && of_configuration.iter().all(|finding| finding["level"] == "ok"),
        "{of_configuration:#?}"
    );
}
