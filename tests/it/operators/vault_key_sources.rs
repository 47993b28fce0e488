//! The vault key comes from a variable, a program or shares, whichever is named (`docs/decisions.md`, 384).

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use vault::OperatorKeys;

use crate::harness::postgres::skipped;
use crate::harness::process::{Process, output, program};
use crate::harness::terminal::{Terminal, on_a_terminal};
use crate::harness::{Installed, operated};

const MISSING: &str =
    "softhsm2, opensc and age are not installed, so the tests on it are skipped: .ci/run installs them.\n";

/// A new key, and a file that holds it.
fn key_in(folder: &Path) -> (String, PathBuf) {
    let (key, file) = (OperatorKeys::generate("own").to_text().expose().to_owned(), folder.join("kept key"));
    fs::write(&file, &key).unwrap();
    (key, file)
}

/// The secret part of a key.
fn base64(key: &str) -> &str {
    key.split_once(':').unwrap().1
}

impl Installed {
    /// Splits the key. Returns the files of the shares.
    #[track_caller]
    fn split(&self, folder: &str, further: &[&str]) -> Vec<String> {
        let to = self.data.path().join(folder);
        let split = ["vault", "split", "--shares", "3", "--threshold", "2", "--to", to.to_str().unwrap()];
        let shares = self.records(&[&split, further].concat());
        shares.iter().map(|share| share["file"].as_str().unwrap().to_owned()).collect()
    }

    /// Runs a command, and writes these lines to its standard input.
    fn run_with(&self, arguments: &[&str], lines: &str) -> (Option<i32>, String, String) {
        let mut command = self.program();
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = command.spawn().unwrap();
        running.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        let done = running.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (done.status.code(), text(done.stdout), text(done.stderr))
    }
}

