//! Merchant (specification, Merchant).

use std::fmt;
use std::sync::Arc;

use base::plain_text::OneLine;
use entity::account::{self, TransfersSchedule};
use entity::merchant::{self, Country, MerchantStatus};
use entity::pricing::Pricing;
use entity::{JsonText, MerchantToken, Timestamp, bank_account};
use macros::view;
use utoipa::ToSchema;

use crate::limits::{
    MAXIMUM_CHARGE_CENTS, POS_MAXIMUM_CHARGE_CENTS, SETTLEMENT_DELAY_DAYS, THIRD_PARTY_TRANSFER_FEE_CENTS,
};
use crate::services::merchants::params::Application;

/// A merchant that you have referred.
#[view]
pub struct MerchantSummary {
    /// The merchant's token, `mrch_...`.
    token: MerchantToken,
    /// The e-mail address of the contact person.
    #[schema(example = "roland@example.com")]
    email: String,
    /// The name that customers know.
    #[schema(example = "Roland's Robots")]
    business_name: String,
    /// The country of the merchant.
    country_code: Country,
    /// Whether the merchant may trade.
    status: MerchantStatus,
    /// The given and family name of the contact person.
    #[schema(example = "Roland Robot")]
    contact_name: String,
    /// The time of the merchant's last charge, by its own clock; null if there was none.
    last_charge_date: Option<Timestamp>,
    /// The time at which you referred the merchant.
    created_at: Timestamp,
    /// The time at which the merchant's status last changed.
    updated_at: Timestamp,
    /// The time at which the merchant could first trade; null until then.
    activated_at: Option<Timestamp>,
}

impl MerchantSummary {
    /// Returns a merchant with the time of its last charge.
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
    /// Formats a line for an operator.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}, {}", self.token, self.status.code(), OneLine(&self.business_name))
    }
}

/// A merchant that you have referred, with its settings and keys.
#[view(secret)]
#[expect(clippy::struct_excessive_bools, reason = "settings of the merchant, each independent of the others")]
pub struct MerchantDetail {
    /// The merchant's token, `mrch_...`.
    token: MerchantToken,
    /// The e-mail address of the contact person.
    #[schema(example = "roland@example.com")]
    email: String,
    /// The name that customers know.
    #[schema(example = "Roland's Robots")]
    business_name: String,
    /// The country of the merchant.
    country_code: Country,
    /// Whether the merchant may trade.
    status: MerchantStatus,
    /// The given and family name of the contact person.
    #[schema(example = "Roland Robot")]
    contact_name: String,
    /// The time of the merchant's last charge, by its own clock; null if there was none.
    last_charge_date: Option<Timestamp>,
    /// The time at which you referred the merchant.
    created_at: Timestamp,
    /// The time at which the merchant's status last changed.
    updated_at: Timestamp,
    /// The time at which the merchant could first trade; null until then.
    activated_at: Option<Timestamp>,
    /// The URL of the merchant's site.
    #[schema(example = "https://robots.example.com")]
    url: String,
    /// The ABN, or the registration number of another country.
    #[schema(example = "51824753556")]
    business_registration_number: String,
    /// The telephone number of the contact person.
    #[schema(example = "0491 570 156")]
    phone: String,
    /// The e-mail address of the contact person, once more.
    #[schema(example = "roland@example.com")]
    contact_email: String,
    /// Whether cards may be charged without an address; this setting has no effect.
    skip_charge_address_validation: bool,
    /// Whether e-mails tell about transfers; this setting has no effect.
    send_transfer_email: bool,
    /// Whether e-mails tell about refunds; this setting has no effect.
    send_refund_successful_emails: bool,
    /// The days until captured money is available.
    #[schema(example = 5)]
    settlement_delay_days: i32,
    /// Whether premium schemes are accepted; this setting has no effect.
    premiumscheme_enabled: bool,
    /// The largest charge, in AUD cents.
    #[schema(example = 2_500_000)]
    maximum_charge_cents: i64,
    /// The largest charge in person, in AUD cents; this setting has no effect.
    #[schema(example = 100_000)]
    pos_maximum_charge_cents: i64,
    /// Whether transfers are enabled.
    transfers_enabled: bool,
    /// How often available money is transferred to the bank account.
    transfers_schedule: TransfersSchedule,
    /// The secret key of the test environment.
    #[schema(example = "w9iIDc3tTfOmFqVkmnpXlA")]
    test_secret_api_key: String,
    /// The publishable key of the test environment.
    #[schema(example = "pk_Yq0rQmvbQ0mF9QhJ9iVt7w")]
    test_publishable_api_key: String,
    /// The keys of the live environment, where they work once the merchant is imported there.
    api_keys: ShownKeys,
    /// The fees of the merchant's charges.
    #[schema(value_type = ShownPricing)]
    pricing: JsonText,
    /// Which notifications the merchant's customers get; these settings have no effect.
    notifications: Notifications,
    /// The bank account that gets the merchant's money.
    bank_account: MerchantBankAccount,
    /// The addresses of the merchant's payment pages.
    resources: Resources,
}

