//! Parameters of merchants (specification, Merchants), in the order of its list.

use base::secret::Secret;
use entity::Timestamp;
use entity::merchant::{
    AnnualTransactionVolume, AverageDeliveryDays, Country, MerchantStatus, TransactionsPerMonth,
    TypicalProductPrice,
};
use macros::params;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use validator::{Validate, ValidationError};

use crate::limits::{
    DIRECTOR_AGE_MIN_YEARS, NAME_LENGTH_MAX, NOTES_LENGTH_MAX, REGISTRATION_NUMBER_LENGTH_MAX,
    TEXT_LENGTH_MAX,
};
use crate::params::rules::{self, calendar_date, is_abn};
use crate::params::values::INVALID;
use crate::params::{FieldErrors, HttpUrl, Params};
use crate::services::bank_accounts::params::NewBankAccount;

/// A merchant to refer.
#[params]
pub struct NewMerchant {
    /// The contact person, who can sign in.
    #[validate(nested)]
    pub contact: NewContact,
    /// The legal entity.
    #[validate(nested)]
    pub entity: LegalEntity,
    /// The business of the merchant.
    #[validate(nested)]
    pub business: Business,
    /// The bank account that gets the merchant's money.
    #[validate(nested)]
    pub bank_account: NewBankAccount,
    /// A director of the legal entity.
    #[validate(nested)]
    pub director: Director,
    /// Your own notes; none if absent.
    #[validate(length(max = NOTES_LENGTH_MAX))]
    pub notes: Option<String>,
}

/// The contact person of a merchant, with the password of its login.
#[params]
pub struct NewContact {
    /// The given name.
    #[validate(length(max = NAME_LENGTH_MAX))]
    #[schema(example = "Roland")]
    pub first_name: String,
    /// The family name.
    #[validate(length(max = NAME_LENGTH_MAX))]
    #[schema(example = "Robot")]
    pub last_name: String,
    /// The telephone number, as people write it.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(example = "0491 570 156")]
    pub phone_number: String,
    /// The e-mail address, which need not be unique.
    #[serde(deserialize_with = "rules::trimmed")]
    #[validate(length(max = NAME_LENGTH_MAX), custom(function = "rules::email"))]
    #[schema(format = Email, example = "roland@example.com")]
    pub email: String,
    /// The password with which the contact person signs in.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(example = "correct horse battery staple")]
    pub password: Secret,
}

/// The legal entity of a merchant.
#[params]
#[derive(Debug, Clone, Serialize)]
#[validate(schema(function = "registration_number", skip_on_field_errors = false))]
pub struct LegalEntity {
    /// The registration number: in Australia the ABN, 11 digits; elsewhere up to 20 characters.
    #[validate(length(max = NAME_LENGTH_MAX))]
    #[schema(example = "51824753556")]
    pub business_registration_number: String,
    /// The full name of the legal entity, as it is registered.
    #[validate(length(max = NAME_LENGTH_MAX))]
    #[schema(example = "Roland's Robots Pty Ltd")]
    pub full_legal_name: String,
    /// The first line of its address.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(example = "42 Sevenoaks St")]
    pub address_line_1: String,
    /// The second line of its address; none if absent.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    pub address_line_2: Option<String>,
    /// The city of its address.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(example = "Lathlain")]
    pub address_locality: String,
    /// The state of its address.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(example = "WA")]
    pub address_region: String,
    /// The postcode of its address.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(example = "6454")]
    pub address_postal_code: String,
    /// The country of its address; `AU` if absent.
    pub address_country_code: Option<Country>,
}

/// The business of a merchant.
#[params]
#[derive(Debug, Clone, Serialize)]
pub struct Business {
    /// The name that customers know.
    #[validate(length(max = NAME_LENGTH_MAX))]
    #[schema(example = "Roland's Robots")]
    pub trading_name: String,
    /// What the business sells, in a few words.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(example = "Robots for the home")]
    pub description: String,
    /// The worth of a typical sale, in dollars.
    pub typical_product_price: TypicalProductPrice,
    /// The number of sales in a month.
    pub transactions_per_month: TransactionsPerMonth,
    /// The worth of all sales in a year, in dollars.
    pub annual_transaction_volume: AnnualTransactionVolume,
    /// Whether the business delivers goods.
    #[schema(example = true)]
    pub sells_physical_goods: bool,
    /// The days that a delivery takes.
    pub average_delivery_days: AverageDeliveryDays,
    /// The URL of the business's site.
    #[validate(length(max = NAME_LENGTH_MAX), custom(function = "rules::http_url"))]
    #[schema(example = "https://robots.example.com")]
    pub url: HttpUrl,
}

/// A director of a merchant's legal entity.
#[params]
#[derive(Debug, Clone, Serialize)]
pub struct Director {
    /// The full name of the director.
    #[validate(length(max = NAME_LENGTH_MAX))]
    #[schema(example = "Roland Robot")]
    pub full_name: String,
    /// The telephone number, as people write it.
    #[validate(length(max = TEXT_LENGTH_MAX))]
    #[schema(example = "0491 570 156")]
    pub contact_number: String,
    /// The date of birth, as YYYY-MM-DD, at least 18 years ago.
    #[validate(length(max = NAME_LENGTH_MAX), custom(function = "rules::date"))]
    #[schema(format = Date, example = "1980-02-29")]
    pub date_of_birth: String,
}

/// What is kept of an application besides its bank account and its password's hash.
#[derive(Debug, Clone, Serialize, Deserialize, Validate)]
pub struct Application {
    #[validate(nested)]
    pub contact: Contact,
    #[validate(nested)]
    pub entity: LegalEntity,
    #[validate(nested)]
    pub business: Business,
    #[validate(nested)]
    pub director: Director,
    /// Free text.
    #[validate(length(max = NOTES_LENGTH_MAX))]
    pub notes: Option<String>,
}

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

/// A decision of the operator.
#[params]
pub struct DecidedMerchant {
    /// The status that the merchant gets.
    pub status: MerchantDecision,
}

/// What an operator decides about a merchant: whether it may trade.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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
    pub fn country(&self) -> Country {
        self.address_country_code.unwrap_or(Country::Australia)
    }
}

/// Checks the registration number, which the country decides. Accepts blank text.
fn registration_number(entity: &LegalEntity) -> Result<(), ValidationError> {
    let number = entity.business_registration_number.trim();
    let (is_valid, predicate) = match entity.country() {
        Country::Australia => (is_abn(number), INVALID),
        Country::NewZealand
        | Country::Singapore
        | Country::HongKong
        | Country::UnitedKingdom
        | Country::Ireland
        | Country::UnitedStates
        | Country::Canada => (
            number.chars().count() <= REGISTRATION_NUMBER_LENGTH_MAX,
            "is too long (maximum is 20 characters)",
        ),
    };
    let kept = number.is_empty() || is_valid;
    rules::check_all(kept, "business_registration_number", predicate, &["address_country_code"])
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
    /// What was asked, with the faults that depend on the day.
    pub fn check_at(self, now: Timestamp) -> (NewMerchant, FieldErrors) {
        let Self { value, mut faults } = self;
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
