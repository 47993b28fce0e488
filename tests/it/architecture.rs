//! The walls of the house, kept over the project's own sources: which room may name which, and what stands nowhere.
//!
//! Each rule carries a sample that it must catch and one that it must let pass.

mod finding;
mod mutants;
mod services;

use self::finding::{crates, is_float, matching, rooms, root, sources, words};

/// What a rule finds: the line, and what is wrong there.
type Found = Vec<(usize, String)>;

struct Rule {
    name: &'static str,
    /// Which files the rule is about.
    covers: fn(&str) -> bool,
    /// The folder or file whose existence means that the rule must cover something.
    wakes: &'static str,
    find: fn(&str, &str) -> Found,
    /// Path and text that break the rule, and others that keep it.
    bad: &'static [(&'static str, &'static str)],
    good: &'static [(&'static str, &'static str)],
}

const LINES_MAX: usize = 500;

/// Where a float is no money, and what it is.
const FLOATS: &[(&str, &str)] = &[
    ("benches/scaling/page/figures.rs", "times, rates and shares of a model of queues"),
    ("benches/scaling/page/mod.rs", "the same"),
    ("benches/scaling/page/model.rs", "the same"),
    ("benches/scaling/page/queue.rs", "the same"),
    ("crates/tools/src/bench/draws.rs", "random times of a benchmark"),
    ("src/api/metrics.rs", "seconds of a histogram"),
    ("src/api/representations.rs", "how much a client likes a coding: the weights of Accept-Encoding"),
    ("src/params/collect.rs", "JSON numbers that are no integers are refused"),
    ("src/params/complaints.rs", "validator's bounds may be floats"),
    ("src/params/tests.rs", "JSON numbers that are no integers are refused"),
    ("src/params/values.rs", "JSON numbers that are no integers are refused"),
    ("tests/it/http/requests/anything.rs", "JSON numbers of any kind are sent"),
];

/// Files that hold examples of what the rules forbid.
const SAMPLES: &str = "tests/it/architecture.rs";

