//! Recordings, as HAR and as JSON lines, and what takes secrets out of answers.

use card_payments::recorder::test_card;
use recording::{
    Exchange, Format, Piece, RecordingWriter, pieces, read_with_logs, without_card_numbers, without_secrets,
};
use serde_json::Value;

use super::{Target, inputs};

pub const TARGET: Target = Target {
    name: "recordings",
    hold,
    samples,
    words: &[
        "{\"card_payments_recording\":1}\n",
        "\"creator\":{\"name\":\"card-payments\",\"version\":\"0\"}",
        "{key}",
        "{secret 1}",
        "{card visa}",
        "{hidden}",
        "ch_AZqYv3rVcBKUQ1mHn7tKRw",
        "4000 0566-5566 5556",
        "\"postData\":{\"mimeType\":\"application/json\",\"text\":\"{}\"}",
        "\"publishable_key\":",
    ],
};

fn samples() -> Vec<Vec<u8>> {
    let paid = Exchange {
        at: "2026-01-01T00:00:00.000Z".into(),
        method: "POST".into(),
        path: "/1/charges/ch_AZqYv3rVcBKUQ1mHn7tKRw/capture".into(),
        key: Some(recording::KEY.into()),
        idempotency_key: Some("a".into()),
        parameters: [("amount".to_owned(), 400.into()), ("card".to_owned(), "{card visa}".into())]
            .into_iter()
            .collect(),
        hidden: vec!["cvc".into()],
        status: 201,
        replayed: true,
        location: Some("{server}/1/charges".into()),
        duration_ms: 7,
        body: serde_json::json!({ "secret": "sk_test_0123456789abcdef", "name": "4000 0566-5566 5556" }),
        ..Exchange::default()
    };
    let listed = Exchange {
        method: "GET".into(),
        path: "/1/{secret 1}/a b".into(),
        parameters: [("a".to_owned(), serde_json::json!({ "b": [1, null, "é"] }))].into_iter().collect(),
        ..paid.clone()
    };
    let mut samples = inputs(["paid by 4000 0566-5566 5556, {key} {secret 12} ch_AZqYv3rVcBKUQ1mHn7tKRw {"]);
    for format in [Format::Har, Format::JsonLines] {
        samples.push(write(&[paid.clone(), listed.clone()], format).into());
    }
    samples
}

fn write(exchanges: &[Exchange], format: Format) -> String {
    let mut file = RecordingWriter::new(Vec::new(), format).expect("memory");
    for exchange in exchanges {
        file.write(exchange).expect("memory");
    }
    String::from_utf8(file.finish().expect("memory")).expect("JSON is UTF-8")
}

fn hold(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    hold_pieces(&text);
    let shown = without_card_numbers(&text);
    assert_eq!(without_card_numbers(&shown), shown, "no card number is left");
    if let Ok(mut value) = serde_json::from_str::<Value>(&text) {
        without_secrets(&mut value);
        let once = value.clone();
        without_secrets(&mut value);
        assert_eq!(value, once, "no secret is left");
    }
    match read_with_logs(&text) {
        Ok(exchanges) => {
            let lines = write(&exchanges, Format::JsonLines);
            assert_eq!(
                read_with_logs(&lines).as_ref(),
                Ok(&exchanges),
                "a recording is read as it is written"
            );
            // An address of HAR has only one way to write a path, and its query only texts.
            if let Ok(plain) = read_with_logs(&write(&exchanges, Format::Har)) {
                assert_eq!(read_with_logs(&write(&plain, Format::Har)), Ok(plain), "also as HAR");
            }
        }
        Err(why) => assert!(!why.is_empty()),
    }
}

fn hold_pieces(text: &str) {
    let pieces = pieces(text);
    let whole: String = pieces
        .iter()
        .map(|piece| match piece {
            Piece::Literal(part) | Piece::Token(part) => *part,
            Piece::Placeholder(part) => {
                // Whatever it names.
                let _ = test_card(part);
                *part
            }
        })
        .collect();
    assert_eq!(whole, text, "nothing is lost between the pieces");
}
