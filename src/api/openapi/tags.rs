//! The tags: a paragraph about each section, and its page of the guide.

use entity::section::Section;
use serde_json::{Value, json};

use super::webhooks;

/// Returns the paragraph about a section's tag, and the page of its guide; `None` if no operation belongs to it.
const fn about(section: Section) -> Option<(&'static str, &'static str)> {
    Some(match section {
        Section::Cards => (
            "Stores the details of a card in exchange for a token, from a server or from a browser. A token is used once, by a charge or \
             a customer, and expires after a month.",
            "testing#test-cards",
        ),
        Section::PaymentSources => (
            "Stores cards, network tokens and the encrypted payments of mobile wallets in exchange for a token. It is used once, as a \
             card's, and expires after a month.",
            "wallets",
        ),
        Section::Charges => (
            "Takes money from cards, at once or in two steps: an authorised charge is captured or voided within seven days. With 3-D \
             Secure the cardholder verifies the payment first.",
            "quick-start",
        ),
        Section::Refunds => (
            "Gives the money of charges back, fully or partly. A refund is pending until its outcome is known, which an event tells.",
            "concepts",
        ),
        Section::Authorisations => (
            "Reserves money on a card, and later captures all or a part of it as a charge, or voids it. An authorisation expires after \
             seven days. These operations are a beta version.",
            "testing#authorise-now-capture-a-part-later",
        ),
        Section::Customers => (
            "Stores customers with their cards, so that they can be charged again. Exactly one card is the primary one, which pays \
             unless another is named.",
            "quick-start#a-customer-who-pays-again",
        ),
        Section::Plans => (
            "Describes what is billed, and how often, with a trial and a setup fee. Customers are subscribed to plans.",
            "billing",
        ),
        Section::Subscriptions => (
            "Bills customers by a plan, interval by interval, until the subscription ends or is cancelled. A bill that cannot be paid \
             ends it.",
            "billing",
        ),
        Section::Transfers => (
            "Pays money out, to recipients and to your own bank account. Settlements are transfers, too: their line items tell what was \
             paid out.",
            "money",
        ),
        Section::BankAccounts => (
            "Stores the details of a bank account in exchange for a token, from a server or from a browser. A token is used once, by a \
             recipient.",
            "money",
        ),
        Section::Recipients => (
            "Stores the people and businesses to whom money is transferred. Each has one bank account.",
            "money",
        ),
        Section::Deposits => (
            "Shows the money that arrived from outside the service. It becomes available at the time of the deposit.",
            "money",
        ),
        Section::Balance => (
            "Shows the money of the account: what is available, and what is pending. Transfers and refunds draw on it.",
            "money",
        ),
        Section::Merchants => (
            "Refers merchants to the service, and shows their settings and keys. These operations are for the key of an account that \
             manages an approved partner.",
            "merchants",
        ),
        Section::MobileWalletSupport => (
            "Prepares payments by walletA: registers the domains of pages, opens sessions, and stores the certificates for which payments \
             are encrypted. The payments themselves are payment sources.",
            "wallets",
        ),
        Section::Disputes => (
            "Shows the cardholders' disputes of charges, with their activity. Answer a dispute in time: submit evidence, or accept it.",
            "disputes",
        ),
        Section::Files => (
            "Stores uploaded files, which serve as evidence in disputes. A link to the content needs no key, and expires.",
            "disputes",
        ),
        Section::WebhookEndpoints => (
            "Registers the URLs to which events are sent. Each has a key, by which your server verifies what it gets.",
            "webhooks",
        ),
        Section::Webhooks => (
            "Shows the requests that were sent to webhook endpoints, with their failures. Any of them can be sent again.",
            "webhooks",
        ),
        Section::Events => (
            "Shows what happened in the account, in order, and can wait for more. Each event holds the record as it was at that moment.",
            "webhooks",
        ),
        Section::Sandbox => (
            "Controls time, faults, disputes, refunds and deposits for tests, and shows the requests of the account. A live server has no \
             sandbox.",
            "testing",
        ),
        Section::Keys => return None,
    })
}

/// The paragraph about the requests that this server sends.
const SENT: &str = "The requests that this server sends to webhook endpoints. They are no operations of this server: your server answers them.";

/// Returns the tags, in the order of the specification's sections.
pub(super) fn tags() -> Value {
    let tag = |name: &str, (about, page): (&str, &str)| {
        let guide = json!({ "description": "The guide.", "url": format!("/docs/guide/{page}") });
        json!({ "name": name, "description": about, "externalDocs": guide })
    };
    let mut tags = Vec::new();
    for section in Section::ALL {
        if let Some(about) = about(*section) {
            tags.push(tag(&section.tag(), about));
        }
        if *section == Section::Webhooks {
            tags.push(tag(webhooks::TAG, (SENT, "webhooks")));
        }
    }
    tags.into()
}

/// Moves the links to guides below the path of a server's addresses.
pub(super) fn guides_below(document: &mut Value, base_path: &str) {
    if let Some(description) = document["info"]["description"].as_str() {
        let below = description.replace("](/docs/", &format!("]({base_path}/docs/"));
        document["info"]["description"] = below.into();
    }
    for tag in document["tags"].as_array_mut().into_iter().flatten() {
        if let Some(page) = tag["externalDocs"]["url"].as_str() {
            tag["externalDocs"]["url"] = format!("{base_path}{page}").into();
        }
    }
}
