//! Files that are no recordings, those of the log of requests, and what a run that fails leaves.

use super::*;

operated! {
    async fn a_file_that_is_no_recording_is_refused_and_nothing_is_sent(installed) {
        let server = installed.serve();
        let address = format!("http://{}", server.address);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run.jsonl");
        let head = r#"{"card_payments_recording":1}"#;
        let charge = r#"{"at":"2026-11-25T10:00:00Z","method":"POST","path":"/1/plans","key":"{key}","status":201,"duration_ms":1}"#;
        let of_another = r#"{"log":{"version":"1.2","creator":{"name":"Firefox","version":"1"},"entries":[]}}"#;
        for (text, expected) in [
            ("", "neither HAR 1.2 nor JSON lines of card-payments: "),
            ("hello", "neither HAR 1.2 nor JSON lines of card-payments: "),
            (&head.replace('1', "2"), "its version is 2, and this program reads 1"),
            (&format!("{head}\n{charge}\n{{\"at\":1}}\n"), "line 3: "),
            (of_another, "a recording of Firefox, and not of card-payments"),
            (&format!("{head}\n{charge}\n{}", charge.replace("POST", "a b")), "request 2: a b: invalid HTTP method"),
            (&format!("{head}\n{}", charge.replace("/1/", "@example.com/")), "request 1: @example.com/plans is no path"),
            (&format!("{head}\n{}", charge.replace("2026", "")), "request 1: -11-25T10:00:00Z: "),
        ] {
            std::fs::write(&file, text).unwrap();
            let (code, stdout, stderr) =
                installed.run(&["replay", file.to_str().unwrap(), "--server", &address]);
            assert_eq!((code, stdout.as_str()), (Some(1), ""), "{text}");
            assert!(stderr.starts_with(&format!("error: {}: {expected}", file.display())), "{stderr}");
            assert_eq!(stderr.lines().count(), 1);
        }
        std::fs::write(&file, format!("{head}\n{}", charge.replace("{key}", "{publishable_key}"))).unwrap();
        installed.refuses(
            &["replay", file.to_str().unwrap(), "--server", &address],
            "the recording uses the publishable key: name it by CARD_PAYMENTS_PUBLISHABLE_KEY",
        );
        assert_eq!(server.ask("GET", "/1/plans", Some(&server.keys().0), "").json()["pagination"]["count"], 0);
        server.stopped();
    }
}

operated! {
    async fn the_request_log_is_a_file_as_well_and_no_recording(installed) {
        let server = installed.serve();
        let (key, address) = (server.keys().0, format!("http://{}", server.address));
        server.pay(&key).ok(201);
        server.ask("POST", "/1/charges", Some(&key), "amount=x").json();
        let folder = tempfile::tempdir().unwrap();
        for name in ["log.jsonl", "log.har"] {
            let file = folder.path().join(name);
            let file = file.to_str().unwrap();
            let written = installed.records(&["requests", "--to", file, "--server", &address]);
            let text = std::fs::read_to_string(file).unwrap();
            assert!(written[0]["requests"].as_u64() >= Some(2), "{written:?}");
            assert!(!text.contains(&key) && !text.contains("4200000000000000"), "{text}");
            assert!(text.contains("card.number") && text.contains("invalid_resource"), "{text}");
            let refusal = format!(
                "{file}: a copy of a request log, which has no answers to go on with; `record` keeps them"
            );
            installed.refuses(&["replay", file, "--server", &address], &refusal);
        }
        server.stopped();
    }
}

#[test]
fn a_recording_is_there_though_the_account_cannot_be_exported_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let (file, gone) = (folder.path().join("run.jsonl"), folder.path().join("gone"));
    std::fs::create_dir(&gone).unwrap();
    let mut recorded = record(folder.path(), &file);
    recorded.arg("--export-on-exit").arg(gone.join("shop.json"));
    let asked = "curl -sf \"$CARD_PAYMENTS_URL/1/balance\" -u \"$CARD_PAYMENTS_SECRET_KEY:\" && rmdir \"$0\"";
    let (code, _, stderr) = output(recorded.args(["--", "sh", "-c", asked]).arg(&gone));
    assert!(code == Some(1) && stderr.contains("shop.json"), "{stderr}");
    assert!(std::fs::read_to_string(&file).unwrap().contains("/1/balance"));
    // A server that does not start has nothing to record, and what was recorded before stays.
    let before = std::fs::read(&file).unwrap();
    let mut refused = record(folder.path(), &file);
    assert_eq!(output(refused.env("CARD_PAYMENTS_CONCURRENCY", "0").args(["--", "true"])).0, Some(1));
    assert_eq!(std::fs::read(&file).unwrap(), before);
}
