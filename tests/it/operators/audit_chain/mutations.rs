//! Random mutations of the audit trail by an intruder in the database.

use card_payments::services::audit::AuditFinding;
use entity::audit_entry;
use uuid::Uuid;

use super::{bytes, counts, entries, findings, head, id, record, seal, tamper};
use crate::harness::random::Random;
use crate::harness::{App, postgres, rules};

rules! {
    async fn random_mutations_are_found_and_named_and_none_is_invented(app) {
        // Statements of an intruder, which a distributed table does not take.
        if postgres::is_distributed() {
            return;
        }
        let rounds: u64 = std::env::var("CARD_PAYMENTS_AUDIT_MUTATIONS").map_or(200, |rounds| rounds.parse().unwrap());
        let mut random = Random(rounds);
        let mut anchor = vec![head(app).await];
        for batch in [3, 5, 4] {
            record(app, batch).await;
            anchor.push(seal(app).await);
        }
        tamper(app, vec!["CREATE TABLE untouched AS SELECT * FROM audit_entries".into()]).await;
        let (entries, whole, born) = (entries(app).await, head(app).await, anchor.remove(0));
        for round in 0..rounds {
            let mutation = mutation(app, &mut random, &entries, (&born, &anchor));
            tamper(app, mutation.statements.clone()).await;
            let mut found = findings(app, &mutation.anchor).await.1;
            found.sort_by_key(|finding| format!("{finding:?}"));
            assert_eq!(found, mutation.expected, "round {round}: {:?}", mutation.statements);
            tamper(app, vec![
                "DELETE FROM audit_entries".into(),
                "INSERT INTO audit_entries SELECT * FROM untouched".into(),
                "DELETE FROM installation WHERE name = 'audit_head'".into(),
                format!("INSERT INTO installation (name, value) VALUES ('audit_head', '{whole}')"),
            ]).await;
            if round % 10 == 0 {
                assert_eq!(counts(app, &anchor).await, (12, 0, 0));
            }
        }
        tamper(app, vec!["DROP TABLE untouched".into()]).await;
        assert_eq!(counts(app, &anchor).await, (12, 0, 0));
    }
}

/// What an intruder does, and what is found.
struct Mutation {
    statements: Vec<String>,
    anchor: Vec<String>,
    /// In the order of their texts.
    expected: Vec<AuditFinding>,
}

