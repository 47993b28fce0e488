//! Enums whose values are words: the same in a column, in JSON and in a request.

use serde_json::Value;
use utoipa::PartialSchema;
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};

/// Defines an enum with one word per variant, so that no word is spelled twice.
///
/// A `closed enum` is also a schema of the document that lists its words: clients may rely on there being no others. An `open enum`
/// is a schema of any text that tells its words: more may join, and clients accept unknown ones. A schema is `without` the word that
/// the API never shows.
macro_rules! string_enum {
    ($(#[doc = $about:literal])* pub enum $name:ident { $($words:tt)+ }) => {
        string_enum! { @define [$($about)*] $name { $($words)+ } }
    };

    ($(#[doc = $about:literal])* pub closed enum $name:ident $(without $hidden:ident)? { $($words:tt)+ }) => {
        string_enum! { @define [$($about)*] $name { $($words)+ } }
        string_enum! { @publish closed [$($about)*] $name $($hidden)? }
    };

    ($(#[doc = $about:literal])* pub open enum $name:ident { $($words:tt)+ }) => {
        string_enum! { @define [$($about)*] $name { $($words)+ } }
        string_enum! { @publish open [$($about)*] $name }
    };

    (@publish $kind:ident [$($about:literal)*] $name:ident $($hidden:ident)?) => {
        impl ::utoipa::ToSchema for $name {}

        impl ::utoipa::PartialSchema for $name {
            fn schema() -> ::utoipa::openapi::RefOr<::utoipa::openapi::Schema> {
                let words = Self::WORDS.iter();
                $(let words = words.filter(|(word, _)| *word != Self::$hidden);)?
                let words: Vec<_> = words.map(|(word, about)| (word.code(), *about)).collect();
                $crate::string_enum::$kind(concat!($($about),*).trim_ascii(), &words).into()
            }
        }
    };

    (
        @define [$($about:literal)*]
        $name:ident { $( $(#[doc = $note:literal])* $variant:ident $code:literal ),+ $(,)? }
    ) => {
        $(#[doc = $about])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord,
            ::sea_orm::EnumIter, ::sea_orm::DeriveActiveEnum, ::serde::Serialize, ::serde::Deserialize,
        )]
        #[sea_orm(rs_type = "String", db_type = "String(::sea_orm::sea_query::StringLen::None)")]
        pub enum $name {
            $(
                #[doc = concat!("`", $code, "`")]
                $(#[doc = $note])*
                #[sea_orm(string_value = $code)]
                #[serde(rename = $code)]
                $variant,
            )+
        }

        impl $name {
            /// All values, in the order of their definition.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// All values, each with the sentence about it, which may be empty.
            pub const WORDS: &[(Self, &str)] = &[$((Self::$variant, concat!($($note),*).trim_ascii())),+];

            /// Returns the word.
            pub const fn code(self) -> &'static str {
                match self {
                    $(Self::$variant => $code,)+
                }
            }

            /// Returns the value of a word.
            pub fn from_code(code: &str) -> Option<Self> {
                match code {
                    $($code => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

/// Returns the schema of a closed set of words, each with its sentence, which may be empty.
pub fn closed(about: &str, words: &[(&str, &str)]) -> Object {
    let codes: Vec<_> = words.iter().map(|(code, _)| *code).collect();
    text(about, words).enum_values(Some(codes)).build()
}

/// Returns the schema of an open set of words.
pub fn open(about: &str, words: &[(&str, &str)]) -> Object {
    let codes: Vec<_> = words.iter().map(|(code, _)| *code).collect();
    text(about, words).examples(codes).build()
}

fn text(about: &str, words: &[(&str, &str)]) -> ObjectBuilder {
    let described = words.iter().filter(|(_, about)| !about.is_empty());
    let lines: Vec<_> = described.map(|(code, about)| format!("- `{code}`: {about}")).collect();
    let about = if lines.is_empty() { about.to_owned() } else { format!("{about}\n\n{}", lines.join("\n")) };
    ObjectBuilder::new().schema_type(Type::String).description(Some(about))
}

/// Returns the schema of the words of a closed set and the empty text.
pub fn or_empty<Words: PartialSchema>(about: &str) -> Object {
    let RefOr::T(Schema::Object(words)) = Words::schema() else { unreachable!("words are text") };
    let codes = words.enum_values.into_iter().flatten();
    let codes = std::iter::once(Value::from("")).chain(codes);
    ObjectBuilder::new().schema_type(Type::String).description(Some(about)).enum_values(Some(codes)).build()
}
