//! Parameters of merchants (specification, Merchants), in the order of its list.

use base::secret::Secret;
use entity::Timestamp;
use entity::merchant::{
    AnnualTransactionVolume, AverageDeliveryDays, Country, MerchantStatus, TransactionsPerMonth,
    TypicalProductPrice,
};
use macros::params;
use serde::{Deserialize, Serialize};
use validator::Validate;

use crate::limits::{
    DIRECTOR_AGE_MIN_YEARS, NAME_LENGTH_MAX, NOTES_LENGTH_MAX, REGISTRATION_NUMBER_LENGTH_MAX,
    TEXT_LENGTH_MAX,
};
use crate::params::rules::{self, calendar_date, is_abn};
use crate::params::{FieldErrors, HttpUrl, Params};
use crate::services::bank_accounts::params::NewBankAccount;

/// A merchant to be referred.
#[params]
pub struct NewMerchant {
    /// The contact person, with its login.
    #[validate(nested)]
    pub contact: NewContact,
    /// The legal entity.
    #[validate(nested)]
    pub entity: LegalEntity,
    /// The business.
    #[validate(nested)]
    pub business: Business,
    /// The bank account for its payouts.
    #[validate(nested)]
    pub bank_account: NewBankAccount,
    /// The director.
    #[validate(nested)]
    pub director: Director,
    /// Free text.
    #[validate(length(max = NOTES_LENGTH_MAX))]
    pub notes: Option<String>,
}

/// The contact person of a merchant, with the password of its login.
#[params]
pub struct NewContact {
    /// Given name.
    #[validate(length(max = NAME_LENGTH_MAX))]
    #[schema(example = "Roland")]
    pub first_name: String,
    /// Family name.
    #[validate(length(max = NAME_LENGTH_MAX))]
    #[schema(example = "Robot")]
    pub last_name: String,
    /// Telephone number, as people write it.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(example = "0491 570 156")]
    pub phone_number: String,
    /// E-mail address; need not be unique.
    #[serde(deserialize_with = "rules::trimmed")]
    #[validate(length(max = NAME_LENGTH_MAX), custom(function = "rules::email"))]
    #[schema(example = "roland@example.com")]
    pub email: String,
    /// Kept as an Argon2id hash.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(example = "correct horse battery staple")]
    pub password: Secret,
}

/// The legal entity of a merchant.
#[params]
#[derive(Debug, Clone, Serialize)]
pub struct LegalEntity {
    /// In Australia the ABN: 11 digits; elsewhere up to 20 characters.
    #[validate(length(max = NAME_LENGTH_MAX))]
    #[schema(example = "51824753556")]
    pub business_registration_number: String,
    /// As it is registered.
    #[validate(length(max = NAME_LENGTH_MAX))]
    #[schema(example = "Roland's Robots Pty Ltd")]
    pub full_legal_name: String,
    /// First address line.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(example = "42 Sevenoaks St")]
    pub address_line_1: String,
    /// Second address line.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    pub address_line_2: Option<String>,
    /// City.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(example = "Lathlain")]
    pub address_locality: String,
    /// State.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(example = "WA")]
    pub address_region: String,
    /// Postcode.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(example = "6454")]
    pub address_postal_code: String,
    /// `AU` (also if absent), `NZ`, `SG`, `HK`, `GB`, `IE`, `US` or `CA`.
    #[schema(value_type = Option<String>, example = "AU")]
    pub address_country_code: Option<Country>,
}

/// The business of a merchant.
#[params]
#[derive(Debug, Clone, Serialize)]
pub struct Business {
    /// The name customers know.
    #[validate(length(max = NAME_LENGTH_MAX))]
    #[schema(example = "Roland's Robots")]
    pub trading_name: String,
    /// In a few words.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(example = "Robots for the home")]
    pub description: String,
    /// What one sale is worth, in dollars: `20`, `100`, `500`, `1000` or `3000`.
    #[schema(value_type = String, example = "100")]
    pub typical_product_price: TypicalProductPrice,
    /// How many sales there are: `10`, `20`, `100`, `500` or `1000`.
    #[schema(value_type = String, example = "20")]
    pub transactions_per_month: TransactionsPerMonth,
    /// What all sales of a year are worth, in dollars: `5000`, `20000`, `250000` or `1000000`.
    #[schema(value_type = String, example = "20000")]
    pub annual_transaction_volume: AnnualTransactionVolume,
    /// Whether something is delivered.
    #[schema(example = true)]
    pub sells_physical_goods: bool,
    /// How long that takes: `1`, `3`, `7`, `14`, `30` or `40`.
    #[schema(value_type = String, example = "7")]
    pub average_delivery_days: AverageDeliveryDays,
    /// Its site.
    #[validate(length(max = NAME_LENGTH_MAX), custom(function = "rules::http_url"))]
    #[schema(example = "https://robots.example.com")]
    pub url: HttpUrl,
}

