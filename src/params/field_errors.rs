//! The faults of a request: parameter and predicate, in the order in which the request declares its parameters.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use serde::Serialize;

/// The faults of one request.
#[derive(Debug, Clone, Default)]
pub struct FieldErrors {
    found: Vec<(String, Cow<'static, str>)>,
    /// The fields of each decoded struct, by its path. They decide the order.
    declared: Vec<(String, &'static [&'static str])>,
}

impl FieldErrors {
    /// Adds a fault, once: `faults.add("card.number", "can't be blank")`.
    pub fn add(&mut self, param: &str, predicate: impl Into<Cow<'static, str>>) {
        let predicate = predicate.into();
        if !self.contains(param, &predicate) {
            self.found.push((param.to_owned(), predicate));
        }
    }

    /// Makes the faults of a request that has only this one.
    pub fn one(param: &str, predicate: impl Into<Cow<'static, str>>) -> Self {
        let mut faults = Self::default();
        faults.add(param, predicate);
        faults
    }

    /// Adds a fault if a value without one is out of its range.
    pub fn check_range(&mut self, param: &str, value: i64, range: &RangeInclusive<i64>) {
        if self.has(param) || range.contains(&value) {
            return;
        }
        let (min, max) = (range.start(), range.end());
        self.add(
            param,
            if value < *min { format!("must be at least {min}") } else { format!("must be at most {max}") },
        );
    }

    /// Returns whether this parameter has a fault; those of parameters inside it do not count.
    pub fn has(&self, param: &str) -> bool {
        self.found.iter().any(|(known, _)| known == param)
    }

    /// Returns whether this parameter has this fault.
    pub fn contains(&self, param: &str, predicate: &str) -> bool {
        self.found.iter().any(|(known, text)| known == param && text == predicate)
    }

    /// Returns whether there is no fault.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Adds the faults of another struct that was read from the same tree. Its parameters come last.
    pub fn append(&mut self, other: Self) {
        self.declared.extend(other.declared);
        for (param, predicate) in other.found {
            self.add(&param, predicate);
        }
    }

    /// Returns parameters and predicates in declared order; parameters that no struct declares come last, in the order added.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut sorted: Vec<_> =
            self.found.iter().map(|(param, predicate)| (param.as_str(), predicate.as_ref())).collect();
        sorted.sort_by_cached_key(|(param, _)| self.rank(param));
        sorted.into_iter()
    }

    /// Returns the faults as the API reports them, in declared order.
    pub fn messages(&self) -> impl Iterator<Item = FieldMessage> {
        self.iter().map(|(param, predicate)| FieldMessage::new(param, predicate))
    }

    /// Records the fields of the struct at `path`.
    pub(super) fn declare(&mut self, path: String, fields: &'static [&'static str]) {
        self.declared.push((path, fields));
    }

    /// Returns the fields of the struct at `path`.
    pub(super) fn fields<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'static str> + 'a {
        self.declared
            .iter()
            .filter(move |(known, _)| known == path)
            .flat_map(|(_, fields)| fields.iter().copied())
    }

    /// Returns the position at each level, outermost first, so that `card` comes right before `card.number`.
    fn rank(&self, param: &str) -> Vec<usize> {
        let mut parent = "";
        let ends = param.match_indices('.').map(|(dot, _)| dot).chain([param.len()]);
        ends.map(|end| {
            let name = param[parent.len()..end].trim_start_matches('.');
            let position = self.fields(parent).position(|field| field == name);
            parent = &param[..end];
            position.unwrap_or(usize::MAX)
        })
        .collect()
    }
}

/// One fault as the API reports it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FieldMessage {
    /// The parameter, nested ones with dots: `card.number`.
    pub param: String,
    /// `card_number_invalid`; absent in a 400 about the parameters of a subscription.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// `Card number can't be blank`.
    pub message: String,
}

impl FieldMessage {
    /// Words the fault.
    pub fn new(param: &str, predicate: &str) -> Self {
        // The fault of several parameters is a whole sentence, and begins like one.
        if predicate.starts_with(|letter: char| letter.is_ascii_uppercase()) {
            return Self { message: predicate.to_owned(), ..Self::new(param, "") };
        }
        let subject = match (param, predicate) {
            // Existing clients of webhook endpoints expect this one sentence to begin with the bare parameter.
            ("url", "is not a valid URL") => param.to_owned(),
            _ => humanised(param),
        };
        let code = code(param, if predicate.starts_with(UNKNOWN) { "unknown" } else { "invalid" });
        Self { param: param.to_owned(), code: Some(code), message: format!("{subject} {predicate}") }
    }