fn mutation(
    app: &App,
    random: &mut Random,
    entries: &[audit_entry::Model],
    (born, anchor): (&str, &[String]),
) -> Mutation {
    let last = entries.len() as u64;
    let at = random.below(last);
    let entry = &entries[usize::try_from(at).unwrap()];
    let number = entry.number.unwrap();
    let changed = |number: i64, id: Uuid| AuditFinding::Changed { number, entry: Some(id) };
    let set = |column: &str, value: &str| {
        vec![format!("UPDATE audit_entries SET {column} = {value} WHERE number = {number}")]
    };
    let noise: [u8; 32] = std::array::from_fn(|_| u8::try_from(random.below(256)).unwrap());
    let mut anchor = anchor.to_vec();
    let (statements, mut expected) = match random.below(9) {
        // Any column.
        0..=2 => {
            let columns = [
                ("action", "'account.changed'".to_owned()),
                ("account", "NULL".into()),
                ("account", id(app, Uuid::from_bytes(*noise.first_chunk().unwrap()))),
                ("subject", "'acct_other'".into()),
                ("detail", "'{}'".into()),
                ("detail", "detail || ' '".into()),
                ("operator", "'rolanb'".into()),
                ("recorded_at", "recorded_at - 1".into()),
                ("kept_from", "kept_from + 1".into()),
                ("kept_from", "NULL".into()),
                ("mac", bytes(app, &noise)),
                ("mac", "NULL".into()),
            ];
            let (column, value) = &columns[usize::try_from(random.below(columns.len() as u64)).unwrap()];
            (set(column, value), vec![changed(number, entry.id)])
        }
        3 => {
            let value = if random.below(2) == 0 { "NULL".to_owned() } else { bytes(app, &noise) };
            (set("link", &value), vec![AuditFinding::Unlinked { number, entry: Some(entry.id) }])
        }
        // Out of its place: as if it were not sealed, or at another number.
        4 => {
            let missing = AuditFinding::Missing { from: number, to: number };
            if random.below(2) == 0 {
                (set("number", "NULL"), vec![missing])
            } else {
                let to = number + 100;
                (set("number", &to.to_string()), vec![changed(to, entry.id), missing])
            }
        }
        5 => {
            let other = &entries[usize::try_from((at + 1 + random.below(last - 1)) % last).unwrap()];
            let second = other.number.unwrap();
            let swap = format!(
                "UPDATE audit_entries SET number = CASE number WHEN {number} THEN {second} ELSE {number} END \
                 WHERE number IN ({number}, {second})"
            );
            (vec![swap], vec![changed(second, entry.id), changed(number, other.id)])
        }
        6 => {
            let to = number + i64::try_from(random.below(3)).unwrap();
            let to = to.min(i64::try_from(last).unwrap());
            let delete = format!("DELETE FROM audit_entries WHERE number BETWEEN {number} AND {to}");
            let mut statements = vec![delete];
            // The end, with the head from before it: three entries were sealed first, then five.
            if random.below(2) == 0 {
                let (kept, head) = if number <= 8 { (3, &anchor[0]) } else { (8, &anchor[1]) };
                statements = vec![
                    format!("DELETE FROM audit_entries WHERE number > {kept}"),
                    format!("UPDATE installation SET value = '{head}' WHERE name = 'audit_head'"),
                ];
                (statements, vec![AuditFinding::CutOff { line: 3, from: kept + 1, to: 12 }])
            } else {
                (statements, vec![AuditFinding::Missing { from: number, to }])
            }
        }
        7 => older_trail(random, (born, &anchor)),
        // A forged one, in a place that is taken or at the end; and a changed line of the anchor.
        _ => {
            let forged = Uuid::from_bytes(*noise.first_chunk().unwrap());
            let place = if random.below(2) == 0 { number } else { 13 };
            let columns = "action, account, subject, detail, operator, recorded_at";
            let insert = format!(
                "INSERT INTO audit_entries (id, {columns}, number, kept_from, mac, link) \
                 SELECT {}, {columns}, {place}, kept_from, mac, link FROM audit_entries WHERE number = {number}",
                id(app, forged)
            );
            let line = usize::try_from(random.below(3)).unwrap();
            anchor[line] = anchor[line].replacen("\"signed_at\":1", "\"signed_at\":2", 1);
            (vec![insert], vec![changed(place, forged), AuditFinding::AnchorLine { line: line + 1 }])
        }
    };
    expected.sort_by_key(|finding| format!("{finding:?}"));
    Mutation { statements, anchor, expected }
}

/// The head is gone, or an older one, with what comes after it unsealed and made older, deleted, or as it was.
fn older_trail(random: &mut Random, (born, anchor): (&str, &[String])) -> (Vec<String>, Vec<AuditFinding>) {
    let older: [(i64, &str); 4] = [(0, born), (3, &anchor[0]), (8, &anchor[1]), (0, "")];
    let (kept, head) = older[usize::try_from(random.below(4)).unwrap()];
    let mut statements = match head {
        "" => vec!["DELETE FROM installation WHERE name = 'audit_head'".to_owned()],
        head => vec![format!("UPDATE installation SET value = '{head}' WHERE name = 'audit_head'")],
    };
    let rest = match random.below(3) {
        0 => return (statements, vec![AuditFinding::Head]),
        1 => format!("DELETE FROM audit_entries WHERE number > {kept}"),
        _ => format!(
            "UPDATE audit_entries SET number = NULL, kept_from = NULL, mac = NULL, link = NULL, \
             recorded_at = recorded_at - 43200000000 WHERE number > {kept}"
        ),
    };
    statements.push(rest);
    let cut_off = AuditFinding::CutOff { line: 3, from: kept + 1, to: 12 };
    let is_gone = head.is_empty().then_some(AuditFinding::Head);
    (statements, [cut_off].into_iter().chain(is_gone).collect())
}
