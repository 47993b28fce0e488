//! The attributes of what the API reads and shows. Both derive the traits of their struct, and the parts of its schema that follow
//! from the types and rules of its fields.

mod bounds;
mod row;
mod types;

use proc_macro::TokenStream;
use quote::quote;
use syn::punctuated::Punctuated;
use syn::{Attribute, Field, ItemStruct, Meta, Token, parse_macro_input};

/// Derives `Deserialize`, `Validate` and `ToSchema` for request parameters. The schema gets the bounds of `#[validate]`.
#[proc_macro_attribute]
pub fn params(_: TokenStream, item: TokenStream) -> TokenStream {
    let mut item = parse_macro_input!(item as ItemStruct);
    for field in &mut item.fields {
        types::publish(field);
        types::publish_absence(field);
        if let Err(error) = bounds::publish(field) {
            return error.into_compile_error().into();
        }
    }
    quote! {
        #[derive(::serde::Deserialize, ::validator::Validate, ::utoipa::ToSchema)]
        #item
    }
    .into()
}

/// Derives `Clone`, `Serialize`, `ToSchema` and, without the option `secret`, `Debug` for a record that the API shows. Every field of
/// the schema is required, except those that are skipped when they are absent.
///
/// The option `of(charge::Model)` makes the record from that row: each field from the column of its name, a token from the id of its
/// name, and a field with `#[shows(row.amount.to_string())]` from that expression.
#[proc_macro_attribute]
pub fn view(options: TokenStream, item: TokenStream) -> TokenStream {
    let options = parse_macro_input!(options with Punctuated::<Meta, Token![,]>::parse_terminated);
    let mut item = parse_macro_input!(item as ItemStruct);
    let mut values = Vec::new();
    for field in &mut item.fields {
        types::publish(field);
        types::publish_presence(field);
        match row::value(field) {
            Ok(value) => values.push(value),
            Err(error) => return error.into_compile_error().into(),
        }
    }
    let name = &item.ident;
    let from = options.iter().filter_map(|option| option.require_list().ok()).map(|of| {
        let row = &of.tokens;
        quote! {
            impl ::core::convert::From<#row> for #name {
                fn from(row: #row) -> Self {
                    Self { #(#values),* }
                }
            }
        }
    });
    let debug =
        (!options.iter().any(|option| option.path().is_ident("secret"))).then(|| quote!(#[derive(Debug)]));
    quote! {
        #debug
        #[derive(Clone, ::serde::Serialize, ::utoipa::ToSchema)]
        #item
        #(#from)*
    }
    .into()
}

fn attributes(field: &Field, name: &str) -> String {
    let named = field.attrs.iter().filter(|attribute| attribute.path().is_ident(name));
    named.map(|Attribute { meta, .. }| quote!(#meta).to_string()).collect()
}