const RULES: &[Rule] = &[
    Rule {
        name: "api and dashboard decode, call and wrap: no query",
        covers: |path| in_room(path, "api") || in_room(path, "dashboard"),
        wakes: "src/api",
        find: |_, text| crates(text, &["sea_orm"]),
        bad: &[("src/api/charges.rs", "use sea_orm::EntityTrait;\n")],
        good: &[("src/api/charges.rs", "// sea_orm is not for us\nuse crate::services::charges;\n")],
    },
    Rule {
        name: "services know no HTTP",
        covers: |path| in_room(path, "services"),
        wakes: "src/services",
        find: |path, text| {
            // Parameters and views describe themselves for the document.
            let libraries = if services::is_shape(path) { &["axum"][..] } else { &["axum", "utoipa"] };
            [crates(text, libraries), rooms(text, &["api", "dashboard"])].concat()
        },
        bad: &[
            ("src/services/charges/capture.rs", "fn f(_: axum::Json<u8>) {}\n"),
            ("src/services/charges.rs", "use utoipa::ToSchema;\n"),
            ("src/services.rs", "use crate::api::auth::Account;\n"),
            ("src/services/cards.rs", "use crate::{\n    error::Error,\n    api::{self, auth},\n};\n"),
            ("src/services/cards.rs", "use super::super::api;\n"),
            ("src/services/cards/view.rs", "use axum::Json;\n"),
        ],
        good: &[
            (
                "src/services/charges.rs",
                "use crate::{response::{charge, api}, error::Error};\nlet api = 1;\n",
            ),
            ("src/services/charges/view.rs", "use utoipa::ToSchema;\n"),
        ],
    },
    Rule {
        name: "parameters and views know of the services only each other",
        covers: services::is_shape,
        wakes: "src/services",
        find: |path, text| services::beyond_shapes(path, text),
        bad: &[
            ("src/services/charges/view.rs", "crate::services::fees::of(1)\n"),
            ("src/services/accounts/key_params.rs", "use super::authenticate;\n"),
        ],
        good: &[(
            "src/services/charges/view.rs",
            "use crate::services::cards::view::Card;\nuse crate::error::Error;\n",
        )],
    },
    Rule {
        name: "leaves know no room",
        covers: is_leaf,
        wakes: "src/limits.rs",
        find: |_, text| rooms(text, &["services", "api", "dashboard"]),
        bad: &[
            ("src/error.rs", "use crate::api::error::Body;\n"),
            ("src/error/catalogue.rs", "use super::super::services::charges;\n"),
            ("src/params/tree.rs", "use crate::{api, limits};\n"),
        ],
        good: &[("src/limits.rs", "use entity::Amount;\n")],
    },
    Rule {
        name: "the store holds no record of payments",
        covers: |path| path.starts_with("crates/store/"),
        wakes: "crates/store",
        find: records_of_payments,
        bad: &[
            ("crates/store/src/unit/tx.rs", "use entity::{Timestamp, webhook_endpoint};\n"),
            ("crates/store/src/unit/tx.rs", "let row = entity::charge::Entity::find();\n"),
            ("crates/store/src/unit/rows.rs", "sql.push_str(\"INSERT INTO webhooks (id)\");\n"),
        ],
        good: &[
            (
                "crates/store/src/unit/tx.rs",
                "use entity::token::TokenKind;\nuse entity::{TimeSpan, Timestamp, Token};\n",
            ),
            ("crates/store/src/admin/room.rs", "\"DELETE FROM installation WHERE name = 'room'\"\n"),
        ],
    },
    Rule {
        name: "workers are loops that call services",
        covers: |path| in_room(path, "workers"),
        wakes: "src/workers",
        find: |_, text| {
            [crates(text, &["axum", "sea_orm", "utoipa"]), rooms(text, &["api", "dashboard"])].concat()
        },
        bad: &[
            ("src/workers/webhooks.rs", "use crate::api::Reply;\n"),
            ("src/workers.rs", "use sea_orm::Set;\n"),
        ],
        good: &[("src/workers.rs", "use crate::services::webhooks;\n")],
    },
    Rule {
        name: "commands open the database and call services",
        covers: |path| in_room(path, "commands"),
        wakes: "src/commands",
        find: |_, text| crates(text, &["axum", "sea_orm", "utoipa"]),
        bad: &[("src/commands/ledger.rs", "use sea_orm::EntityTrait;\n")],
        good: &[("src/commands/ledger.rs", "use card_payments::services::ledger;\n")],
    },
    Rule {
        name: "a file is read in one sitting",
        covers: |_| true,
        wakes: "src",
        find: too_long,
        bad: &[("src/error.rs", LONG), ("tests/it/charges/mod.rs", LONG)],
        good: &[("tests/it/charges/mod.rs", "\n")],
    },
    Rule {
        name: "a module is named after what it holds",
        covers: |path| path != SAMPLES,
        wakes: "src",
        find: drawers,
        bad: &[
            ("src/utils.rs", ""),
            ("src/api/helpers/mod.rs", ""),
            ("tests/it/common/mod.rs", ""),
            ("src/error.rs", "fn f() {}\npub(crate) mod misc {\n}\n"),
        ],
        good: &[("src/api/extract.rs", "mod body;\n")],
    },
    Rule {
        name: "tests of entity lie beside it: within it they would not run",
        covers: |path| path.starts_with("entity/src/"),
        wakes: "entity/src",
        find: |_, text| matching(text, |line| line.contains("cfg(test)").then(|| "a test".to_owned())),
        bad: &[("entity/src/rate.rs", "#[cfg(test)]\nmod tests {}\n")],
        good: &[("entity/src/rate.rs", "// No #[cfg(test)] here.\n")],
    },
    Rule {
        name: "nothing is left undone",
        covers: |path| path != SAMPLES,
        wakes: "src",
        find: undone,
        bad: &[
            ("src/error.rs", "fn f() { todo!() }\n"),
            ("src/error.rs", "fn f() { unimplemented!(\"x\") }\n"),
            ("tests/it/charges/mod.rs", "#[ignore = \"slow\"]\n"),
            ("src/error.rs", "// Good enough for now.\n"),
            ("src/error.rs", "// TODO: more\n"),
            ("src/error.rs", "// FIXME\n"),
        ],
        good: &[("src/error.rs", "for now in times {}\n/// The terms hold for nowhere else.\n")],
    },
    Rule {
        name: "time comes from the clock",
        // The machine of the simulation gives its programs their time.
        covers: |path| {
            ![SAMPLES, "crates/base/src/clock.rs", "tests/simulation/machine/tests.rs"].contains(&path)
        },
        wakes: "src",
        find: |_, text| {
            matching(text, |line| {
                ["Utc::now", "Local::now", "SystemTime::now", "CURRENT_TIMESTAMP", "current_timestamp()"]
                    .into_iter()
                    .find(|clock| line.contains(clock))
                    .map(|clock| {
                        format!("{clock}: take the time from the clock, tests must be able to move it")
                    })
            })
        },
        bad: &[
            ("src/services/charges.rs", "let now = Utc::now();\n"),
            ("tests/it/charges/mod.rs", "let now = std::time::SystemTime::now();\n"),
            ("migration/src/first.rs", ".default(Expr::current_timestamp())\n"),
        ],
        good: &[("src/services/charges.rs", "let now = clock.now();\n// not Utc::now\n")],
    },
    Rule {
        name: "mutexes are locked by one function",
        covers: |path| is_of_program(path) && path != "crates/base/src/mutex.rs",
        wakes: "crates/base/src/mutex.rs",
        find: |_, text| {
            matching(text, |line| {
                line.contains("PoisonError").then(|| "lock it by base::mutex::lock".to_owned())
            })
        },
        bad: &[
            ("crates/vault/src/seals.rs", "self.0.lock().unwrap_or_else(PoisonError::into_inner)\n"),
            ("crates/base/src/random.rs", "lock.unwrap_or_else(PoisonError::into_inner)\n"),
        ],
        good: &[("crates/vault/src/seals.rs", "lock(&self.0)\n")],
    },
    Rule {
        name: "one module asks which system it runs on",
        // And one file names an allocator, which only a program can have.
        covers: |path| {
            is_of_program(path)
                && !path.starts_with("crates/base/src/platform/")
                && path != "src/allocator.rs"
        },
        wakes: "crates/base/src/platform",
        find: |_, text| {
            matching(text, |line| {
                let systems = ["unix", "windows", "target_os", "target_family"];
                let asks = line.contains("cfg") && words(line).any(|word| systems.contains(&word));
                let calls = ["std::os::", "signal::unix", "signal::windows", "rustix", "\"/proc/"];
                let calls = calls.into_iter().any(|call| line.contains(call));
                (asks || calls).then(|| "base::platform has a function for it, or gets one".to_owned())
            })
        },
        bad: &[
            ("src/check/disk.rs", "use rustix::fs::statvfs;\n"),
            ("crates/store/src/sqlite/file.rs", "use std::os::unix::fs::MetadataExt;\n"),
            ("crates/base/src/clock.rs", "#[cfg(target_os = \"linux\")]\n"),
            ("src/commands/mod.rs", "std::fs::read_to_string(\"/proc/self/loginuid\")\n"),
        ],
        good: &[
            ("src/services/memory/card_testing/windows.rs", "windows.remove(&(rule, subject));\n"),
            ("src/check/disk.rs", "// statvfs of rustix\nuse base::platform::free_bytes;\n"),
        ],
    },
    Rule {
        name: "tests move the clock instead of waiting",
        // The harness waits for processes and sockets, which have no clock of ours; so do programs that are killed. In the simulation all
        // time is simulated.
        covers: |path| {
            let waits = ["tests/it/harness/", "tests/it/crashes", "tests/simulation/"];
            path.starts_with("tests/") && !waits.iter().any(|room| path.starts_with(room)) && path != SAMPLES
        },
        wakes: "tests",
        find: |_, text| {
            matching(text, |line| {
                line.contains("sleep(").then(|| "a sleep: move the clock instead".to_owned())
            })
        },
        bad: &[("tests/it/charges/mod.rs", "tokio::time::sleep(second).await;\n")],
        good: &[("tests/it/charges/mod.rs", "app.clock.advance(days(7));\n")],
    },
    Rule {
        name: "money is an integer",
        covers: |path| path != SAMPLES && !FLOATS.iter().any(|(allowed, _)| *allowed == path),
        wakes: "src",
        find: |_, text| {
            matching(text, |line| {
                let float =
                    ["f64", "f32"].into_iter().find(|float| words(line).any(|word| is_float(word, float)))?;
                Some(format!(
                    "{float}: money is an integer, percentages are exact; other uses are listed with a reason"
                ))
            })
        },
        bad: &[
            ("src/services/fees.rs", "let fee = amount as f64 * 0.0175;\n"),
            ("entity/src/a.rs", "1.5_f32\n"),
        ],
        good: &[
            ("src/api/metrics.rs", "seconds.as_secs_f64()\n"),
            ("src/error.rs", "// no f64\nlet ff64 = 1;\n"),
        ],
    },
];

