//! The attributes of what the API reads and shows. Both derive the traits of their struct, and the parts of its schema that follow
//! from the types and rules of its fields.

mod bounds;
mod types;

use proc_macro::TokenStream;
use quote::quote;
use syn::{Attribute, Field, ItemStruct, parse_macro_input};

/// Derives `Deserialize`, `Validate` and `ToSchema` for request parameters. The schema gets the bounds of `#[validate]`.
#[proc_macro_attribute]
pub fn params(_: TokenStream, item: TokenStream) -> TokenStream {
    let mut item = parse_macro_input!(item as ItemStruct);
    for field in &mut item.fields {
        types::publish(field);
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

/// Derives `Clone`, `Serialize`, `ToSchema` and, unless it is a `#[view(secret)]`, `Debug` for a record that the API shows. Every
/// field of the schema is required, except those that are skipped when they are absent.
#[proc_macro_attribute]
pub fn view(secret: TokenStream, item: TokenStream) -> TokenStream {
    let mut item = parse_macro_input!(item as ItemStruct);
    for field in &mut item.fields {
        types::publish(field);
        types::publish_presence(field);
    }
    let debug = secret.is_empty().then(|| quote!(#[derive(Debug)]));
    quote! {
        #debug
        #[derive(Clone, ::serde::Serialize, ::utoipa::ToSchema)]
        #item
    }
    .into()
}

/// Returns the attributes of this name as text.
fn attributes(field: &Field, name: &str) -> String {
    let named = field.attrs.iter().filter(|attribute| attribute.path().is_ident(name));
    named.map(|Attribute { meta, .. }| quote!(#meta).to_string()).collect()
}
