//! `card-payments bench`: payments under an open load, whose books agree at the end.

use serde_json::{Value, json};

use crate::harness::process::{output, program};
use crate::harness::{Database, Installed, fields, operated};

/// Runs a short benchmark. Returns its result.
#[track_caller]
fn measured(installed: &Installed, arguments: &[&str]) -> Value {
    let mut command = installed.program();
    command.env("DATABASE_URL", installed.database_url());
    command.args(["bench", "--rate", "20", "--seconds", "2", "--json"]).args(arguments);
    let (code, stdout, stderr) = output(&mut command);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    assert!(stderr.lines().any(|line| line.starts_with("20/s for 2 s: ")), "{stderr}");
    serde_json::from_str(&stdout).unwrap()
}

#[track_caller]
fn agrees(run: &Value, others: &Value) {
    let proof = &run["proof"];
    for wrong in ["lost", "doubled", "contradicted", "unknown", "balance_off_cents"] {
        assert_eq!(proof[wrong], 0, "{wrong}: {run}");
    }
    let ours =
        json!({ "unlike_acquirer": proof["unlike_acquirer"], "books_are_right": proof["books_are_right"] });
    assert_eq!(&ours, others, "{run}");
    assert!(run["figures"]["payments"].as_u64().unwrap() > 20, "{run}");
    assert_eq!(run["figures"]["refused"], 0, "{run}");
}

operated! {
    async fn payments_under_load_are_neither_lost_nor_doubled_and_the_acquirers_time_is_not_the_servers(installed) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        let acquirer = ["--acquirer", "40/80", "--faults", "0.1", "--folder", path];
        let (servers, system) = match installed.database {
            Database::Sqlite => (["--database", "sqlite", "--copies", "1"], "SQLite"),
            Database::Postgres => (["--database", "postgres", "--copies", "2"], "PostgreSQL"),
        };
        let run = measured(installed, &[&acquirer[..], &servers].concat());
        agrees(&run, &json!({ "unlike_acquirer": 0, "books_are_right": true }));
        assert_eq!(fields(&run), [
            "system", "copies", "acquirer", "faults", "seed", "held", "figures", "processor_us", "proof",
        ]);
        assert_eq!((&run["system"], &run["acquirer"], &run["faults"]), (&json!(system), &json!("40/80"), &json!(0.1)));
        let us = |part: &str, percentile: &str| run["figures"][part][percentile].as_u64().unwrap();
        let (acquirer, whole, added) = (us("acquirer_us", "p50"), us("whole_us", "p50"), us("added_us", "p50"));
        assert!((30_000..300_000).contains(&acquirer) && whole > acquirer && added < whole, "{run}");
        assert!(run["figures"]["faulty"].as_u64().unwrap() > 0, "{run}");
        assert!(run["proof"]["not_charged"].as_u64().unwrap() > 0, "{run}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
    }

    async fn another_system_is_measured_by_its_address(installed) {
        let server = installed.serve();
        let address = format!("http://{}", server.address);
        let run = measured(installed, &["--against", &address]);
        agrees(&run, &json!({ "unlike_acquirer": null, "books_are_right": null }));
        assert_eq!((&run["system"], &run["acquirer"]), (&json!(address), &Value::Null));
        let listed = server.ask("GET", "/1/charges", Some(&server.keys().0), "").json();
        assert_eq!(listed["pagination"]["count"], run["proof"]["charged"]);
        server.stopped();
    }
}

#[test]
fn options_that_do_not_fit_are_refused_in_plain_words() {
    let folder = tempfile::tempdir().unwrap();
    let nobody = "http://127.0.0.1:9";
    for (arguments, code, words) in [
        (&["--acquirer", "380/120"][..], 2, "must be p50 and p99 in milliseconds, such as 120/380"),
        (&["--acquirer", "120/5001"], 2, "p99 must be at most 5000: a server waits 20 seconds for an answer"),
        (&["--faults", "0.2"], 2, "must be a number from 0 to 0.1: with more, recoveries fail too often"),
        (&["--rate", "0"], 2, "0 is not in 1..=100000"),
        (
            &["--database", "mysql"],
            2,
            "must be sqlite, postgres (at DATABASE_URL), or postgres://USER@HOST/DATABASE",
        ),
        (
            &["--database", "postgres"],
            2,
            "DATABASE_URL names no database: set it to postgres://USER@HOST/DATABASE",
        ),
        (&["--against", nobody, "--database", "sqlite"], 2, "cannot be used with"),
        (&["--acquirer-listen", "9000"], 2, "--against <URL>"),
        (
            &["--copies", "2"],
            1,
            "error: several servers cannot share a SQLite file: name a PostgreSQL by --database",
        ),
        (
            &["--against", nobody, "--faults", "0"],
            1,
            "error: the system has its own acquirer: name where it finds ours",
        ),
        (&["--against", nobody, "--key", "sk"], 1, "error: http://127.0.0.1:9 does not answer: "),
        (
            &["--against", nobody, "--acquirer-listen", "0"],
            1,
            "error: CARD_PAYMENTS_ACQUIRER_SECRET must be a secret of 32",
        ),
        (&["--folder", "/no/such/folder"], 1, "error: /no/such/folder: "),
        (&["--database", "postgres://nobody@127.0.0.1:9/none"], 1, ". A run needs an empty database"),
    ] {
        let command = &mut program(&folder.path().join("data"));
        command.current_dir(folder.path());
        let (ended, stdout, stderr) = output(command.arg("bench").args(arguments));
        assert_eq!((ended, stdout.as_str()), (Some(code), ""), "{arguments:?}: {stderr}");
        assert!(stderr.contains(words), "{arguments:?}: {stderr}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
}
