//! Tokens as operators name them. Who names a record of another kind learns which kind is expected.

use std::fmt::Display;

use base::plain_text::OneLine;
use entity::token::{Token, TokenKind};

pub fn parse<K: TokenKind>(kind: &str, text: &str) -> Result<Token<K>, String> {
    let is_whole = || format!("a token is {} and 22 letters, digits, - or _", K::PREFIX);
    text.parse().map_err(|_| expectation::<K>(kind, text).unwrap_or_else(is_whole))
}

/// Returns that there is no record of this kind with this token.
pub fn missing<K: TokenKind>(kind: &str, named: &impl Display) -> String {
    let named = named.to_string();
    let missing = format!("there is no {kind} {}", OneLine(&named));
    match expectation::<K>(kind, &named) {
        Some(expectation) => format!("{missing}: {expectation}"),
        None => missing,
    }
}

/// Returns what the token of such a record looks like, if this is none.
fn expectation<K: TokenKind>(kind: &str, named: &str) -> Option<String> {
    (!named.starts_with(K::PREFIX)).then(|| format!("{kind} tokens begin with {}", K::PREFIX))
}

#[cfg(test)]
mod tests {
    use entity::token::Account;

    use super::*;

    #[test]
    fn a_token_of_another_kind_is_told_from_one_of_no_record() {
        let parsed = |text| {
            parse::<Account>("account", text)
                .map_err(|error| missing::<Account>("account", &text) + "; " + &error)
        };
        assert!(parsed("acct_AZqYv3rVcBKUQ1mHn7tKRw").is_ok());
        assert_eq!(
            parsed("acct_x").unwrap_err(),
            "there is no account acct_x; a token is acct_ and 22 letters, digits, - or _"
        );
        assert_eq!(
            parsed("cus_AZqYv3rVcBKUQ1mHn7tKRw").unwrap_err(),
            "there is no account cus_AZqYv3rVcBKUQ1mHn7tKRw: account tokens begin with acct_; account tokens begin with acct_"
        );
    }
}
