//! Texts of strangers (names, e-mail addresses, descriptions, headers, answers) as terminals and logs show them: they neither
//! move a cursor nor hide, forge or turn round what stands beside them (`docs/decisions.md`, 408).

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter, Write};

/// Returns a text in which each letter that a terminal obeys is spelled as in JSON, `\u001b`: JSON stays the same JSON. What
/// `is_kept` names stays.
pub fn escape(text: &str, is_kept: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_escaped = |letter: char| is_obeyed(letter) && !is_kept(letter);
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if is_escaped(letter) {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                // Writing to a String cannot fail.
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(letter);
        }
    }
    Cow::Owned(escaped)
}

/// Returns whether a name looks like a parameter's: `address_line1`, `publicKeyHash`. Numbers of cards and accounts do not.
pub fn is_plain_name(name: &str) -> bool {
    const LETTERS_MAX: usize = 50;
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    name.len() <= LETTERS_MAX
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(word)
        && !name.as_bytes().windows(3).any(|three| three.iter().all(u8::is_ascii_digit))
}

/// Returns whether a terminal shows something else than the letter: controls of both sets, those of the direction of writing,
/// separators of lines, and what has no width, except the two that join letters.
fn is_obeyed(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// A text of strangers within a line.
#[derive(Debug, Clone, Copy)]
pub struct OneLine<T>(pub T);

impl<T: Display> Display for OneLine<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&escape(&self.0.to_string(), |_| false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_spelled_out_and_names_of_people_stay() {
        for (text, shown) in [
            ("k\u{1b}[1A\r\n\t\0", "k\\u001b[1A\\u000d\\u000a\\u0009\\u0000"),
            ("\u{7f}\u{80}\u{9b}2J\u{9f}", "\\u007f\\u0080\\u009b2J\\u009f"),
            ("\u{202e}\u{2066}\u{200f}\u{61c}\u{2028}", "\\u202e\\u2066\\u200f\\u061c\\u2028"),
            ("\u{200b}\u{feff}\u{ad}\u{e0041}", "\\u200b\\ufeff\\u00ad\\udb40\\udc41"),
        ] {
            assert_eq!(OneLine(text).to_string(), shown);
            let json = serde_json::to_string(text).unwrap();
            let escaped = escape(&json, |_| false);
            assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text);
            assert!(!escaped.contains(is_obeyed), "{escaped:?}");
        }
        for name in ["Zoë O'Neill", "شیرین\u{200c}ها", "👩\u{200d}🚀", "名前", "C:\\u001b"] {
            assert!(matches!(escape(name, |_| false), Cow::Borrowed(_)), "{name}");
        }
        assert_eq!(escape("one\ntwo\u{1b}", |letter| letter == '\n'), "one\ntwo\\u001b");
    }
}
