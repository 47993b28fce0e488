//! Merchant (specification, Merchant).

use std::fmt;
use std::sync::Arc;

use entity::account::{self, TransfersSchedule};
use entity::merchant::{self, Country, MerchantStatus};
use entity::pricing::Pricing;
use entity::{JsonText, MerchantToken, Timestamp, bank_account};
use macros::view;
use utoipa::ToSchema;

use crate::limits::{
    MAXIMUM_CHARGE_CENTS, POS_MAXIMUM_CHARGE_CENTS, SETTLEMENT_DELAY_DAYS, THIRD_PARTY_TRANSFER_FEE_CENTS,
};
use crate::params::merchant::Application;

/// A referred merchant.
#[view]
pub struct MerchantSummary {
    /// `mrch_...`
    token: MerchantToken,
    /// The contact's e-mail address.
    #[schema(example = "roland@example.com")]
    email: String,
    /// The name customers know.
    #[schema(example = "Roland's Robots")]
    business_name: String,
    /// `AU`, `NZ`, `SG`, `HK`, `GB`, `IE`, `US` or `CA`.
    #[schema(value_type = String, example = "AU")]
    country_code: Country,
    /// `pending_approval`, `active`, `declined` or `on_hold`.
    #[schema(value_type = String, example = "pending_approval")]
    status: MerchantStatus,
    /// Given and family name.
    #[schema(example = "Roland Robot")]
    contact_name: String,
    /// When it made its last charge, by its own clock.
    last_charge_date: Option<Timestamp>,
    /// When it was referred.
    created_at: Timestamp,
    /// When its status changed last.
    updated_at: Timestamp,
    /// When it became active for the first time.
    activated_at: Option<Timestamp>,
}

impl MerchantSummary {
    /// A merchant that made its last charge then.
    pub fn new(row: &merchant::Model, last_charge_date: Option<Timestamp>) -> Self {
        Self {
            token: row.id,
            email: row.email.clone(),
            business_name: row.business_name.clone(),
            country_code: row.country,
            status: row.status,
            contact_name: format!("{} {}", row.first_name, row.last_name),
            last_charge_date,
            created_at: row.created_at,
            updated_at: row.updated_at,
            activated_at: row.activated_at,
        }
    }
}

impl fmt::Display for MerchantSummary {
    /// A line for an operator.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}, {}", self.token, self.status.code(), self.business_name)
    }
}

/// A referred merchant with its settings and keys.
#[view(secret)]
#[expect(clippy::struct_excessive_bools, reason = "settings of the merchant, each independent of the others")]
pub struct MerchantDetail {
    /// `mrch_...`
    token: MerchantToken,
    /// The contact's e-mail address.
    #[schema(example = "roland@example.com")]
    email: String,
    /// The name customers know.
    #[schema(example = "Roland's Robots")]
    business_name: String,
    /// `AU`, `NZ`, `SG`, `HK`, `GB`, `IE`, `US` or `CA`.
    #[schema(value_type = String, example = "AU")]
    country_code: Country,
    /// `pending_approval`, `active`, `declined` or `on_hold`.
    #[schema(value_type = String, example = "pending_approval")]
    status: MerchantStatus,
    /// Given and family name.
    #[schema(example = "Roland Robot")]
    contact_name: String,
    /// When it made its last charge, by its own clock.
    last_charge_date: Option<Timestamp>,
    /// When it was referred.
    created_at: Timestamp,
    /// When its status changed last.
    updated_at: Timestamp,
    /// When it became active for the first time.
    activated_at: Option<Timestamp>,
    /// Its site.
    #[schema(example = "https://robots.example.com")]
    url: String,
    /// The ABN, or what its country has instead.
    #[schema(example = "51824753556")]
    business_registration_number: String,
    /// The contact's telephone number.
    #[schema(example = "0491 570 156")]
    phone: String,
    /// The contact's e-mail address.
    #[schema(example = "roland@example.com")]
    contact_email: String,
    /// Shown only.
    skip_charge_address_validation: bool,
    /// Shown only.
    send_transfer_email: bool,
    /// Shown only.
    send_refund_successful_emails: bool,
    /// Days from a capture to the day its money becomes available.
    #[schema(example = 5)]
    settlement_delay_days: i32,
    /// Shown only.
    premiumscheme_enabled: bool,
    /// The largest charge, in AUD cents.
    #[schema(example = 2_500_000)]
    maximum_charge_cents: i64,
    /// Shown only.
    #[schema(example = 100_000)]
    pos_maximum_charge_cents: i64,
    /// Whether money is paid out.
    transfers_enabled: bool,
    /// `daily`, `weekly` or `manual`.
    #[schema(value_type = String, example = "daily")]
    transfers_schedule: TransfersSchedule,
    /// Works in the test environment.
    #[schema(example = "w9iIDc3tTfOmFqVkmnpXlA")]
    test_secret_api_key: String,
    /// Works in the test environment.
    #[schema(example = "pk_Yq0rQmvbQ0mF9QhJ9iVt7w")]
    test_publishable_api_key: String,
    /// Work in the live environment.
    api_keys: ShownKeys,
    /// What its charges cost.
    #[schema(value_type = ShownPricing)]
    pricing: JsonText,
    /// What its customers are told; shown only.
    notifications: Notifications,
    /// Where it is paid.
    bank_account: MerchantBankAccount,
    /// Its pages.
    resources: Resources,
}