operated! {
    async fn a_program_hands_the_key_to_every_command_and_is_not_needed_afterwards(installed) {
        let (key, file) = key_in(installed.data.path());
        let away = file.with_extension("away");
        installed.with("VAULT_KEY_COMMAND", &format!("/bin/cat '{}'", file.display()));
        let server = installed.serve();
        let (secret, _) = server.keys();
        fs::rename(&file, &away).unwrap();
        server.pay(&secret).ok(201);
        let failed = "CARD_PAYMENTS_VAULT_KEY_COMMAND: \"/bin/cat\" ended with exit status: 1 and no key; run the command \
                      yourself to read why";
        for command in [&["serve"][..], &["vault", "rotate"], &["account", "rotate-keys", &installed.account()], &["audit", "verify"]] {
            installed.refuses(command, failed);
        }
        let told = server.stopped();
        assert!(!told.contains(base64(&key)), "{told}");
        let findings = installed.run(&["check"]);
        assert!(findings.1.contains(failed), "{}", findings.1);
        fs::rename(&away, &file).unwrap();
        assert!(installed.run(&["check"]).1.contains("the vault key \"own\" opens this database"));
        installed.records(&["vault", "rotate"]);
        // It is the same key, wherever it is kept.
        installed.without("VAULT_KEY_COMMAND");
        installed.with("VAULT_KEY", &key);
        installed.records(&["vault", "rotate"]);
        let server = installed.serve();
        assert_eq!(server.keys().0, secret);
        server.stopped();
    }

    async fn the_key_is_named_in_one_way_only(installed) {
        let (key, file) = key_in(installed.data.path());
        let file = file.to_str().unwrap();
        let names = ["CARD_PAYMENTS_VAULT_KEY", "CARD_PAYMENTS_VAULT_KEY_COMMAND", "CARD_PAYMENTS_VAULT_KEY_SHARES"];
        let given = [("VAULT_KEY", key.as_str()), ("VAULT_KEY_COMMAND", "/bin/true"), ("VAULT_KEY_SHARES", file)];
        for (one, other) in [(0, 1), (0, 2), (1, 2)] {
            let [first, second] = [given[one], given[other]];
            installed.with(first.0, first.1);
            installed.with(second.0, second.1);
            installed.refuses(&["serve"], &format!("{} and {} are both set", names[one], names[other]));
            installed.without(first.0);
            if first.0 == "VAULT_KEY" {
                installed.with("VAULT_KEY_FILE", file);
                installed.refuses(&["serve"], &format!("{} and {} are both set", names[one], names[other]));
                installed.without("VAULT_KEY_FILE");
            }
            installed.without(second.0);
        }
        for (command, line) in [
            (" ", "write a program and its arguments as in a shell, with every quote closed"),
            ("age 'x", "write a program and its arguments as in a shell, with every quote closed"),
            ("/bin/echo", "\"/bin/echo\" printed nothing, or more than 4096 bytes, or no text"),
            ("/bin/echo hunter2hunter2", "vault key 1 is not id:base64 with an id of at most 32 letters, digits, - and _"),
        ] {
            installed.with("VAULT_KEY_COMMAND", command);
            installed.refuses(&["serve"], &format!("CARD_PAYMENTS_VAULT_KEY_COMMAND: {line}"));
        }
    }

    async fn a_program_gets_none_of_the_servers_secrets(installed) {
        let (_, file) = key_in(installed.data.path());
        installed.with("OPERATOR_KEY", "0123456789abcdef0123456789abcdef");
        installed.with("VAULT_KEY_COMMAND", &format!(
            "/bin/sh -c 'test -z \"$CARD_PAYMENTS_OPERATOR_KEY\" && test -n \"$CARD_PAYMENTS_DATA_DIR\" && cat \"{}\"'", file.display(),
        ));
        installed.records(&["migrate"]);
        installed.records(&["vault", "rotate"]);
    }

    async fn two_of_three_custodians_start_the_server(installed) {
        installed.serve().stopped();
        let key = fs::read_to_string(installed.data.path().join("vault.key")).unwrap();
        let shares = installed.split("shares", &[]);
        let texts: Vec<_> = shares.iter().map(|share| fs::read_to_string(share).unwrap()).collect();
        for text in &texts {
            assert!(!text.contains(base64(&key)) && text.starts_with("vault-share-"), "{text}");
        }
        fs::rename(installed.data.path().join("vault.key"), installed.data.path().join("away")).unwrap();
        for (one, other) in [(0, 1), (2, 1)] {
            installed.with("VAULT_KEY_SHARES", &format!("{},{}", shares[one], shares[other]));
            let server = installed.serve();
            server.pay(&server.keys().0).ok(201);
            server.stopped();
        }
        let others = installed.split("others", &[]);
        let of = |texts: &[&String]| texts.iter().fold(String::new(), |all, text| all + text + "\n");
        let rotate = |installed: &Installed, lines: &str| installed.run_with(&["vault", "rotate"], lines);
        installed.with("VAULT_KEY_SHARES", "-");
        let (code, stdout, stderr) = rotate(installed, &of(&[&texts[2], &texts[0]]));
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
        let mixed = fs::read_to_string(&others[1]).unwrap();
        let mistyped = texts[1].replacen("vault-share-", "vault-share-x", 1);
        let (first, all) = (&texts[0], "needs 2 of its shares, and has 1; shares of another split do not count");
        for (lines, told) in [
            (of(&[]), "there is no share"),
            (of(&[first]), all),
            (of(&[first, &mixed]), all),
            (of(&[first, first]), "share 2 was entered before: each custodian has another one"),
            (of(&[first, &mistyped]), "share 2 is mistyped or no share"),
        ] {
            let (code, stdout, stderr) = rotate(installed, &lines);
            assert_eq!((code, stdout.as_str()), (Some(1), ""), "{told}");
            assert!(stderr.starts_with("error: CARD_PAYMENTS_VAULT_KEY_SHARES: ") && stderr.trim_end().ends_with(told), "{stderr}");
        }
        installed.with("VAULT_KEY_SHARES", "/no/such/share");
        installed.refuses(&["serve"], "/no/such/share: No such file or directory (os error 2)");
        installed.with("VAULT_KEY_SHARES", &format!("{},{}", shares[0], shares[1]));
        let (exists, further) = (installed.data.path().join("shares"), ["vault", "split", "--shares", "3", "--threshold"]);
        let split = |threshold| [&further[..], &[threshold, "--to", exists.to_str().unwrap()]].concat();
        installed.refuses(&split("2"), &format!("{} exists: name another folder", shares[0]));
        installed.refuses(&split("4"), "the threshold is more than there are shares: nobody could make up the key");
        let others = installed.data.path().join("further");
        fs::create_dir(&others).unwrap();
        symlink("nowhere", others.join("share-3")).unwrap();
        let all = [&further[..], &["2", "--to", others.to_str().unwrap()]].concat();
        installed.refuses(&all, &format!("{}: File exists (os error 17)", others.join("share-3").display()));
        assert_eq!(fs::read_dir(&others).unwrap().count(), 1, "all shares, or none");
    }

    async fn a_key_that_nobody_has_seen_takes_the_place_of_one_that_was_known(installed) {
        installed.serve().stopped();
        let (old, new) = (installed.split("old", &[]), installed.split("new", &["--new", "hsm-2026"]));
        let without = fs::rename(installed.data.path().join("vault.key"), installed.data.path().join("away"));
        without.unwrap();
        // As with the variable: first both, the new one before; then the new one alone.
        installed.with("VAULT_KEY_SHARES", &[&new[0], &new[2], &old[1], &old[0]].map(String::as_str).join(","));
        installed.records(&["vault", "rotate"]);
        installed.with("VAULT_KEY_SHARES", &[&new[1], &new[2]].map(String::as_str).join(","));
        assert_eq!(installed.number("SELECT COUNT(*) FROM vault_keys WHERE wrapped_by <> 'hsm-2026'").await, 0);
        installed.serve().stopped();
        installed.with("VAULT_KEY_SHARES", &[&old[1], &old[2]].map(String::as_str).join(","));
        installed.refuses(
            &["serve"],
            "the vault key does not open this database: the vault has no operator key with the id \"hsm-2026\"",
        );
        assert_eq!(installed.run(&["vault", "split", "--shares", "3", "--threshold", "2", "--to", "x", "--new", "a:b"]).0, Some(2));
    }
}

