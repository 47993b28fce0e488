//! What docs/clients.md says about generators is drawn from their table and from the files that pin their versions.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;

use super::generators::GENERATORS;
use super::{Generator, Typed};
use crate::document::site::{committed_below, read};

const PAGE: &str = "docs/clients.md";
/// What a package leaves to its user to choose, and what it runs with.
const PEERS: &[(&str, &str)] = &[
    ("@hey-api/openapi-ts", "typescript"),
    ("openapi-zod-client", "@zodios/core"),
    ("openapi-zod-client", "zod"),
];
const DRAWN: &str = "## The generators\n";

/// What each registry's file pins, and how its client installs that.
fn pinned() -> BTreeMap<String, (String, String)> {
    let mut pinned = BTreeMap::new();
    for file in ["requirements.txt", "requirements-all.txt"] {
        let python = read(&format!("tests/clients/{file}"));
        for (package, version) in python.lines().filter_map(|line| line.split_once("==")) {
            pinned.insert(
                package.to_owned(),
                (version.to_owned(), format!("pip install {package}=={version}")),
            );
        }
    }
    let node: Value = serde_json::from_str(&read("tests/clients/package.json")).unwrap();
    for (package, version) in node["dependencies"].as_object().unwrap() {
        let version = version.as_str().unwrap();
        pinned.insert(package.clone(), (version.to_owned(), format!("npm install {package}@{version}")));
    }
    for (package, version) in read("tests/clients/cargo.txt").lines().filter_map(|line| line.split_once(' '))
    {
        let install = format!("cargo install --locked {package}@{version}");
        pinned.insert(package.to_owned(), (version.to_owned(), install));
    }
    pinned
}

const fn shown(typed: Typed) -> &'static str {
    match typed {
        Typed::ByType => "by `type`",
        Typed::ByCall => "by the call",
        Typed::BySchema => "by its schema",
        Typed::Unread => "",
    }
}

fn drawn() -> String {
    let pinned = pinned();
    let mut page = String::from(
        "\n| generator | version | client in | checked | an event's type | a refusal's type | in |\n|---|---|---|---|---|---|---|\n",
    );
    for Generator { tool, package, language, proof, flow, events, refusals, lacks, long, .. } in GENERATORS {
        let lives = if flow.is_empty() { "" } else { ", lives both flows" };
        let lacks =
            if lacks.is_empty() { String::new() } else { format!(" but for `{}`", lacks.join("`, `")) };
        let run = if *long { ".ci/full" } else { ".ci/run" };
        let version = &pinned[*package].0;
        let (events, refusals) = (shown(*events), shown(*refusals));
        writeln!(
            page,
            "| {tool} | {version} | {language} | complete{lacks}, {proof}{lives} | {events} | {refusals} | `{run}` |"
        )
        .unwrap();
    }
    let mut packages: Vec<&str> = Vec::new();
    for generator in GENERATORS {
        if !packages.contains(&generator.package) {
            packages.push(generator.package);
        }
    }
    for package in packages {
        let rows: Vec<_> = GENERATORS.iter().filter(|generator| generator.package == package).collect();
        writeln!(page, "\n### {}\n\n```", rows[0].tool).unwrap();
        let peers = PEERS.iter().filter(|(of, _)| *of == package);
        page.push_str(&pinned[package].1);
        for (_, peer) in peers {
            write!(page, " {peer}@{}", pinned[*peer].0).unwrap();
        }
        page.push_str("\n\n");
        for Generator { language, make, .. } in rows {
            // The tests run it beside their files, and under Mono; a reader has them in their folder, and what the package asks for.
            let make = make
                .replace("-f progenitor.jq", "-f tests/clients/progenitor.jq")
                .replace("mono node_modules/nswag/bin/binaries/Win/NSwag.exe", "npx nswag");
            writeln!(page, "# {language}\n{make}").unwrap();
        }
        page += "```\n";
    }
    page
}

#[test]
fn the_page_lists_every_generator_with_its_version_and_its_command() {
    committed_below(PAGE, DRAWN, &drawn());
}