/// A pair of API keys; both are empty if they are of the environment that the merchant was imported from.
#[view(secret)]
pub struct ShownKeys {
    /// The secret key, for servers.
    #[schema(example = "w9iIDc3tTfOmFqVkmnpXlA")]
    secret: String,
    /// The publishable key, for browsers.
    #[schema(example = "pk_Yq0rQmvbQ0mF9QhJ9iVt7w")]
    publishable: String,
}

impl ShownKeys {
    pub fn new(secret: &str, publishable: &str) -> Self {
        Self { secret: secret.into(), publishable: publishable.into() }
    }
}

/// The fees of charges, by their currency, the card's issuing country, and whether its scheme is a premium one.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only described here; the account holds it as text")]
pub struct ShownPricing {
    /// The fees of AUD on a card issued in Australia.
    domestic_currency_domestic_card_core: Fee,
    /// The fees of AUD on a card of a premium scheme issued in Australia.
    domestic_currency_domestic_card_premium: Fee,
    /// The fees of AUD on a card issued elsewhere.
    domestic_currency_foreign_card_core: Fee,
    /// The fees of AUD on a card of a premium scheme issued elsewhere.
    domestic_currency_foreign_card_premium: Fee,
    /// The fees of another currency.
    foreign_currency_core: Fee,
    /// The fees of another currency on a card of a premium scheme.
    foreign_currency_premium: Fee,
}

/// The fees of a charge.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only described here; the account holds it as text")]
pub struct Fee {
    /// The fixed part, in AUD cents per charge.
    #[schema(example = 30)]
    fixed_fee: i64,
    /// The other part, in per cent of the charge.
    #[schema(example = "1.75")]
    percentage_fee: String,
}

/// Which notifications customers get.
#[view]
pub struct Notifications {
    /// The notifications about payments.
    receipts: Receipts,
    /// The notifications about subscriptions.
    recurring_payments: RecurringPayments,
}

/// The payments for which customers get a receipt.
#[view]
#[expect(clippy::struct_excessive_bools, reason = "the specification's shape")]
pub struct Receipts {
    /// Whether customers get a receipt for charges made through this API.
    api: bool,
    /// Whether customers get a receipt for payments on the merchant's page.
    payment_page: bool,
    /// Whether customers get a receipt for charges typed in by hand.
    manual_charge: bool,
    /// Whether customers get a receipt for bills of subscriptions.
    recurring_payments: bool,
    /// Whether customers get a receipt for invoices paid on the merchant's page.
    accounting_payment_page: bool,
}

