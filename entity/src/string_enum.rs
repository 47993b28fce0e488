//! Enums whose values are words: the same in a column, in JSON and in a request.

/// Defines an enum with one word per variant, so that no word is spelled twice.
macro_rules! string_enum {
    (
        $(#[$about:meta])*
        pub enum $name:ident { $( $(#[$note:meta])* $variant:ident $code:literal ),+ $(,)? }
    ) => {
        $(#[$about])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord,
            ::sea_orm::EnumIter, ::sea_orm::DeriveActiveEnum, ::serde::Serialize, ::serde::Deserialize,
        )]
        #[sea_orm(rs_type = "String", db_type = "String(::sea_orm::sea_query::StringLen::None)")]
        pub enum $name {
            $(
                #[doc = concat!("`", $code, "`")]
                $(#[$note])*
                #[sea_orm(string_value = $code)]
                #[serde(rename = $code)]
                $variant,
            )+
        }

        impl $name {
            /// All values, in the order of their definition.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

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