fn in_room(path: &str, room: &str) -> bool {
    let inside = path.strip_prefix("src/").and_then(|path| path.strip_prefix(room));
    inside.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

fn is_of_program(path: &str) -> bool {
    path.starts_with("src/") || path.starts_with("crates/")
}

fn is_leaf(path: &str) -> bool {
    ["config", "error", "limits", "params", "recorder"].iter().any(|leaf| in_room(path, leaf))
}

/// The tables that the store may name, where, and why.
const TABLES_OF_THE_STORE: &[(&str, &[&str], &str)] = &[
    ("crates/store/src/admin/backup.rs", &["installation"], "a backup says which environment it is of"),
    ("crates/store/src/connect.rs", &["installation"], "says where an installation has moved"),
    ("crates/store/src/admin/copy/change_log.rs", &["installation"], "marks a source that has moved"),
    ("crates/store/src/admin/copy/mod.rs", &["installation"], "says whether the target holds one"),
    ("crates/store/src/admin/copy/table.rs", &["installation"], "the mark of an unfinished copy is no row"),
    ("crates/store/src/admin/copy/writer.rs", &["installation"], "writes the marks of either database"),
    (
        "crates/store/src/citus/distributed.rs",
        &[
            "accounts",
            "acquirer_statements",
            "api_keys",
            "approvals",
            "audit_entries",
            "ended_sessions",
            "installation",
            "person_sessions",
            "reconciliation_exceptions",
            "statement_lines",
            "vault_keys",
        ],
        "places tables",
    ),
    (
        "crates/store/src/admin/inspect.rs",
        &["vault_keys"],
        "when the keys were rotated, without opening them",
    ),
    (
        "crates/store/src/admin/installation_info.rs",
        &["installation", "vault_keys"],
        "read before anything is migrated",
    ),
    ("crates/store/src/admin/room.rs", &["installation"], "written to prove that there is room"),
    ("crates/store/src/citus/unit_call.rs", &["accounts"], "an account's rows lie with its own"),
    ("crates/store/src/sqlite/fault.rs", &["charges", "idempotency_keys"], "messages of SQLite's, in a test"),
];

/// Finds tables, and modules of entity but that of tokens.
fn records_of_payments(path: &str, text: &str) -> Found {
    let tables = sources().iter().filter(|(path, _)| path.starts_with("entity/src")).flat_map(|(_, text)| {
        let named =
            text.lines().filter_map(|line| Some(line.trim().strip_prefix('"')?.split_once("\" [")?.0));
        named.map(str::to_owned).collect::<Vec<_>>()
    });
    let allowed =
        TABLES_OF_THE_STORE.iter().find(|(allowed, ..)| *allowed == path).map_or(&[][..], |it| it.1);
    let tables: Vec<_> = tables.filter(|table| !allowed.contains(&table.as_str())).collect();
    matching(text, |line| {
        let table = words(line).find(|word| tables.iter().any(|table| table == word));
        let mut of_entity = line.split("entity::").skip(1).flat_map(words);
        let module = of_entity.find(|word| word.starts_with(char::is_lowercase) && *word != "token");
        table.or(module).map(|name| format!("names {name}"))
    })
}

fn too_long(_: &str, text: &str) -> Found {
    let lines = text.lines().count();
    Vec::from_iter(
        (lines > LINES_MAX)
            .then(|| (LINES_MAX, format!("{lines} lines, at most {LINES_MAX}: split it by verb"))),
    )
}

fn drawers(path: &str, text: &str) -> Found {
    let is_drawer = |name: &&str| {
        ["utils", "util", "helpers", "helper", "common", "misc"].contains(&name.trim_end_matches(".rs"))
    };
    let mut found = matching(text, |line| {
        let name = words(line).skip_while(|word| *word != "mod").nth(1).filter(is_drawer)?;
        Some(format!("a module named {name}"))
    });
    found.extend(path.split('/').filter(is_drawer).map(|name| (1, format!("a module named {name}"))));
    found
}

/// Comments count here.
fn undone(_: &str, text: &str) -> Found {
    let mut found = Found::new();
    for (index, line) in text.lines().enumerate() {
        let marks = ["todo!", "unimplemented!", "#[ignore", "TODO", "FIXME"];
        let mark = marks.into_iter().find(|mark| line.contains(mark));
        let lower = line.to_lowercase();
        let words: Vec<_> = words(&lower).collect();
        // `for now in times` is a loop.
        let postponed = words
            .windows(2)
            .enumerate()
            .any(|(at, pair)| pair == ["for", "now"] && words.get(at + 2) != Some(&"in"));
        found.extend(mark.or(postponed.then_some("for now")).map(|mark| (index + 1, format!("says {mark}"))));
    }
    found
}

#[test]
fn the_sources_keep_every_rule() {
    let sources = sources();
    let mut broken = Vec::new();
    for rule in RULES {
        for (path, text) in sources.iter().filter(|(path, _)| (rule.covers)(path)) {
            let found = (rule.find)(path, text);
            broken
                .extend(found.iter().map(|(line, wrong)| format!("{path}:{line}: {wrong} ({})", rule.name)));
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn every_rule_covers_a_file_once_its_room_exists() {
    let sources = sources();
    for rule in RULES.iter().filter(|rule| root().join(rule.wakes).exists()) {
        assert!(sources.iter().any(|(path, _)| (rule.covers)(path)), "{}: covers nothing", rule.name);
    }
}

#[test]
fn every_rule_catches_its_bad_samples_and_no_good_one() {
    for rule in RULES {
        let caught = |path, text| (rule.covers)(path) && !(rule.find)(path, text).is_empty();
        for (path, text) in rule.bad {
            assert!(caught(path, text), "{}: does not catch {path}: {text}", rule.name);
        }
        for (path, text) in rule.good {
            assert!(!caught(path, text), "{}: catches {path}: {text}", rule.name);
        }
    }
}

#[test]
fn allowed_floats_are_still_floats() {
    let sources = sources();
    for (path, reason) in FLOATS {
        let used = sources.iter().find(|(name, _)| name == path).is_none_or(|(_, text)| text.contains("f64"));
        assert!(used, "{path} no longer needs its exception ({reason})");
    }
}

const LONG: &str = const { as_text(&[b'\n'; LINES_MAX + 1]) };

const fn as_text(bytes: &'static [u8]) -> &'static str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => "",
    }
}