/// The changes of subscriptions of which customers are told.
#[view]
#[expect(clippy::struct_excessive_bools, reason = "the specification's shape")]
pub struct RecurringPayments {
    /// Whether customers are told that a subscription begins.
    subscribed: bool,
    /// Whether customers are told that they have unsubscribed.
    unsubscribed: bool,
    /// Whether customers are told that a subscription is cancelled.
    cancelled: bool,
    /// Whether customers are told that a bill was paid.
    renewed: bool,
    /// Whether customers are told that a bill could not be paid.
    renewal_failed: bool,
    /// Whether customers are told that a subscription is active again.
    reactivated: bool,
}

impl Notifications {
    /// All of them, switched on.
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

/// A merchant's bank account with a masked number.
#[view]
pub struct MerchantBankAccount {
    /// The name of the account holder.
    #[schema(example = "Mr Roland Robot")]
    name: String,
    /// The BSB, the six digits of the branch.
    #[schema(example = "806015")]
    bsb: String,
    /// The masked account number: only the last three digits show.
    #[schema(example = "XXXXXX321")]
    number: String,
}

/// The addresses of a merchant's payment pages.
#[view]
pub struct Resources {
    /// The page for payments.
    #[schema(example = "https://api.example.com/pay/mrch_AZqYv3rVcBKUQ1mHn7tKRw")]
    payment_page: String,
    /// The page for payments with a surcharge.
    #[schema(example = "https://api.example.com/pay/mrch_AZqYv3rVcBKUQ1mHn7tKRw/surcharge")]
    surcharge_payment_page: String,
}

impl MerchantDetail {
    /// Returns the detail of a merchant: its partner's row, and the data of its own account.
    pub fn new(
        row: &merchant::Model,
        last_charge_date: Option<Timestamp>,
        own: &OwnAccount,
    ) -> Result<Self, serde_json::Error> {
        let Application { contact, entity, business, .. } = serde_json::from_str(row.application.as_str())?;
        let OwnAccount { settings, bank_account, test, live, base_url } = own;
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

/// The data of a merchant's own account.
pub struct OwnAccount {
    /// The account's row.
    pub settings: account::Model,
    pub bank_account: bank_account::Model,
    pub test: ShownKeys,
    pub live: ShownKeys,
    /// The server's address as clients know it.
    pub base_url: Arc<str>,
}

/// The settings with which referred merchants begin.
#[view]
pub struct DefaultSettings {
    /// Whether cards may be charged without an address: 1 means yes, 0 no.
    #[schema(example = 0)]
    skip_charge_address_validation: i64,
    /// Whether e-mails tell about transfers: 1 means yes, 0 no.
    #[schema(example = 1)]
    send_transfer_email: i64,
    /// Whether e-mails tell about refunds: 1 means yes, 0 no.
    #[schema(example = 1)]
    send_refund_successful_emails: i64,
    /// The days until captured money is available.
    #[schema(example = 5)]
    settlement_delay_days: i32,
    /// The largest charge, in AUD cents.
    #[schema(example = 2_500_000)]
    maximum_charge_cents: i64,
    /// The largest charge in person, in AUD cents.
    #[schema(example = 100_000)]
    pos_maximum_charge_cents: i64,
    /// The fixed fee of a charge, in AUD cents.
    #[schema(example = 30)]
    transaction_fixed_fee: i64,
    /// The fee of a transfer to a recipient, in AUD cents.
    #[schema(example = 30)]
    third_party_transfer_fee: i64,
    /// The fee of a charge in AUD on a card issued in Australia, in per cent.
    #[schema(example = "1.75")]
    domestic_transaction_percentage_fee: String,
    /// The fee of a charge in AUD on a card of a premium scheme issued in Australia, in per cent.
    #[schema(example = "1.75")]
    premiumscheme_transaction_percentage_fee: String,
    /// The fee of any other charge, in per cent.
    #[schema(example = "2.9")]
    foreign_transaction_percentage_fee: String,
    /// Whether premium schemes are accepted.
    premiumscheme: bool,
    /// Whether e-mails about transfers list the line items.
    transfer_email_line_items_attachment: bool,
    /// Whether bank statements show a random code.
    statement_descriptor_random_code: bool,
    /// Which notifications customers get.
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