#[test]
fn a_share_is_asked_for_on_a_terminal_and_not_shown() {
    let data = tempfile::tempdir().unwrap();
    Process::start(&mut program(data.path())).stopped();
    let folder = data.path().join("shares");
    let split = ["vault", "split", "--shares", "2", "--threshold", "2", "--to", folder.to_str().unwrap()];
    assert_eq!(output(program(data.path()).args(split)).0, Some(0));
    fs::rename(data.path().join("vault.key"), data.path().join("away")).unwrap();
    let terminal = Terminal::open();
    let mut command = program(data.path());
    on_a_terminal(&mut command);
    command.env("CARD_PAYMENTS_VAULT_KEY_SHARES", "-").args(["vault", "rotate"]);
    command.stdin(terminal.end()).stdout(Stdio::piped()).stderr(terminal.end());
    let mut running = command.spawn().unwrap();
    for n in [2, 1] {
        terminal.shows(&format!("Share {} of the vault key: ", 3 - n));
        terminal.types(&(fs::read_to_string(folder.join(format!("share-{n}"))).unwrap() + "\n"));
    }
    assert!(running.wait().unwrap().success(), "{}", terminal.output());
    assert!(!terminal.output().contains("vault-share-"), "{}", terminal.output());
}

/// Runs a program of the machine, which must succeed. Returns what it prints.
fn run(command: &mut Command) -> String {
    let (code, stdout, stderr) = output(command.stdin(Stdio::null()));
    assert_eq!(code, Some(0), "{command:?}: {stderr}");
    stdout
}

/// Whether the machine has the programs; a skipped test says so.
fn are_installed(programs: &[&str]) -> bool {
    let there = programs.iter().all(|program| Path::new("/usr/bin").join(program).exists());
    if !there {
        skipped(MISSING).unwrap_or_else(|missing| panic!("{missing}"));
    }
    there
}

/// The key that this command hands over serves a payment, and nothing of it is logged.
fn serves(data: &Path, key: &str, command: &str, variables: &[(&str, &str)]) {
    let server = Process::start(
        program(data).env("CARD_PAYMENTS_VAULT_KEY_COMMAND", command).envs(variables.iter().copied()),
    );
    server.pay(&server.keys().0).ok(201);
    let logged = server.stopped();
    assert!(!logged.contains(base64(key)) && logged.contains("POST"), "{logged}");
    let found = output(program(data).env("CARD_PAYMENTS_VAULT_KEY", key).args(["check", "--json"]));
    let opened = json!("the vault key \"own\" opens this database");
    assert!(
        found.1.lines().any(|line| serde_json::from_str::<Value>(line).unwrap()["said"] == opened),
        "{}",
        found.1
    );
}

