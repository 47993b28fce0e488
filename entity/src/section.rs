//! The sections of the API, and the rights of restricted keys in them (`docs/decisions.md`, 382).

string_enum! {
    /// A section of the API, in the order of the specification.
    pub enum Section {
        Cards "cards",
        PaymentSources "payment_sources",
        Charges "charges",
        Refunds "refunds",
        Authorisations "authorisations",
        Customers "customers",
        Plans "plans",
        Subscriptions "subscriptions",
        Transfers "transfers",
        BankAccounts "bank_accounts",
        Recipients "recipients",
        Deposits "deposits",
        Balance "balance",
        Merchants "merchants",
        MobileWalletSupport "mobile_wallet_support",
        Disputes "disputes",
        Files "files",
        WebhookEndpoints "webhook_endpoints",
        Webhooks "webhooks",
        Events "events",
        Sandbox "sandbox",
        /// API keys. Whichever section an operation belongs to, it needs this one if it makes, changes or shows keys.
        Keys "keys",
    }
}

impl Section {
    /// Returns its name in a sentence: `payment sources`.
    pub fn name(self) -> String {
        self.code().replace('_', " ")
    }

    /// Returns its tag in the document: `Payment sources`.
    pub fn tag(self) -> String {
        let name = self.name();
        name[..1].to_uppercase() + &name[1..]
    }

    /// Returns the section of a tag.
    pub fn from_tag(tag: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|section| section.tag() == tag)
    }
}

string_enum! {
    /// What a key may do in a section; each right includes the ones before it.
    pub closed enum Right {
        /// The key may do nothing.
        None "none",
        /// The key may read.
        Read "read",
        /// The key may read and write.
        Write "write",
    }
}
