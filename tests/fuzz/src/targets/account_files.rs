//! Files of accounts, which `--export-on-exit` writes.

use card_payments::services::accounts::wipe;
use card_payments::services::snapshots::account_file::AccountFile;
use entity::AccountToken;
use serde_json::{Map, Value};
use uuid::Uuid;
use vault::{DataKeys, Key};

use super::{Target, inputs};

pub const TARGET: Target = Target {
    name: "account_files",
    hold,
    samples,
    words: &[
        "\"card_payments_account\":1",
        "\"account\":{}",
        "\"tables\":{",
        "\"contents\":{}",
        "\"search_text\":",
        "\"plans\":[{",
        "null",
        "\"id\":\"019aa26b-2bf7-75b0-ab14-43999fb4ad2b\"",
    ],
};

fn samples() -> Vec<Vec<u8>> {
    let mut samples = inputs([
        r#"{"card_payments_account":2}"#,
        r#"{"card_payments_account":1,"account":{"name":"Zoë"},"tables":{"charges":[{"search_text":"a\nB"}],"nothing":[]},"contents":{}}"#,
    ]);
    samples.push(include_bytes!("../../account.json").to_vec());
    samples
}

fn hold(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let file = match AccountFile::parse(text) {
        Ok(file) => file,
        Err(why) => return assert!(!why.is_empty()),
    };
    let printed = serde_json::to_string(&file).expect("JSON");
    assert_eq!(AccountFile::parse(&printed).as_ref(), Ok(&file), "an account is read as it is written");
    let printed: Value = serde_json::from_str(&printed).expect("JSON");
    let keys = DataKeys::new((Uuid::nil(), Key::from([7; 32])), []);
    let owner = AccountToken::new(Uuid::nil());
    for table in wipe::copied() {
        let rows: Vec<Map<String, Value>> =
            serde_json::from_value(printed["tables"][table.name()].clone()).unwrap_or_default();
        if let Err(why) = table.import(&rows, owner, &keys, &mut |_| Ok(())) {
            assert!(why.starts_with(&format!("{}, row ", table.name())), "{why}");
        }
    }
}
