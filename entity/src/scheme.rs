//! The card schemes.

string_enum! {
    /// The network of a card, by the prefix of its number.
    pub enum Scheme {
        Visa "visa",
        Master "master",
        AmericanExpress "american_express",
        DinersClub "diners_club",
        Discover "discover",
        Jcb "jcb",
    }
}