    /// Makes a message of the predicate alone, as subscriptions have it.
    pub fn bare(param: &str, predicate: &str) -> Self {
        Self { param: param.to_owned(), code: None, message: predicate.to_owned() }
    }
}

/// The fault of a parameter that the operation does not know.
const UNKNOWN: &str = "is not a parameter of this operation";

/// Returns the fault of a parameter that the operation does not know, with the one that is probably meant.
pub fn unknown_parameter(meant: Option<&str>) -> String {
    meant.map_or_else(|| UNKNOWN.to_owned(), |meant| format!("{UNKNOWN}: did you mean `{meant}`?"))
}

/// Returns the code of a parameter. A header's code is in lower case, unlike its name.
fn code(param: &str, fault: &str) -> String {
    let param = if param.contains('-') { param.to_lowercase() } else { param.to_owned() };
    format!("{}_{fault}", param.replace(['.', '-'], "_"))
}

/// Returns the name as text: `bank_account.bsb` is "Bank account BSB". Names in camel case belong to a wallet's format and stay.
fn humanised(param: &str) -> String {
    let words: Vec<_> = param
        .split(['.', '_'])
        .map(|word| if matches!(word, "bsb" | "url") { word.to_uppercase() } else { word.to_owned() })
        .collect();
    let mut sentence = words.join(" ");
    if let Some(first) = sentence.get_mut(..1)
        && !words[0].contains(|letter: char| letter.is_ascii_uppercase())
    {
        first.make_ascii_uppercase();
    }
    sentence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_the_humanised_parameter_and_the_predicate() {
        for (param, code, message) in [
            ("card.number", "card_number_invalid", "Card number is bad"),
            ("ip_address", "ip_address_invalid", "Ip address is bad"),
            ("bsb", "bsb_invalid", "BSB is bad"),
            ("bank_account.bsb", "bank_account_bsb_invalid", "Bank account BSB is bad"),
            ("url", "url_invalid", "URL is bad"),
            (
                "three_d_secure.callback_url",
                "three_d_secure_callback_url_invalid",
                "Three d secure callback URL is bad",
            ),
            (
                "source.header.publicKeyHash",
                "source_header_publicKeyHash_invalid",
                "Source header publicKeyHash is bad",
            ),
            ("publicKeyHash", "publicKeyHash_invalid", "publicKeyHash is bad"),
            ("items[0]", "items[0]_invalid", "Items[0] is bad"),
            ("Sandbox-Outcome", "sandbox_outcome_invalid", "Sandbox-Outcome is bad"),
        ] {
            let rendered = FieldMessage::new(param, "is bad");
            assert_eq!(
                (rendered.param.as_str(), rendered.code.as_deref(), rendered.message.as_str()),
                (param, Some(code), message)
            );
        }
    }

    #[test]
    fn a_bad_url_of_a_webhook_endpoint_is_told_by_the_bare_parameter() {
        assert_eq!(FieldMessage::new("url", "is not a valid URL").message, "url is not a valid URL");
        assert_eq!(
            FieldMessage::new("business.url", "is not a valid URL").message,
            "Business URL is not a valid URL"
        );
    }

    #[test]
    fn faults_are_told_once_and_in_declared_order() {
        let mut faults = FieldErrors::default();
        faults.declare(String::new(), &["email", "card", "amount"]);
        faults.declare("card".to_owned(), &["number", "name"]);
        for param in
            ["zebra", "amount", "card.ghost", "card.name", "apple", "card.number", "card", "email", "amount"]
        {
            faults.add(param, "is bad");
        }
        faults.add("amount", "is worse");
        let order: Vec<_> = faults.iter().map(|(param, _)| param).collect();
        assert_eq!(
            order,
            ["email", "card", "card.number", "card.name", "card.ghost", "amount", "amount", "zebra", "apple"]
        );
        assert!(faults.has("card") && !faults.has("number"));
    }
}
