//! Schemas of types that are texts on the wire, and of optional fields.

use syn::{Attribute, Field, GenericArgument, PathArguments, Type, parse_quote};

/// Returns the prefix of a kind of tokens, if the name is one's. The file is a link, as that of limits is.
fn prefix(name: &str) -> Option<&'static str> {
    include_str!("../token.rs").lines().find_map(|line| {
        let [_, token, prefix] = line.split_whitespace().collect::<Vec<_>>()[..] else { return None };
        prefix.strip_prefix('"')?.strip_suffix('"').filter(|_| token == name)
    })
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

fn name(ty: &Type) -> String {
    let Type::Path(path) = ty else { return String::new() };
    path.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default()
}

/// Returns the argument of a generic type of this name.
fn argument<'t>(generic: &str, ty: &'t Type) -> Option<&'t Type> {
    let Type::Path(path) = ty else { return None };
    let segment = path.path.segments.last().filter(|segment| segment.ident == generic)?;
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    if let GenericArgument::Type(inner) = arguments.args.first()? { Some(inner) } else { None }
}
