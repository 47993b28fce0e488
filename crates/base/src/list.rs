//! Lists in options and variables.

use std::fmt::Display;
use std::str::FromStr;

/// The values that one option or variable names, separated by commas. White space around them and a comma at the end do not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List<T>(Vec<T>);

impl<T> List<T> {
    /// Parses each value. An error names the wrong one.
    pub fn parse_each<E: Display>(text: &str, parse: impl Fn(&str) -> Result<T, E>) -> Result<Self, String> {
        let values = text.split(',').map(str::trim).filter(|value| !value.is_empty());
        let values = values.map(|value| parse(value).map_err(|why| format!("'{value}': {why}")));
        let values = values.collect::<Result<Vec<_>, _>>()?;
        if values.is_empty() { Err("names nothing".into()) } else { Ok(Self(values)) }
    }
}

impl<T: Clone> List<T> {
    /// Returns the values of an option, which may be given several times.
    pub fn all(lists: &[Self]) -> Vec<T> {
        lists.iter().flat_map(|list| list.0.clone()).collect()
    }
}

impl<T: FromStr<Err: Display>> FromStr for List<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse_each(text, T::from_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_and_a_comma_at_the_end_do_not_count() {
        for text in ["1,2", "1, 2", " 1 ,\t2,", "1,,2", "1\n,2\n"] {
            assert_eq!(text.parse::<List<u8>>(), Ok(List(vec![1, 2])), "{text:?}");
        }
        let lists: [List<u8>; 2] = ["1".parse().unwrap(), "2, 3".parse().unwrap()];
        assert_eq!(List::all(&lists), [1, 2, 3]);
        for text in ["", " ", ","] {
            assert_eq!(text.parse::<List<u8>>(), Err("names nothing".into()), "{text:?}");
        }
        assert_eq!("1, x".parse::<List<u8>>(), Err("'x': invalid digit found in string".into()));
    }
}
