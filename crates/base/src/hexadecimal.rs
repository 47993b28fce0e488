//! Bytes in hexadecimal.

/// Encodes two lower-case digits per byte.
pub fn encode(bytes: &[u8]) -> String {
    let digit = |digit: u8| char::from_digit(digit.into(), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Decodes two digits per byte; `None` if the text has others, or half a byte.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let bytes = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?));
    rest.is_empty().then(|| bytes.collect()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded_and_nothing_else_is() {
        assert_eq!(encode(&[0, 0x9f, 0xff]), "009fff");
        assert_eq!(decode("009fFF"), Some(vec![0, 0x9f, 0xff]));
        for other in ["0", "0g", "+f", " 0", "ä"] {
            assert_eq!(decode(other), None, "{other}");
        }
    }
}
