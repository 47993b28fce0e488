//! Parameters of payment sources (specification, Payment sources). Their shape depends on their type.

use base::secret::{Secret, Withheld};
use entity::card::SourceType;
use macros::params;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use validator::Validate;
use wallet::{WalletAToken, WalletGToken};

use crate::limits::{NAME_LENGTH_MAX, TEXT_LENGTH_MAX};
use crate::params::{FieldErrors, ParameterTree, Params, rules};
use crate::services::cards::params::NewCard;

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

/// A network token, as the card network has issued it.
#[params]
pub struct NewNetworkToken {
    /// The number of the network token, with or without spaces and hyphens.
    #[schema(pattern = "^[0-9\\s-]*$", example = "4200000000000000")]
    pub number: Secret,
    /// The name of the network, which is shown as it was sent.
    #[validate(length(max = NAME_LENGTH_MAX))]
    #[schema(example = "visa")]
    pub network_type: String,
    /// The month in which the network token expires.
    #[validate(range(min = 1, max = 12))]
    #[schema(example = 5)]
    pub expiry_month: i64,
    /// The year in which the network token expires; two digits mean 20xx.
    #[validate(range(min = 0, max = 9999))]
    #[schema(example = 2030)]
    pub expiry_year: i64,
    /// The electronic commerce indicator; none if absent.
    #[validate(length(max = NAME_LENGTH_MAX), custom(function = "printable"))]
    #[schema(example = "05")]
    pub eci: Option<String>,
    /// The proof of the network, which is good for one payment.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(example = "AgAAAAAABk4DWZ4C28yUQAAAAAA=")]
    pub cryptogram: Secret,
}

/// An indicator is digits; a line end would end it where it is kept.
fn printable(text: &str) -> Result<(), validator::ValidationError> {
    rules::check(!text.chars().any(char::is_control), "is not valid")
}

#[derive(Deserialize, Validate)]
struct SourceTypeParams {
    #[serde(rename = "type")]
    kind: SourceType,
    source: Option<Map<String, Value>>,
}

#[derive(Deserialize, Validate)]
struct SourceParams<S: Validate> {
    #[serde(rename = "type")]
    _kind: SourceType,
    #[validate(nested)]
    source: S,
}

impl NewPaymentSource {
    /// Reads what the type says. A payload that is not whole is refused as any other that cannot be used.
    pub fn read(tree: &impl ParameterTree) -> Result<Self, FieldErrors> {
        let Params { value: typed, mut faults } = tree.params::<SourceTypeParams>();
        if faults.has("type") {
            if typed.source.is_none() && !faults.has("source") {
                faults.add("source", crate::params::values::BLANK);
            }
            return Err(faults);
        }
        Ok(match typed.kind {
            SourceType::Card => Self::Card(read_source(tree)),
            SourceType::NetworkToken => Self::NetworkToken(read_source(tree)),
            SourceType::WalletA => Self::WalletA(read_payload(tree)?),
            SourceType::WalletG => Self::WalletG(read_payload(tree)?),
        })
    }
}

fn read_source<S: DeserializeOwned + Validate>(tree: &impl ParameterTree) -> Params<S> {
    let Params { value, faults } = tree.params::<SourceParams<S>>();
    Params { value: value.source, faults }
}

fn read_payload<S: DeserializeOwned + Validate>(tree: &impl ParameterTree) -> Result<S, FieldErrors> {
    let Params { value: Withheld(value), faults } = read_source::<Withheld<S>>(tree);
    let missing = faults.has("source");
    if faults.is_empty() { Ok(value) } else { Err(if missing { faults } else { unusable() }) }
}

/// The only message about a payload that cannot be used.
pub fn unusable() -> FieldErrors {
    let mut faults = FieldErrors::default();
    faults.add("source", crate::params::values::INVALID);
    faults
}
