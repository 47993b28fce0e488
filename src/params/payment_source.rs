//! Parameters of payment sources (specification, Payment sources). Their shape depends on their type.

use entity::card::SourceType;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use validator::Validate;

use super::card::NewCard;
use super::{FieldErrors, ParameterTree, Params};
use crate::limits::{NAME_LENGTH_MAX, TEXT_LENGTH_MAX};
use crate::sensitive::secret::{Secret, Withheld};
use crate::wallet::{WalletAToken, WalletGToken};

/// What a payment source is made of.
pub enum NewPaymentSource {
    /// The parameters of a card.
    Card(Params<NewCard>),
    /// A payload of walletA.
    WalletA(WalletAToken),
    /// A payload of walletG.
    WalletG(WalletGToken),
    /// A number of a card network's own, with its proof.
    NetworkToken(Params<NewNetworkToken>),
}

/// A network token as the network gives it.
#[derive(Deserialize, Validate, ToSchema)]
pub struct NewNetworkToken {
    /// The token's number.
    #[schema(value_type = String, example = "4200000000000000")]
    pub number: Secret,
    /// The network's name, kept as sent.
    #[validate(length(max = NAME_LENGTH_MAX))]
    #[schema(max_length = 255, example = "visa")]
    pub network_type: String,
    /// Month of expiry.
    #[validate(range(min = 1, max = 12))]
    #[schema(minimum = 1, maximum = 12, example = 5)]
    pub expiry_month: i64,
    /// Year of expiry; two digits are 20xx.
    #[validate(range(min = 0, max = 9999))]
    #[schema(minimum = 0, maximum = 9999, example = 2030)]
    pub expiry_year: i64,
    /// Electronic commerce indicator.
    #[validate(length(max = NAME_LENGTH_MAX), custom(function = "printable"))]
    #[schema(max_length = 255, example = "05")]
    pub eci: Option<String>,
    /// The network's proof, good for one payment.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(value_type = String, max_length = 1000, example = "AgAAAAAABk4DWZ4C28yUQAAAAAA=")]
    pub cryptogram: Secret,
}

/// An indicator is digits; a line end would end it where it is kept.
fn printable(text: &str) -> Result<(), validator::ValidationError> {
    let said = "is not valid";
    let printable = !text.chars().any(char::is_control);
    if printable { Ok(()) } else { Err(validator::ValidationError::new("eci").with_message(said.into())) }
}

#[derive(Deserialize, Validate)]
struct Typed {
    #[serde(rename = "type")]
    kind: SourceType,
    source: Option<Map<String, Value>>,
}

#[derive(Deserialize, Validate)]
struct Made<S: Validate> {
    #[serde(rename = "type")]
    _kind: SourceType,
    #[validate(nested)]
    source: S,
}

impl NewPaymentSource {
    /// Reads what the type says. A payload that is not whole is refused as any other that cannot be used.
    pub fn read(tree: &impl ParameterTree) -> Result<Self, FieldErrors> {
        let Params { value: typed, mut faults } = tree.params::<Typed>();
        if faults.has("type") {
            if typed.source.is_none() && !faults.has("source") {
                faults.add("source", super::values::BLANK);
            }
            return Err(faults);
        }
        Ok(match typed.kind {
            SourceType::Card => Self::Card(made(tree)),
            SourceType::NetworkToken => Self::NetworkToken(made(tree)),
            SourceType::WalletA => Self::WalletA(whole(tree)?),
            SourceType::WalletG => Self::WalletG(whole(tree)?),
        })
    }
}

fn made<S: DeserializeOwned + Validate>(tree: &impl ParameterTree) -> Params<S> {
    let Params { value, faults } = tree.params::<Made<S>>();
    Params { value: value.source, faults }
}

fn whole<S: DeserializeOwned + Validate>(tree: &impl ParameterTree) -> Result<S, FieldErrors> {
    let Params { value: Withheld(value), faults } = made::<Withheld<S>>(tree);
    let missing = faults.has("source");
    if faults.is_empty() { Ok(value) } else { Err(if missing { faults } else { unusable() }) }
}

/// The only message about a payload that cannot be used.
pub fn unusable() -> FieldErrors {
    let mut faults = FieldErrors::default();
    faults.add("source", super::values::INVALID);
    faults
}
