//! Results in the form of JUnit, which servers of continuous integration show.

use std::path::Path;

use base::durable_fs;
use base::plain_text::escape;
use maud::{PreEscaped, html};

pub struct TestCase {
    pub name: String,
    /// The number of milliseconds that it took.
    pub ms: u64,
    /// The description of the failure, if it failed.
    pub failure: Option<String>,
}

pub fn write(file: &Path, suite: &str, cases: &[TestCase]) -> Result<(), String> {
    let text = document(suite, cases);
    durable_fs::replace_file(file, text.as_bytes()).map_err(|error| format!("{}: {error}", file.display()))
}

fn document(suite: &str, cases: &[TestCase]) -> String {
    let failures = cases.iter().filter(|case| case.failure.is_some()).count();
    let total = cases.iter().map(|case| case.ms).sum();
    // XML has no escapes for control characters.
    let plain = |text: &str| escape(text, |_| false).into_owned();
    let suites = html! {
        testsuites {
            testsuite name=(suite) tests=(cases.len()) failures=(failures) time=(seconds(total)) {
                @for case in cases {
                    testcase classname=(suite) name=(plain(&case.name)) time=(seconds(case.ms)) {
                        @if let Some(failure) = &case.failure { failure message=(plain(failure)) {} }
                    }
                }
            }
        }
    };
    html! { (PreEscaped("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")) (suites) "\n" }.into_string()
}

fn seconds(ms: u64) -> String {
    format!("{}.{:03}", ms / 1000, ms % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_escaped_and_counted() {
        let cases = [
            TestCase { name: "good".into(), ms: 1003, failure: None },
            TestCase { name: "bad".into(), ms: 7, failure: Some("<a> & \"b\"\u{1b}".into()) },
        ];
        let expected = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites><testsuite name=\"s\" tests=\"2\" failures=\"1\" \
            time=\"1.010\"><testcase classname=\"s\" name=\"good\" time=\"1.003\"></testcase><testcase classname=\"s\" \
            name=\"bad\" time=\"0.007\"><failure message=\"&lt;a&gt; &amp; &quot;b&quot;\\u001b\"></failure></testcase>\
            </testsuite></testsuites>\n";
        assert_eq!(document("s", &cases), expected);
    }
}
