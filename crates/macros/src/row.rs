//! Records that are made from a row.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Expr, Field};

/// Returns the field's initializer, and removes its `#[shows(...)]`.
pub fn value(field: &mut Field) -> syn::Result<TokenStream> {
    let name = &field.ident;
    if let Some(at) = field.attrs.iter().position(|attribute| attribute.path().is_ident("shows")) {
        let value: Expr = field.attrs.remove(at).parse_args()?;
        return Ok(quote!(#name: #value));
    }
    let text = name.as_ref().map(ToString::to_string).unwrap_or_default();
    let column = match text.strip_suffix("token") {
        Some(record) => Some(format_ident!("{record}id")),
        None => name.clone(),
    };
    Ok(quote!(#name: row.#column))
}