/// The director of a merchant.
#[params]
#[derive(Debug, Clone, Serialize)]
pub struct Director {
    /// All names.
    #[validate(length(max = NAME_LENGTH_MAX))]
    #[schema(example = "Roland Robot")]
    pub full_name: String,
    /// Telephone number, as people write it.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(example = "0491 570 156")]
    pub contact_number: String,
    /// YYYY-MM-DD, at least 18 years ago.
    #[validate(length(max = NAME_LENGTH_MAX), custom(function = "rules::date"))]
    #[schema(format = Date, example = "1980-02-29")]
    pub date_of_birth: String,
}

/// What is kept of an application besides its bank account and its password's hash.
#[derive(Debug, Clone, Serialize, Deserialize, Validate)]
pub struct Application {
    /// The contact person.
    #[validate(nested)]
    pub contact: Contact,
    /// The legal entity.
    #[validate(nested)]
    pub entity: LegalEntity,
    /// The business.
    #[validate(nested)]
    pub business: Business,
    /// The director.
    #[validate(nested)]
    pub director: Director,
    /// Free text.
    #[validate(length(max = NOTES_LENGTH_MAX))]
    pub notes: Option<String>,
}

/// The contact person of a merchant.
#[derive(Debug, Clone, Serialize, Deserialize, Validate)]
pub struct Contact {
    /// Given name.
    #[validate(length(max = NAME_LENGTH_MAX))]
    pub first_name: String,
    /// Family name.
    #[validate(length(max = NAME_LENGTH_MAX))]
    pub last_name: String,
    /// Telephone number.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    pub phone_number: String,
    /// E-mail address.
    #[serde(deserialize_with = "rules::trimmed")]
    #[validate(length(max = NAME_LENGTH_MAX), custom(function = "rules::email"))]
    pub email: String,
}

/// What the operator decides.
#[params]
pub struct DecidedMerchant {
    /// `active`, `declined` or `on_hold`.
    #[schema(value_type = String, example = "active")]
    pub status: MerchantDecision,
}

/// What can be decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MerchantDecision {
    /// It may trade.
    Active,
    /// It never may.
    Declined,
    /// It may not, until it is active again.
    OnHold,
}

impl MerchantDecision {
    /// The status that the merchant gets.
    pub const fn status(self) -> MerchantStatus {
        match self {
            Self::Active => MerchantStatus::Active,
            Self::Declined => MerchantStatus::Declined,
            Self::OnHold => MerchantStatus::OnHold,
        }
    }
}

impl LegalEntity {
    /// Its country.
    pub fn country(&self) -> Country {
        self.address_country_code.unwrap_or(Country::Australia)
    }

    /// What is wrong with the registration number, which the country decides. Silent on blank text.
    pub fn registration_number_fault(&self) -> Option<&'static str> {
        let number = self.business_registration_number.trim();
        match self.country() {
            _ if number.is_empty() => None,
            Country::Australia => (!is_abn(number)).then_some("is not valid"),
            Country::NewZealand
            | Country::Singapore
            | Country::HongKong
            | Country::UnitedKingdom
            | Country::Ireland
            | Country::UnitedStates
            | Country::Canada => (number.chars().count() > REGISTRATION_NUMBER_LENGTH_MAX)
                .then_some("is too long (maximum is 20 characters)"),
        }
    }
}

impl Director {
    /// What is wrong with the age on a day. Silent on what is no date.
    fn age_fault(&self, now: Timestamp) -> Option<&'static str> {
        let born = calendar_date(&self.date_of_birth)?.and_time(chrono::NaiveTime::MIN).and_utc();
        let of_age = Timestamp::from(born).plus_months(12 * DIRECTOR_AGE_MIN_YEARS);
        (of_age > now).then_some("must be at least 18 years ago")
    }
}

impl Params<NewMerchant> {
    /// What was asked, with the faults that no parameter has alone: by the country, and by what day it is.
    pub fn check_at(self, now: Timestamp) -> (NewMerchant, FieldErrors) {
        let Self { value, mut faults } = self;
        let number = value.entity.registration_number_fault();
        let number = number.filter(|_| !faults.has("entity") && !faults.has("entity.address_country_code"));
        if let Some(predicate) = number {
            faults.add("entity.business_registration_number", predicate);
        }
        if let Some(predicate) = value.director.age_fault(now) {
            faults.add("director.date_of_birth", predicate);
        }
        (value, faults)
    }
}

impl NewMerchant {
    /// What is kept.
    pub fn application(self) -> Application {
        let NewContact { first_name, last_name, phone_number, email, password: _ } = self.contact;
        Application {
            contact: Contact { first_name, last_name, phone_number, email },
            entity: self.entity,
            business: self.business,
            director: self.director,
            notes: self.notes,
        }
    }
}
