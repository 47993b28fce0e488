//! Bounds of values, from `#[validate(length(...), range(...))]` and from types: a text that is required is not blank.

use std::collections::HashMap;
use std::sync::LazyLock;

use proc_macro2::Literal;
use quote::{format_ident, quote};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, ExprLit, Field, Lit, Meta, MetaNameValue, Token, Type, parse_quote};

/// The largest integer that every JSON reader holds exactly. The decoder refuses larger ones.
const INTEGER_MAX: i64 = 9_007_199_254_740_991;

/// The numbers that rules name. Schemas need them as literals. The file is a link, which a published crate holds as a copy.
static LIMITS: LazyLock<HashMap<&str, i64>> = LazyLock::new(|| {
    let constant = |line: &'static str| {
        let (name, value) = line.strip_prefix("pub const ")?.strip_suffix(';')?.split_once(" = ")?;
        Some((name.split_once(':')?.0, value.replace('_', "").parse().ok()?))
    };
    include_str!("../limits.rs").lines().filter_map(constant).collect()
});

/// Adds the bounds of a field to its schema.
pub fn publish(field: &mut Field) -> syn::Result<()> {
    let ty = &field.ty;
    let words = quote!(#ty).to_string();
    let is = |wanted: &str| words.split(' ').any(|word| word == wanted);
    let size = if is("Vec") { "items" } else { "length" };
    let mut bounds = Vec::new();
    let mut is_never_blank = is_required_text(ty);
    for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("validate")) {
        for rule in attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)? {
            let Meta::List(rule) = rule else { continue };
            is_never_blank |= rule.path.is_ident("custom") && rule.tokens.to_string().contains("not_blank");
            let is_length = rule.path.is_ident("length");
            if !is_length && !rule.path.is_ident("range") {
                continue;
            }
            for bound in rule.parse_args_with(Punctuated::<MetaNameValue, Token![,]>::parse_terminated)? {
                let (end, value) = (bound.path.require_ident()?, value(&bound.value)?);
                bounds.push(if is_length {
                    (format_ident!("{end}_{size}"), Literal::i64_unsuffixed(value))
                } else {
                    (format_ident!("{end}imum"), Literal::i64_suffixed(value))
                });
            }
        }
    }
    let schema = crate::attributes(field, "schema");
    // A pattern says it already.
    is_never_blank &= !schema.contains("pattern =");
    if is_never_blank && !bounds.iter().any(|(name, _)| name == "min_length") {
        bounds.push((format_ident!("min_length"), Literal::i64_unsuffixed(1)));
    }
    if is("i64") && !bounds.iter().any(|(name, _)| name == "maximum") {
        bounds.push((format_ident!("maximum"), Literal::i64_suffixed(INTEGER_MAX)));
    }
    // The format of a date says how long it is.
    if !bounds.is_empty() && !schema.contains("format = Date") {
        let (names, values): (Vec<_>, Vec<_>) = bounds.into_iter().unzip();
        field.attrs.push(parse_quote!(#[schema(#(#names = #values),*)]));
    }
    Ok(())
}

/// Returns whether a type is a text that the decoder refuses if it is blank.
fn is_required_text(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    path.path.segments.last().is_some_and(|last| {
        ["String", "Secret", "HttpUrl"].iter().any(|text| last.ident == text) && last.arguments.is_none()
    })
}

/// Returns the number that a literal or a limit stands for.
fn value(expression: &Expr) -> syn::Result<i64> {
    let value = if let Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) = expression {
        number.base10_parse().ok()
    } else if let Expr::Path(path) = expression {
        path.path.get_ident().and_then(|name| LIMITS.get(&*name.to_string()).copied())
    } else {
        None
    };
    value.ok_or_else(|| Error::new_spanned(expression, "is neither an integer nor a limit in src/limits.rs"))
}
