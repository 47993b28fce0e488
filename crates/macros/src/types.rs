//! Schemas of types that are texts on the wire, and of optional fields.

use syn::{Attribute, Field, GenericArgument, PathArguments, Type, parse_quote};

/// Returns the kinds of tokens, each with its type and prefix. The file is a link, as that of limits is.
fn kinds() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    include_str!("../token.rs").lines().filter_map(|line| {
        let [kind, token, prefix] = line.split_whitespace().collect::<Vec<_>>()[..] else { return None };
        Some((kind, token, prefix.strip_prefix('"')?.strip_suffix('"')?))
    })
}

/// Returns the prefix of a kind of tokens, if the name is the type of one.
fn prefix(name: &str) -> Option<&'static str> {
    kinds().find_map(|(_, token, prefix)| (token == name).then_some(prefix))
}

/// Returns the prefix of the tokens that a parameter of this name takes.
fn prefix_of_parameter(name: &str) -> Option<&'static str> {
    let noun = name.strip_suffix("_token").or_else(|| name.ends_with("_file").then_some("file"))?;
    let noun = noun.strip_prefix("primary_").unwrap_or(noun).replace('_', "");
    kinds().find_map(|(kind, _, prefix)| kind.eq_ignore_ascii_case(&noun).then_some(prefix))
}

/// Returns the pattern of a token.
fn token(prefix: &str) -> String {
    format!("{prefix}[A-Za-z0-9_-]{{22}}")
}

/// Adds the schema of a type that is text on the wire.
pub fn publish(field: &mut Field) {
    let schema = crate::attributes(field, "schema");
    if schema.contains("value_type") || schema.contains("schema_with") {
        return;
    }
    let has_example = schema.contains("example");
    let outer = field.ty.clone();
    let optional = argument("Option", &outer);
    let patch = argument("Patch", optional.unwrap_or(&outer));
    let inner = patch.or(optional).unwrap_or(&outer);
    let name = name(inner);
    let wire: Type = match &*name {
        "Secret" | "HttpUrl" | "Timestamp" | "Currency" => parse_quote!(String),
        _ if prefix(&name).is_some() => parse_quote!(String),
        _ if patch.is_some() => inner.clone(),
        _ => return,
    };
    let is_optional = optional.or(patch).is_some();
    let mut add = |attribute: Attribute| field.attrs.push(attribute);
    add(if is_optional {
        parse_quote!(#[schema(value_type = Option<#wire>)])
    } else {
        parse_quote!(#[schema(value_type = #wire)])
    });
    if let Some(prefix) = prefix(&name) {
        let pattern = format!("^{}$", token(prefix));
        add(parse_quote!(#[schema(pattern = #pattern)]));
    }
    match &*name {
        "Timestamp" => add(parse_quote!(#[schema(format = DateTime)])),
        "Currency" => add(parse_quote!(#[schema(min_length = 3, max_length = 3, example = "AUD")])),
        _ if is_optional || has_example => {}
        _ => {
            if let Some(prefix) = prefix(&name) {
                let example = format!("{prefix}AZqYv3rVcBKUQ1mHn7tKRw");
                add(parse_quote!(#[schema(example = #example)]));
            }
        }
    }
}

/// Adds that an optional field is always there, as null if need be, or that it is skipped and never null.
pub fn publish_presence(field: &mut Field) {
    let schema = crate::attributes(field, "schema");
    if argument("Option", &field.ty).is_none() || schema.contains("required") || schema.contains("nullable") {
        return;
    }
    let is_skipped = crate::attributes(field, "serde").contains("skip_serializing_if");
    field.attrs.push(if is_skipped {
        parse_quote!(#[schema(nullable = false)])
    } else {
        parse_quote!(#[schema(required)])
    });
}

/// Adds that an optional parameter is left out rather than null, unless null means something of its own, as a `Patch` that must be
/// sent. Adds the pattern of a token that is read as text, which is empty where that clears it.
pub fn publish_absence(field: &mut Field) {
    let schema = crate::attributes(field, "schema");
    let optional = argument("Option", &field.ty);
    if optional.is_some() && !["required", "nullable", "schema_with"].iter().any(|word| schema.contains(word))
    {
        field.attrs.push(parse_quote!(#[schema(nullable = false)]));
    }
    let parameter = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
    if let Some(prefix) = prefix_of_parameter(&parameter).filter(|_| !schema.contains("pattern")) {
        let is_cleared = optional.and_then(|inner| argument("Patch", inner)).is_some();
        let pattern =
            if is_cleared { format!("^({})?$", token(prefix)) } else { format!("^{}$", token(prefix)) };
        field.attrs.push(parse_quote!(#[schema(pattern = #pattern)]));
    }
}

fn name(ty: &Type) -> String {
    let Type::Path(path) = ty else { return String::new() };
    path.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default()
}

fn argument<'t>(generic: &str, ty: &'t Type) -> Option<&'t Type> {
    let Type::Path(path) = ty else { return None };
    let segment = path.path.segments.last().filter(|segment| segment.ident == generic)?;
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    if let GenericArgument::Type(inner) = arguments.args.first()? { Some(inner) } else { None }
}
