//! Texts of recordings, taken apart: what each run draws again stands between what stays.

use entity::token::is_token;

/// A part of a recorded text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Text that stays.
    Literal(&'a str),
    /// The token of a record.
    Token(&'a str),
    /// A text in braces that stands for a value.
    Placeholder(&'a str),
}

/// The characters of a token after its prefix.
const TOKEN_LETTERS: usize = 22;

/// Takes a text apart.
pub fn pieces(text: &str) -> Vec<Piece<'_>> {
    let (mut pieces, mut literal, mut at) = (Vec::new(), 0, 0);
    // Looked for once for all braces that open before it.
    let mut close = text.find('}');
    while at < text.len() {
        let hole = match text.as_bytes()[at] {
            b'{' => {
                if close.is_some_and(|close| close < at) {
                    close = text[at..].find('}').map(|letters| at + letters);
                }
                let hole = close.map(|close| &text[at..=close]);
                hole.filter(|hole| is_placeholder(hole)).map(|hole| (at, Piece::Placeholder(hole)))
            }
            b'_' => token(text, literal, at),
            _ => None,
        };
        let Some((start, piece)) = hole else {
            at += 1;
            continue;
        };
        if literal < start {
            pieces.push(Piece::Literal(&text[literal..start]));
        }
        let (Piece::Literal(hole) | Piece::Token(hole) | Piece::Placeholder(hole)) = piece;
        pieces.push(piece);
        (literal, at) = (start + hole.len(), start + hole.len());
    }
    if literal < text.len() {
        pieces.push(Piece::Literal(&text[literal..]));
    }
    pieces
}

/// Returns whether a text in braces stands for a value.
fn is_placeholder(hole: &str) -> bool {
    let word = &hole[1..hole.len() - 1];
    matches!(word, "key" | "publishable_key" | "server")
        || word
            .strip_prefix("secret ")
            .is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit()))
        || word.starts_with("card ")
}

/// Returns the token whose underscore is there, and where it begins.
fn token(text: &str, from: usize, underscore: usize) -> Option<(usize, Piece<'_>)> {
    let prefix = text[from..underscore].bytes().rev().take_while(u8::is_ascii_lowercase).count();
    let start = underscore - prefix;
    let token = text.get(start..=underscore + TOKEN_LETTERS)?;
    is_token(token).then_some((start, Piece::Token(token)))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn tokens_and_placeholders_are_found_wherever_they_stand() {
        const CHARGE: &str = "ch_AZqYv3rVcBKUQ1mHn7tKRw";
        let path = format!("/1/charges/{CHARGE}/capture?é={{secret 12}}");
        let expected = [
            Piece::Literal("/1/charges/"),
            Piece::Token(CHARGE),
            Piece::Literal("/capture?é="),
            Piece::Placeholder("{secret 12}"),
        ];
        assert_eq!(pieces(&path), expected);
        for plain in
            ["ch_AZqYv3rVcBKUQ1mHn7tKR", "xch_AZqYv3rVcBKUQ1mHn7tKRw", "{secret x}", "{}", "{", "_", "ch_é"]
        {
            assert_eq!(pieces(plain), [Piece::Literal(plain)], "{plain}");
        }
        assert_eq!(pieces(""), []);
        assert_eq!(
            pieces("{}{{key}{x"),
            [Piece::Literal("{}{"), Piece::Placeholder("{key}"), Piece::Literal("{x")]
        );
    }

    #[test]
    fn a_long_run_of_braces_is_read_once() {
        let began = Instant::now();
        for end in ["", "}"] {
            let text = "{".repeat(1 << 21) + end;
            assert_eq!(pieces(&text), [Piece::Literal(&text)]);
        }
        // Looking for the end of each takes minutes.
        assert!(began.elapsed() < Duration::from_secs(20));
    }
}
