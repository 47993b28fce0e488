"""Values as the server reads them (docs/decisions.md, 1, 3, 6, 8, 9 and 16): text that spells a number or a boolean is one,
a number where text is wanted is its text, what is null or blank is absent, what nobody knows is not looked at."""

import json
import re
import urllib.parse

import jsonschema_rs
from schemathesis.core import NotSet

ABSENT = object()
FORM = "application/x-www-form-urlencoded"


def is_valid(case, request):
    """Whether a request that the document calls invalid is a valid one after all, as it was sent."""
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(request.url).query, keep_blank_values=True))
    raw, components = case.operation.definition.raw, case.operation.schema.raw_schema["components"]
    for parameter in raw.get("parameters", ()):
        parameter = resolved(parameter, components)
        if parameter["in"] == "path":
            # Any text is a token, perhaps of nothing.
            continue
        sent = {"query": query, "header": request.headers}[parameter["in"]].get(parameter["name"])
        # No text of a query is stored, so a blank one is absent, as that of a search.
        is_absent = parameter["in"] == "query" and is_blank(sent)
        value = ABSENT if is_absent else read(sent, parameter["schema"], components, wire=True)
        if value is ABSENT:
            if parameter.get("required"):
                return False
        elif not fits(value, parameter["schema"], components):
            return False
    content = raw.get("requestBody", {}).get("content", {})
    if not content:
        return True
    sent = case.body
    # A JSON body that is null is an empty one (1).
    if isinstance(sent, NotSet) or sent is None and case.media_type != FORM:
        sent = {}
    elif case.media_type == FORM and not isinstance(sent, (dict, list)):
        sent = dict(urllib.parse.parse_qsl(str(scalar_text(sent)), keep_blank_values=True))
    if not isinstance(sent, dict):
        return False
    # Beside a secret key the other one is not looked at.
    sent = {name: value for name, value in sent.items() if name != "publishable_api_key"}
    schema = content.get(case.media_type, next(iter(content.values())))["schema"]
    body = read(sent, schema, components, wire=case.media_type == FORM)
    return fits({} if body is ABSENT else body, schema, components)


def fits(value, schema, components):
    return jsonschema_rs.is_valid({"components": components, **schema}, value)


def resolved(schema, components):
    while "$ref" in schema:
        _, _, kind, name = schema["$ref"].split("/")
        schema = components[kind][name]
    return schema


def read(value, schema, components, wire):
    """The value as it is read where the schema stands. On the wire of a form all scalars are text, of several the last counts."""
    schema = resolved(schema, components)
    options = [option for key in ("anyOf", "oneOf") for option in schema.get(key, ()) if option.get("type") != "null"]
    if options:
        readings = [read(value, option, components, wire) for option in options]
        return next((one for one, option in zip(readings, options) if one is not ABSENT and fits(one, option, components)), readings[0])
    kinds = schema.get("type", ())
    kinds = {kinds} if isinstance(kinds, str) else set(kinds)
    if "allOf" in schema:
        kinds, schema = {"object"}, merged(schema, components)
    if wire and isinstance(value, list) and "array" not in kinds:
        value = value[-1] if value else ABSENT
    if value is ABSENT or value is None:
        return ABSENT
    if wire and not isinstance(value, (dict, list)):
        value = value if isinstance(value, str) else json.dumps(value)
    blank = is_blank(value)
    if "object" in kinds:
        if blank:
            return ABSENT
        if not isinstance(value, dict) or "properties" not in schema:
            return value
        fields = {name: read(value[name], field, components, wire) for name, field in schema["properties"].items() if name in value}
        return {name: field for name, field in fields.items() if field is not ABSENT}
    if "array" in kinds:
        items = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else [value]
        return [read(item, schema.get("items", {}), components, wire) for item in items if not is_blank(item)]
    if "string" in kinds:
        text = scalar_text(value)
        if schema.keys() & {"enum", "format", "pattern"}:
            return ABSENT if blank else text.strip() if isinstance(text, str) else text
        return "" if blank else text
    if blank:
        return ABSENT
    text = scalar_text(value)
    if "boolean" in kinds and isinstance(text, str) and text.strip().lower() in ("true", "1", "false", "0"):
        return text.strip().lower() in ("true", "1")
    if kinds & {"integer", "number"} and not isinstance(value, bool) and isinstance(text, str):
        if re.fullmatch(r"[+-]?[0-9]+", text.strip()):
            return int(text)
        if "number" in kinds and re.fullmatch(r"[+-]?[0-9.]+([eE][+-]?[0-9]+)?", text.strip()):
            return float(text)
    return value


def is_blank(value):
    if isinstance(value, list):
        return all(is_blank(item) for item in value)
    return value is None or value == {} or isinstance(value, str) and not value.strip()


def scalar_text(value):
    if isinstance(value, bool) or isinstance(value, (int, float)):
        return json.dumps(value)
    return value


def merged(schema, components):
    properties = {}
    for part in schema["allOf"]:
        properties |= resolved(part, components).get("properties", {})
    return {"type": "object", "properties": properties}
