//! The state of a provider before a test of a consumer's pact begins: a request to the sandbox names it, and nothing stores it.

string_enum! {
    /// The state in which the provider is before an interaction of a pact.
    pub closed enum ProviderState {
        /// The account as it is.
        Account "an account",
        /// A stored card: card_token.
        Card "a card",
        /// A customer with a card: customer_token, card_token.
        Customer "a customer",
        /// A captured charge: charge_token.
        Charge "a charge",
        /// A charge that waits to be captured: charge_token.
        AuthorisedCharge "an authorised charge",
        /// A voided charge: charge_token.
        VoidedCharge "a voided charge",
        /// A declined charge: charge_token. The parameter outcome is the code, card_declined if absent.
        DeclinedCharge "a declined charge",
        /// A charge that waits for its cardholder: charge_token, redirect_url.
        PendingCharge "a pending charge",
        /// A charge with a pending refund: charge_token, refund_token.
        Refund "a refund",
        /// A charge with a refund that succeeded: charge_token, refund_token.
        SettledRefund "a settled refund",
        /// A charge with a refund that failed: charge_token, refund_token.
        FailedRefund "a failed refund",
        /// An authorisation: auth_token.
        Authorisation "an authorisation",
        /// A plan: plan_token.
        Plan "a plan",
        /// An active subscription: sub_token, plan_token, customer_token, card_token.
        Subscription "a subscription",
        /// A cancelled subscription: sub_token, plan_token, customer_token, card_token.
        CancelledSubscription "a cancelled subscription",
        /// A recipient: recipient_token.
        Recipient "a recipient",
        /// A transfer: transfer_token.
        Transfer "a transfer",
        /// A deposit: deposit_token.
        Deposit "a deposit",
        /// A disputed charge: dispute_token, charge_token.
        Dispute "a dispute",
        /// An acquirer that declines every card, until the teardown. The parameter decline is the code, card_declined if absent.
        DecliningAcquirer "a declining acquirer",
        /// A request in flight, until the teardown: it owns the parameter idempotency_key, and has the other parameters method,
        /// path and parameters.
        RequestInFlight "a request in flight",
    }
}

string_enum! {
    /// What a verifier asks for.
    pub closed enum StateAction {
        /// To make the state, before the interaction.
        Setup "setup",
        /// To end it, after the interaction.
        Teardown "teardown",
    }
}
