//! Parameters of payment sources (specification, Payment sources). Their shape depends on their type.

use base::secret::Withheld;
use entity::card::SourceType;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use validator::Validate;
use wallet::{WalletAToken, WalletGToken};

use crate::params::values::{BLANK, INVALID};
use crate::params::{FieldErrors, ParameterTree, Params};
use crate::services::cards::params::{NewCard, NewNetworkToken};

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
                faults.add("source", BLANK);
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
    FieldErrors::one("source", INVALID)
}
