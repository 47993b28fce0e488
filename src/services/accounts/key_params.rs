//! Parameters of restricted API keys (`docs/decisions.md`, 382).

use std::collections::BTreeMap;

use base::client_network::parse_network;
use base::time_text::parse_time;
use entity::section::{Right, Section};
use entity::{TimeSpan, Timestamp};
use ipnet::IpNet;
use macros::params;
use validator::ValidationError;

use crate::limits::{KEY_NETWORKS_MAX, NAME_LENGTH_MAX};
use crate::params::{FieldErrors, Params, non_blank, read_grace, rules};

/// A restricted key to create.
#[params]
pub struct NewApiKey {
    /// A name that tells the key from others.
    #[validate(length(max = NAME_LENGTH_MAX), custom(function = "rules::not_blank"))]
    #[schema(example = "Accounting")]
    pub name: String,
    /// What the key may do, by section of this document, such as `bank_accounts`, and by `keys`; nothing in a section that is absent.
    #[validate(custom(function = "are_rights"))]
    #[schema(value_type = BTreeMap<String, Right>, example = json!({ "charges": "read", "refunds": "write" }))]
    pub rights: BTreeMap<String, String>,
    /// The networks or addresses from which the key works; all if absent.
    #[validate(length(max = KEY_NETWORKS_MAX), custom(function = "are_networks"))]
    #[schema(example = json!(["192.0.2.0/24"]))]
    pub networks: Option<Vec<String>>,
    /// The real time at which the key ends, in ISO 8601; never if absent.
    #[validate(custom(function = "rules::time"))]
    #[schema(example = "2031-05-01T00:00:00Z")]
    pub expires_at: Option<String>,
}

/// A restricted key that is spelled right.
#[derive(Debug, Clone)]
pub struct ApiKeyOrder {
    pub name: String,
    /// Without those that are `none`.
    pub rights: BTreeMap<Section, Right>,
    /// The networks from which it works; all if there is none.
    pub networks: Vec<IpNet>,
    /// Its end, by the wall clock.
    pub expires_at: Option<Timestamp>,
}

impl Params<NewApiKey> {
    /// Returns the key that is asked for; `wall` is the wall clock's now.
    pub fn parse(self, wall: Timestamp) -> Result<ApiKeyOrder, FieldErrors> {
        let Self { value, mut faults } = self;
        let expires_at = non_blank(value.expires_at.as_deref()).and_then(parse_time).map(Timestamp::from);
        if expires_at.is_some_and(|end| end <= wall) {
            faults.add("expires_at", "must be in the future");
        }
        let NewApiKey { name, rights, networks, .. } = Params { value, faults }.valid()?;
        let known = |(section, right): (&String, &String)| Some((section_of(section)?, right_of(right)?));
        let networks = networks.unwrap_or_default();
        Ok(ApiKeyOrder {
            name,
            rights: rights.iter().filter_map(known).filter(|(_, right)| *right > Right::None).collect(),
            networks: networks.iter().filter_map(|text| parse_network(text)).collect(),
            expires_at,
        })
    }
}

/// How a restricted key is replaced.
#[params]
pub struct NewKeySecret {
    /// How long the former key works: a whole number and m, h, d or w, from 0h (not at all) to a hundred years; 24h if absent.
    #[schema(pattern = "^ *[0-9]+(m|h|d|w) *$", example = "24h")]
    pub grace: Option<String>,
}

impl Params<NewKeySecret> {
    /// Returns how long the former key works.
    pub fn grace(self) -> Result<TimeSpan, FieldErrors> {
        read_grace(self.value.grace.as_deref(), self.faults)
    }
}

fn section_of(text: &str) -> Option<Section> {
    Section::from_code(text.trim())
}

fn right_of(text: &str) -> Option<Right> {
    Right::from_code(text.trim())
}

const UNKNOWN_SECTION: &str = "names an unknown section: take one of the API's document in small letters, such as bank_accounts, or keys";

fn are_rights(rights: &BTreeMap<String, String>) -> Result<(), ValidationError> {
    rules::check(rights.keys().all(|section| section_of(section).is_some()), UNKNOWN_SECTION)?;
    rules::check(rights.values().all(|right| right_of(right).is_some()), "must be none, read or write")
}

fn are_networks(networks: &[String]) -> Result<(), ValidationError> {
    rules::check(
        networks.iter().all(|text| parse_network(text).is_some()),
        "is not a list of networks, such as 192.0.2.0/24",
    )
}
