"""Writes the events of a client that depend on the document: events.py DOCUMENT LANGUAGE. Each type of event has a class, which the
discriminator of KnownEvent names; the verifiers of webhooks choose by it."""

import json
import re
import sys
from pathlib import Path

DOCUMENT = json.loads(Path(sys.argv[1]).read_text())
SCHEMAS = DOCUMENT["components"]["schemas"]
TYPES = {name: schema.rsplit("/", 1)[1] for name, schema in SCHEMAS["KnownEvent"]["discriminator"]["mapping"].items()}
CLASSES = sorted(set(TYPES.values()))


def lines(pattern, rows=None):
    """Writes a line for each type of event, or for each class."""
    rows = TYPES.items() if rows is None else [(name, name) for name in rows]
    return "\n".join(pattern.format(name=name, schema=schema, words=words(schema), about=about(schema)) for name, schema in rows)


def words(schema):
    return re.sub(r"(?<!^)([A-Z])", r"_\1", schema).lower()


def about(schema):
    return SCHEMAS[schema]["description"]


def python():
    imports = lines("from .models.{words} import {schema}", CLASSES)
    return f'''"""The events that this client knows."""

from typing import TypeAlias

{imports}

KnownEvent: TypeAlias = (
    {f"{chr(10)}    | ".join(CLASSES)}
)

CLASSES: dict[str, type[KnownEvent]] = {{
{lines('    "{name}": {schema},')}
}}
'''


def go():
    return f"""package cardpaymentsclient

// Makes an empty event of each type that this client knows.
var knownEvents = map[string]func() WebhookEvent{{
{lines('	"{name}": func() WebhookEvent {{ return &{schema}{{}} }},')}
}}
"""


def java():
    return f"""package cardpayments.client;

import cardpayments.client.model.*;
import java.util.Map;

/** The events that this client knows. */
final class KnownEvents {{
    static final Map<String, Class<? extends WebhookEvent>> CLASSES = Map.ofEntries(
{lines('            Map.entry("{name}", {schema}.class),')[:-1]});

    private KnownEvents() {{}}
}}
"""


def php():
    return f"""<?php

namespace CardPayments\\Client;

/** The events that this client knows. */
final class KnownEvents
{{
    public const CLASSES = [
{lines("        '{name}' => Model" + chr(92) + "{schema}::class,")}
    ];
}}
"""


def rust():
    arms = "\n".join(
        f"            {' | '.join(f'{json.dumps(name)}' for name, of in TYPES.items() if of == schema)} => "
        f"Self::{variant(schema)}(from_slice(body)?),"
        for schema in CLASSES
    )
    return f"""use serde_json::from_slice;

use crate::models;

/// The event of a webhook: its variant says which record its data are.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum WebhookEvent {{
{"".join(f"    /// {about(schema)}{chr(10)}    {variant(schema)}(models::{schema}),{chr(10)}" for schema in CLASSES)}    /// An event of a type that is newer than this client.
    Newer(models::Event),
}}

impl WebhookEvent {{
    pub(crate) fn read(kind: &str, body: &[u8]) -> serde_json::Result<Self> {{
        Ok(match kind {{
{arms}
            _ => Self::Newer(from_slice(body)?),
        }})
    }}

    /// The event's token: the same in each delivery of the event.
    pub fn token(&self) -> &str {{
        match self {{
{"".join(f"            Self::{variant(schema)}(event) => &event.token,{chr(10)}" for schema in CLASSES)}            Self::Newer(event) => &event.token,
        }}
    }}
}}
"""


def variant(schema):
    return schema.removesuffix("Event")


print(globals()[sys.argv[2]](), end="")