/// A pair of keys; empty where they were minted in the other environment.
#[view(secret)]
pub struct ShownKeys {
    /// For servers.
    #[schema(example = "w9iIDc3tTfOmFqVkmnpXlA")]
    secret: String,
    /// For browsers.
    #[schema(example = "pk_Yq0rQmvbQ0mF9QhJ9iVt7w")]
    publishable: String,
}

impl ShownKeys {
    /// As they are.
    pub fn new(secret: &str, publishable: &str) -> Self {
        Self { secret: secret.into(), publishable: publishable.into() }
    }
}

/// What charges cost, by currency, by where the card was issued and by whether its scheme is a premium one.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only described here; the account holds it as text")]
pub struct ShownPricing {
    /// AUD, a card issued in Australia.
    domestic_currency_domestic_card_core: Fee,
    /// The same of a premium scheme.
    domestic_currency_domestic_card_premium: Fee,
    /// AUD, a card issued elsewhere.
    domestic_currency_foreign_card_core: Fee,
    /// The same of a premium scheme.
    domestic_currency_foreign_card_premium: Fee,
    /// Another currency.
    foreign_currency_core: Fee,
    /// The same of a premium scheme.
    foreign_currency_premium: Fee,
}

/// What one charge costs.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only described here; the account holds it as text")]
pub struct Fee {
    /// AUD cents a charge.
    #[schema(example = 30)]
    fixed_fee: i64,
    /// Per cent of the charge.
    #[schema(example = "1.75")]
    percentage_fee: String,
}

/// What customers are told.
#[view]
pub struct Notifications {
    /// That they have paid.
    receipts: Receipts,
    /// What becomes of their subscriptions.
    recurring_payments: RecurringPayments,
}

/// That they have paid.
#[view]
#[expect(clippy::struct_excessive_bools, reason = "the specification's shape")]
pub struct Receipts {
    /// Of charges made through this API.
    api: bool,
    /// Of payments on its page.
    payment_page: bool,
    /// Of charges typed in by hand.
    manual_charge: bool,
    /// Of bills of subscriptions.
    recurring_payments: bool,
    /// Of invoices paid on its page.
    accounting_payment_page: bool,
}

/// What becomes of subscriptions.
#[view]
#[expect(clippy::struct_excessive_bools, reason = "the specification's shape")]
pub struct RecurringPayments {
    /// A subscription begins.
    subscribed: bool,
    /// The customer unsubscribes.
    unsubscribed: bool,
    /// A subscription is cancelled.
    cancelled: bool,
    /// A bill was paid.
    renewed: bool,
    /// A bill was not paid.
    renewal_failed: bool,
    /// A subscription is active again.
    reactivated: bool,
}

impl Notifications {
    /// All of them.
    const ALL: Self = Self {
        receipts: Receipts {
            api: true,
            payment_page: true,
            manual_charge: true,
            recurring_payments: true,
            accounting_payment_page: true,
        },
        recurring_payments: RecurringPayments {
            subscribed: true,
            unsubscribed: true,
            cancelled: true,
            renewed: true,
            renewal_failed: true,
            reactivated: true,
        },
    };
}

/// A merchant's bank account, its number masked.
#[view]
pub struct MerchantBankAccount {
    /// Whose it is.
    #[schema(example = "Mr Roland Robot")]
    name: String,
    /// The branch, six digits.
    #[schema(example = "806015")]
    bsb: String,
    /// Only the last three digits are shown.
    #[schema(example = "XXXXXX321")]
    number: String,
}

/// A merchant's pages.
#[view]
pub struct Resources {
    /// For payments.
    #[schema(example = "https://api.example.com/pay/mrch_AZqYv3rVcBKUQ1mHn7tKRw")]
    payment_page: String,
    /// For payments with a surcharge.
    #[schema(example = "https://api.example.com/pay/mrch_AZqYv3rVcBKUQ1mHn7tKRw/surcharge")]
    surcharge_payment_page: String,
}