#[test]
fn a_key_that_a_token_of_a_hardware_module_unwraps_serves() {
    if !are_installed(&["softhsm2-util", "pkcs11-tool", "openssl"]) {
        return;
    }
    let data = tempfile::tempdir().unwrap();
    let (key, file) = key_in(data.path());
    let path = |name: &str| data.path().join(name).display().to_string();
    fs::create_dir(path("tokens")).unwrap();
    fs::write(path("softhsm.conf"), format!("directories.tokendir = {}\n", path("tokens"))).unwrap();
    let configuration = path("softhsm.conf");
    let with_token = |program: &str| {
        let mut command = Command::new(program);
        command.env("SOFTHSM2_CONF", &configuration);
        command
    };
    run(with_token("softhsm2-util").args([
        "--init-token",
        "--free",
        "--label",
        "vault",
        "--pin",
        "1234",
        "--so-pin",
        "5678",
    ]));
    let token = ["--module", "/usr/lib/softhsm/libsofthsm2.so", "--token-label", "vault"];
    let make = ["--login", "--pin", "1234", "--keypairgen", "--key-type", "rsa:2048", "--id", "01"];
    run(with_token("pkcs11-tool").args(token).args(make));
    let public = path("public.der");
    run(with_token("pkcs11-tool").args(token).args([
        "--read-object",
        "--type",
        "pubkey",
        "--id",
        "01",
        "--output-file",
        &public,
    ]));
    let wrap = [
        "pkeyutl",
        "-encrypt",
        "-pubin",
        "-keyform",
        "DER",
        "-inkey",
        &public,
        "-pkeyopt",
        "rsa_padding_mode:oaep",
    ];
    run(Command::new("openssl").args(wrap).arg("-in").arg(&file).args(["-out", &path("wrapped")]));
    // The token alone opens it from here on.
    fs::remove_file(file).unwrap();
    let unwrap = format!(
        "/usr/bin/pkcs11-tool {} --login --pin env:PIN --decrypt --mechanism RSA-PKCS-OAEP --hash-algorithm SHA-1 --id 01 \
         --input-file '{}'",
        token.join(" "),
        path("wrapped"),
    );
    serves(data.path(), &key, &unwrap, &[("SOFTHSM2_CONF", &configuration), ("PIN", "1234")]);
    let refused = output(
        program(data.path())
            .env("CARD_PAYMENTS_VAULT_KEY_COMMAND", &unwrap)
            .envs([("SOFTHSM2_CONF", configuration.as_str()), ("PIN", "9999")]),
    );
    assert_eq!((refused.0, refused.1.as_str()), (Some(1), ""));
    assert!(
        refused.2.starts_with("error: CARD_PAYMENTS_VAULT_KEY_COMMAND: \"/usr/bin/pkcs11-tool\" ended with"),
        "{}",
        refused.2
    );
    assert_eq!(refused.2.lines().count(), 1, "{}", refused.2);
}

#[test]
fn a_key_that_age_decrypts_serves() {
    if !are_installed(&["age", "age-keygen"]) {
        return;
    }
    let data = tempfile::tempdir().unwrap();
    let (key, file) = key_in(data.path());
    let path = |name: &str| data.path().join(name).display().to_string();
    run(Command::new("age-keygen").args(["--output", &path("identity")]));
    let recipient = run(Command::new("age-keygen").args(["-y", &path("identity")]));
    let encrypt = ["--encrypt", "--recipient", recipient.trim(), "--output", &path("key.age")];
    run(Command::new("age").args(encrypt).arg(&file));
    fs::remove_file(file).unwrap();
    let decrypt = format!("/usr/bin/age --decrypt --identity '{}' '{}'", path("identity"), path("key.age"));
    serves(data.path(), &key, &decrypt, &[]);
}
