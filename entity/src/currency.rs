//! The currencies that can be charged.

string_enum! {
    /// A currency of a charge. Amounts are in its base unit: cents, or whole yen.
    pub enum Currency {
        Aud "AUD",
        Usd "USD",
        Nzd "NZD",
        Sgd "SGD",
        Eur "EUR",
        Gbp "GBP",
        Cad "CAD",
        Hkd "HKD",
        Jpy "JPY",
        Myr "MYR",
        Thb "THB",
        Php "PHP",
        Zar "ZAR",
        Idr "IDR",
        Twd "TWD",
    }
}

impl Currency {
    /// Parses a code in either case, as existing clients send them.
    pub fn parse(text: &str) -> Option<Self> {
        Self::from_code(&text.trim().to_ascii_uppercase())
    }

    /// Returns the smallest amount that can be charged, in base units.
    pub const fn charge_amount_min(self) -> i64 {
        match self {
            Self::Gbp => 50,
            Self::Aud | Self::Usd | Self::Nzd | Self::Sgd | Self::Eur | Self::Cad | Self::Jpy => 100,
            Self::Myr => 300,
            Self::Hkd | Self::Zar => 1_000,
            Self::Thb => 2_000,
            Self::Twd => 2_500,
            Self::Php => 3_000,
            Self::Idr => 1_000_000,
        }
    }

    /// Returns the decimal places between the base unit and the currency unit.
    pub const fn minor_units(self) -> u32 {
        match self {
            Self::Jpy => 0,
            Self::Aud
            | Self::Usd
            | Self::Nzd
            | Self::Sgd
            | Self::Eur
            | Self::Gbp
            | Self::Cad
            | Self::Hkd
            | Self::Myr
            | Self::Thb
            | Self::Php
            | Self::Zar
            | Self::Idr
            | Self::Twd => 2,
        }
    }

    /// Returns the sign that people write before an amount; no two currencies share one.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Aud => "A$",
            Self::Usd => "US$",
            Self::Nzd => "NZ$",
            Self::Sgd => "S$",
            Self::Eur => "€",
            Self::Gbp => "£",
            Self::Cad => "CA$",
            Self::Hkd => "HK$",
            Self::Jpy => "¥",
            Self::Myr => "RM",
            Self::Thb => "฿",
            Self::Php => "₱",
            Self::Zar => "R",
            Self::Idr => "Rp",
            Self::Twd => "NT$",
        }
    }

    /// Formats an amount of base units for people: `AUD 4.00`, `JPY 400`.
    pub fn in_words(self, amount: i64) -> String {
        let places = self.minor_units();
        let unit = 10_u64.pow(places);
        let (whole, rest) = (amount.unsigned_abs() / unit, amount.unsigned_abs() % unit);
        let (code, sign) = (self.code(), if amount < 0 { "-" } else { "" });
        match usize::try_from(places) {
            Ok(places @ 1..) => format!("{code} {sign}{whole}.{rest:0places$}"),
            Ok(0) | Err(_) => format!("{code} {sign}{whole}"),
        }
    }
}
