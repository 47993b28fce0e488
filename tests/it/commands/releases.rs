//! Releases: what `deploy/release.sh` makes, and the container that is made of it (docs/operating/upgrade.md).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::harness::process::{Process, free_address, output, pause, program};
use crate::webhooks::verifiers::{PYTHON, installed, root};

fn text(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// What a command of this program says of a server: by its exit code, and in words.
fn run(arguments: &[&str], listen: &str) -> (Option<i32>, String, String) {
    let nowhere = folder();
    let output = output(program(nowhere.path()).env("CARD_PAYMENTS_LISTEN", listen).args(arguments));
    assert_eq!(std::fs::read_dir(nowhere.path()).unwrap().count(), 0, "it needs no database");
    output
}

/// The arguments after `instruction` of the container's file, where they are a list.
fn listed(instruction: &str) -> Vec<String> {
    let file = text("deploy/Containerfile").replace("\\\n", " ");
    let line = file.lines().find(|line| line.starts_with(instruction)).unwrap().to_owned();
    serde_json::from_str(&line[line.find('[').unwrap()..]).unwrap()
}

#[test]
fn the_containers_health_check_tells_a_living_server_from_a_dead_one() {
    let data = folder();
    // No other test listens there once it has ended.
    let address = free_address().to_string();
    let server = Process::start(program(data.path()).env("CARD_PAYMENTS_LISTEN", address));
    // As in the container, where it listens on all addresses.
    let port = server.address.port();
    let listen = format!("0.0.0.0:{port}");
    let check = listed("HEALTHCHECK");
    assert_eq!(check[0], listed("ENTRYPOINT")[0]);
    let check: Vec<_> = check[1..].iter().map(String::as_str).collect();
    assert_eq!(run(&check, &listen), (Some(0), "ok\n".into(), String::new()));
    server.stopped();
    let (code, stdout, stderr) = run(&check, &listen);
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert_eq!(stderr.lines().count(), 1);
    assert!(stderr.starts_with(&format!("error: http://127.0.0.1:{port}/healthz: ")), "{stderr}");
}

#[test]
fn a_server_that_is_about_to_stop_is_well_and_not_ready() {
    let data = folder();
    let server = Process::start(program(data.path()).env("CARD_PAYMENTS_DRAIN_SECONDS", "600"));
    let listen = server.address.to_string();
    assert_eq!(run(&["health", "--ready"], &listen).0, Some(0));
    server.terminate();
    while run(&["health", "--ready"], &listen).0 == Some(0) {
        pause(Duration::from_millis(10));
    }
    let refused = format!("error: http://{listen}/readyz answered 503\n");
    assert_eq!(run(&["health", "--ready"], &listen), (Some(1), String::new(), refused));
    assert_eq!(run(&["health"], &listen).0, Some(0));
    server.terminate();
    assert_eq!(server.ended().0, Some(0));
}

#[test]
fn an_operators_own_listener_is_asked_where_there_is_one() {
    let data = folder();
    let server = Process::start(&mut program(data.path()));
    let own = server.address.to_string();
    assert_eq!(run(&["health", "--admin-listen", &own], "127.0.0.1:1").0, Some(0));
    server.stopped();
}

#[test]
fn the_container_starts_the_program_that_the_release_makes() {
    let (file, script) = (text("deploy/Containerfile"), text("deploy/release.sh"));
    let program = listed("ENTRYPOINT")[0].clone();
    let name = program.trim_start_matches('/');
    assert!(file.contains(&format!("\nCOPY {name}-linux-${{TARGETARCH}} {program}\n")));
    assert!(script.contains(&format!("=$dist/{name}-${{platforms[$target]}}$suffix\n")));
    let targets = text("deploy/targets.sh");
    for (target, architecture) in [("x86_64", "amd64"), ("aarch64", "arm64")] {
        assert!(targets.contains(&format!("[{target}-unknown-linux-musl]=linux-{architecture}\n")));
    }
    let last = file.rsplit("\nFROM ").next().unwrap();
    assert!(last.starts_with("scratch\n"), "nothing else is in it");
    let user = last.lines().find_map(|line| line.strip_prefix("USER ")).unwrap();
    assert!(user.split(':').all(|id| id.parse::<u32>().is_ok_and(|id| id > 0)), "{user}");
    assert_eq!(listed("CMD"), ["serve"]);
}

/// What an image does with the files that are copied into it.
fn instructions(file: &str) -> Vec<String> {
    let file = text(file);
    let last = file.rsplit("\nFROM ").next().unwrap();
    let lines =
        last.lines().filter(|line| !["#", "COPY ", "ARG "].iter().any(|start| line.starts_with(start)));
    lines.map(str::to_owned).collect()
}

#[test]
fn the_image_from_the_sources_is_like_that_of_a_release() {
    let image = instructions("deploy/Containerfile");
    assert!(image.iter().any(|line| line.starts_with("ENTRYPOINT ")), "{image:?}");
    assert_eq!(instructions("deploy/Containerfile.source"), image);
}

#[test]
fn the_image_from_the_sources_has_all_that_the_manifest_names() {
    let (manifest, file) = (text("Cargo.toml"), text("deploy/Containerfile.source"));
    let copied = file.lines().filter_map(|line| line.strip_prefix("COPY "));
    let copied: Vec<_> =
        copied.filter(|line| !line.starts_with("--")).flat_map(|line| line.split(' ')).collect();
    let members = manifest.lines().find_map(|line| line.strip_prefix("members = ")).unwrap();
    let members = members.split('"').skip(1).step_by(2).filter(|member| *member != ".");
    let targets = manifest.lines().filter_map(|line| line.strip_prefix("path = \""));
    for path in members.chain(targets.map(|path| path.trim_end_matches('"'))) {
        assert!(copied.iter().any(|from| Path::new(path).starts_with(from)), "{path} is not copied");
    }
}

#[test]
fn the_program_says_which_release_it_is() {
    let nowhere = folder();
    let (code, stdout, _) = output(program(nowhere.path()).arg("--version"));
    let release = concat!("card-payments ", env!("CARGO_PKG_VERSION"));
    assert!(code == Some(0) && stdout.trim_end().starts_with(release), "{stdout}");
}

/// The target of this machine.
const GNU: &str = "x86_64-unknown-linux-gnu";
/// That of a release.
const MUSL: &str = "x86_64-unknown-linux-musl";

/// The bill of materials of a program for a target.
fn bill(target: &str, commit_time: &str) -> String {
    let mut script = Command::new("python3");
    script.arg(root().join("deploy/sbom.py")).arg(target).arg(root().join("Cargo.toml"));
    let (code, bill, stderr) = output(script.env("SOURCE_DATE_EPOCH", commit_time));
    assert_eq!(code, Some(0), "{stderr}");
    bill
}

/// The checksums of Cargo.lock, by name and version; of what is our own there is none.
fn lock() -> BTreeMap<String, String> {
    let lock = text("Cargo.lock");
    let field = |package: &str, name: &str| {
        let line = package.lines().find_map(|line| line.strip_prefix(&format!("{name} = \"")));
        line.map(|line| line.trim_end_matches('"').to_owned())
    };
    let packages = lock.split("[[package]]\n").skip(1);
    let named = packages.map(|it| {
        let name = format!("{} {}", field(it, "name").unwrap(), field(it, "version").unwrap());
        (name, field(it, "checksum").unwrap_or_default())
    });
    named.collect()
}

#[test]
fn the_bill_of_materials_names_what_is_built_in_and_nothing_else() {
    let bill_text = bill(GNU, "1795287642");
    assert_eq!(bill_text, bill(GNU, "1795287642"), "the same commit has the same bill");
    let bill: Value = serde_json::from_str(&bill_text).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned();
    let components = bill["components"].as_array().unwrap();
    let known = lock();
    let mut crates = BTreeSet::new();
    let mut others = Vec::new();
    for component in components {
        assert!(component["licenses"].as_array().is_some_and(|licenses| !licenses.is_empty()), "{component}");
        if !text(&component["purl"]).starts_with("pkg:cargo/") {
            others.push(text(&component["name"]));
            continue;
        }
        let named = format!("{} {}", text(&component["name"]), text(&component["version"]));
        let checksum = component["hashes"][0]["content"].as_str().unwrap_or_default();
        assert_eq!(known[&named], checksum, "{named}");
        crates.insert(text(&component["name"]));
    }
    assert_eq!(others, ["rust-std", "sqlite", "jemalloc"]);
    for (name, built_in) in [
        ("axum", true),
        ("card-payments-entity", true),
        ("libsqlite3-sys", true),
        ("ring", true),
        ("sqlx-postgres", true),
        ("proptest", false),
        ("jsonschema", false),
        ("rcgen", false),
        ("tikv-jemallocator", true),
    ] {
        assert_eq!(crates.contains(name), built_in, "{name}");
    }
    let refs: BTreeSet<_> = components.iter().map(|component| text(&component["bom-ref"])).collect();
    assert_eq!(refs.len(), components.len());
    let nodes = bill["dependencies"].as_array().unwrap();
    let mut needed: BTreeSet<_> =
        nodes.iter().flat_map(|node| node["dependsOn"].as_array().unwrap()).map(text).collect();
    assert_eq!(needed, refs, "everything is there because something needs it");
    needed.insert(text(&bill["metadata"]["component"]["bom-ref"]));
    needed.retain(|it| it.starts_with("pkg:cargo/"));
    assert_eq!(nodes.iter().map(|node| text(&node["ref"])).collect::<BTreeSet<_>>(), needed);
    assert_eq!(bill["metadata"]["timestamp"], "2026-11-21T19:00:42Z");
}

/// What the bill of a program for a target names that is no crate, with versions.
fn others(target: &str) -> Vec<String> {
    let bill: Value = serde_json::from_str(&bill(target, "1795287642")).unwrap();
    let purls =
        bill["components"].as_array().unwrap().iter().map(|component| component["purl"].as_str().unwrap());
    purls.filter_map(|purl| purl.strip_prefix("pkg:generic/")).map(str::to_owned).collect()
}

#[test]
fn the_bill_of_a_release_names_the_c_library_that_is_linked_in() {
    let (code, sysroot, _) = output(Command::new("rustc").args(["--print", "sysroot"]));
    assert_eq!(code, Some(0));
    if !Path::new(sysroot.trim()).join("lib/rustlib").join(MUSL).exists() {
        // Who makes no release needs no such target.
        return;
    }
    let (static_program, own) = (others(MUSL), others(GNU));
    let more: Vec<_> = static_program.iter().filter(|name| !own.contains(name)).collect();
    assert!(matches!(&more[..], [musl] if musl.starts_with("musl@1.")), "{more:?}");
    let version = lock()
        .into_keys()
        .find_map(|name| name.strip_prefix("tikv-jemalloc-sys ").map(str::to_owned))
        .unwrap();
    let jemalloc = own.iter().find_map(|name| name.strip_prefix("jemalloc@")).unwrap();
    assert!(version.contains(&format!("+{jemalloc}-")), "{version} holds {jemalloc}");
}

#[test]
fn the_bill_of_materials_keeps_the_schema_of_cyclonedx() {
    if !installed() {
        return;
    }
    let folder = folder();
    let file = folder.path().join("bill.json");
    let mut bill: Value = serde_json::from_str(&bill(GNU, "1795287642")).unwrap();
    // One crate is written like the next, and each takes the validator 50 ms.
    let mut number = 0;
    bill["components"].as_array_mut().unwrap().retain(|component| {
        number += 1;
        number % 10 == 1 || !component["purl"].as_str().is_some_and(|name| name.starts_with("pkg:cargo/"))
    });
    std::fs::write(&file, bill.to_string()).unwrap();
    let mut validator = Command::new(root().join(PYTHON));
    let (code, _, stderr) = output(validator.arg(root().join("tests/verifiers/bill.py")).arg(&file));
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    // The same program finds fault with what is none.
    std::fs::write(
        &file,
        r#"{"bomFormat": "CycloneDX", "specVersion": "1.5", "components": [{"name": "x"}]}"#,
    )
    .unwrap();
    let mut validator = Command::new(root().join(PYTHON));
    assert_eq!(output(validator.arg(root().join("tests/verifiers/bill.py")).arg(&file)).0, Some(1));
}