impl MerchantDetail {
    /// A merchant that made its last charge then: what its partner knows of it, and what stands on its own account.
    pub fn new(
        row: &merchant::Model,
        last_charge_date: Option<Timestamp>,
        own: &Own,
    ) -> Result<Self, serde_json::Error> {
        let Application { contact, entity, business, .. } = serde_json::from_str(row.application.as_str())?;
        let Own { settings, bank_account, test, live, base_url } = own;
        let summary = MerchantSummary::new(row, last_charge_date);
        Ok(Self {
            token: summary.token,
            email: summary.email,
            business_name: summary.business_name,
            country_code: summary.country_code,
            status: summary.status,
            contact_name: summary.contact_name,
            last_charge_date: summary.last_charge_date,
            created_at: summary.created_at,
            updated_at: summary.updated_at,
            activated_at: summary.activated_at,
            url: business.url.0,
            business_registration_number: entity.business_registration_number,
            phone: contact.phone_number,
            contact_email: contact.email,
            skip_charge_address_validation: false,
            send_transfer_email: true,
            send_refund_successful_emails: true,
            settlement_delay_days: settings.settlement_delay_days,
            premiumscheme_enabled: true,
            maximum_charge_cents: settings.maximum_charge_cents,
            pos_maximum_charge_cents: POS_MAXIMUM_CHARGE_CENTS,
            transfers_enabled: settings.transfers_enabled,
            transfers_schedule: settings.transfers_schedule,
            test_secret_api_key: test.secret.clone(),
            test_publishable_api_key: test.publishable.clone(),
            api_keys: live.clone(),
            pricing: settings.pricing.clone(),
            notifications: Notifications::ALL,
            bank_account: MerchantBankAccount {
                name: bank_account.name.clone(),
                bsb: bank_account.bsb.clone(),
                number: bank_account.number.clone(),
            },
            resources: Resources {
                payment_page: format!("{base_url}/pay/{}", summary.token),
                surcharge_payment_page: format!("{base_url}/pay/{}/surcharge", summary.token),
            },
        })
    }
}

/// What stands on a merchant's own account.
pub struct Own {
    /// Its row.
    pub settings: account::Model,
    /// Where it is paid.
    pub bank_account: bank_account::Model,
    /// Its keys of the test environment.
    pub test: ShownKeys,
    /// Its keys of the live environment.
    pub live: ShownKeys,
    /// The server's address as callers know it.
    pub base_url: Arc<str>,
}

/// With what newly referred merchants begin.
#[view]
pub struct DefaultSettings {
    /// 1 for yes.
    #[schema(example = 0)]
    skip_charge_address_validation: i64,
    /// 1 for yes.
    #[schema(example = 1)]
    send_transfer_email: i64,
    /// 1 for yes.
    #[schema(example = 1)]
    send_refund_successful_emails: i64,
    /// Days from a capture to the day its money becomes available.
    #[schema(example = 5)]
    settlement_delay_days: i32,
    /// The largest charge, in AUD cents.
    #[schema(example = 2_500_000)]
    maximum_charge_cents: i64,
    /// In AUD cents.
    #[schema(example = 100_000)]
    pos_maximum_charge_cents: i64,
    /// AUD cents a charge.
    #[schema(example = 30)]
    transaction_fixed_fee: i64,
    /// AUD cents a transfer to somebody else.
    #[schema(example = 30)]
    third_party_transfer_fee: i64,
    /// Per cent of a charge in AUD by a card issued in Australia.
    #[schema(example = "1.75")]
    domestic_transaction_percentage_fee: String,
    /// The same by a premium scheme.
    #[schema(example = "1.75")]
    premiumscheme_transaction_percentage_fee: String,
    /// Per cent of any other charge.
    #[schema(example = "2.9")]
    foreign_transaction_percentage_fee: String,
    /// Premium schemes are accepted.
    premiumscheme: bool,
    /// Transfer e-mails list their line items.
    transfer_email_line_items_attachment: bool,
    /// Bank statements show a random code.
    statement_descriptor_random_code: bool,
    /// What customers are told.
    notifications: Notifications,
}

impl Default for DefaultSettings {
    fn default() -> Self {
        let Pricing {
            domestic_currency_domestic_card_core: domestic,
            domestic_currency_domestic_card_premium: premium,
            foreign_currency_core: foreign,
            ..
        } = Pricing::default();
        Self {
            skip_charge_address_validation: 0,
            send_transfer_email: 1,
            send_refund_successful_emails: 1,
            settlement_delay_days: SETTLEMENT_DELAY_DAYS,
            maximum_charge_cents: MAXIMUM_CHARGE_CENTS,
            pos_maximum_charge_cents: POS_MAXIMUM_CHARGE_CENTS,
            transaction_fixed_fee: domestic.fixed_fee,
            third_party_transfer_fee: THIRD_PARTY_TRANSFER_FEE_CENTS,
            domestic_transaction_percentage_fee: domestic.percentage_fee.to_string(),
            premiumscheme_transaction_percentage_fee: premium.percentage_fee.to_string(),
            foreign_transaction_percentage_fee: foreign.percentage_fee.to_string(),
            premiumscheme: true,
            transfer_email_line_items_attachment: false,
            statement_descriptor_random_code: false,
            notifications: Notifications::ALL,
        }
    }
}
