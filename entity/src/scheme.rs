//! The card schemes.

string_enum! {
    /// The network of a card, by the prefix of its number. More schemes may join: accept unknown ones.
    pub open enum Scheme {
        /// Visa.
        Visa "visa",
        /// Mastercard.
        Master "master",
        /// American Express, whose verification codes have four digits.
        AmericanExpress "american_express",
        /// Diners Club.
        DinersClub "diners_club",
        /// Discover.
        Discover "discover",
        /// JCB.
        Jcb "jcb",
    }
}
