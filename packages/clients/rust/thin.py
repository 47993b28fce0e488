"""Rewrites the generated Rust in a folder of sources: thin.py FOLDER. An operation makes its request and hands it to the Client, which
is written by hand; a null is absent, so one Option is enough; and each page of a list is a Page."""

import re
import sys
from pathlib import Path

OPERATIONS = [
    (r"use crate::\{apis::ResponseContent, models\};\nuse super::.*;", "use crate::{Client, Error, models};"),
    (r"use serde::\{.*Error as _\};\n", ""),
    (r"#\[derive\(Clone, Debug\)\]\npub struct", "#[derive(Clone, Debug, Default)]\npub struct"),
    (r"/// struct for typed errors of method .*?\n}\n+", ""),
    (r"configuration: &configuration::Configuration", "client: &Client"),
    (r"Error<\w+Error>>", "Error>"),
    # The address and the key are the client's.
    (r"\"\{\}(/.*)\", configuration\.base_path", r'"\1"'),
    (r"configuration\.client\.", "client."),
    (r"    if let Some\(ref \w+\) = configuration\.\w+ \{\n(?: {8}.*\n)*    \};?\n", ""),
    (r"crate::apis::urlencode", "crate::client::encode"),
    (r"    let req = req_builder\.build.*?\n}\n", "    client.send(req_builder).await\n}\n"),
]
MODELS = [
    (r'default, with = "::serde_with::rust::double_option", ', ""),
    (r"Option<Option<(.*)>>", r"Option<\1>"),
]
PAGE = re.compile(r"pub struct (\w+) \{.*pub response: Vec<(models::\w+)>.*pub pagination: ", re.DOTALL)
IS_PAGE = """
impl crate::Page for {} {{
    type Item = {};

    fn position(&self) -> (i64, i64) {{
        (self.pagination.count, self.pagination.per_page)
    }}

    fn into_items(self) -> Vec<Self::Item> {{
        self.response
    }}
}}
"""


def rewrite(file, rules):
    text = file.read_text()
    for pattern, by in rules:
        text = re.sub(pattern, by, text, flags=re.DOTALL if ".*?" in pattern else 0)
    if rules is OPERATIONS and (left := re.findall(r".*configuration.*", text)):
        sys.exit(f"{file}: {left[0]}")
    page = PAGE.search(text) if rules is MODELS else None
    file.write_text(text + IS_PAGE.format(*page.groups()) if page else text)


def main(folder):
    for file in folder.glob("apis/*_api.rs"):
        rewrite(file, OPERATIONS)
    for file in folder.glob("models/*.rs"):
        rewrite(file, MODELS)
    sections = re.findall(r"pub mod \w+_api;\n", (folder / "apis/mod.rs").read_text())
    (folder / "apis/mod.rs").write_text("".join(sections))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
