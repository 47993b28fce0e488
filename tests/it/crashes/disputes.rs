//! What is left by a process that dies right before or after the commit of a dispute's arrival or move, or on the way of
//! an upload: each happens once, the books are right, and every blob has its file or goes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{books_are_right, dies_at};
use crate::harness::process::{repeatable_request, try_to_ask};
use crate::harness::{Database, PDF, multipart, operated, token_of};

const POINTS: [(&str, bool); 7] = [
    ("dispute.open.before", false),
    ("dispute.open.after", true),
    ("dispute.move.before", false),
    ("dispute.move.after", true),
    ("file.blob.before", false),
    ("file.blob.after", false),
    ("file.row.before", false),
];

fn upload(key: &str, idempotency_key: &str) -> String {
    let body = String::from_utf8(multipart("a.pdf", PDF)).unwrap();
    format!(
        "POST /1/files HTTP/1.1\r\nHost: test\r\nConnection: close\r\nAuthorization: Basic {}\r\n\
         Idempotency-Key: {idempotency_key}\r\nContent-Type: multipart/form-data; boundary=x\r\n\
         Content-Length: {}\r\n\r\n{body}",
        STANDARD.encode(format!("{key}:")),
        body.len()
    )
}

operated! {
    async fn disputes_and_uploads_survive(installed) {
        let server = installed.serve();
        let (key, _) = server.keys();
        let prepared = POINTS.map(|(point, _)| {
            let charge = token_of(&server.pay(&key).ok(201));
            let dispute = format!("charge_token={charge}");
            match *point.split('.').collect::<Vec<_>>() {
                ["file", ..] => upload(&key, point),
                [_, "open", _] => {
                    repeatable_request("POST", "/1/sandbox/disputes", Some(&key), Some(point), &dispute)
                }
                _ => {
                    let dispute = server.ask("POST", "/1/sandbox/disputes", Some(&key), &dispute).ok(201);
                    let path = format!("/1/disputes/{}/accept", token_of(&dispute));
                    repeatable_request("POST", &path, Some(&key), Some(point), "")
                }
            }
        });
        server.stopped();
        for ((point, committed), request) in POINTS.iter().zip(&prepared) {
            assert!(dies_at(installed, point, request).is_err(), "{point}");
            let server = installed.serve();
            let done = try_to_ask(server.address, request).unwrap();
            assert!(done.status < 300, "{point}: {}", done.body);
            assert_eq!(done.headers.contains_key("idempotent-replayed"), *committed, "{point}");
            server.stopped();
        }
        let server = installed.serve();
        let disputes = server.ask("GET", "/1/disputes?per_page=500", Some(&key), "").ok(200);
        let statuses = disputes.as_array().unwrap().iter().map(|dispute| dispute["status"].as_str().unwrap());
        assert_eq!(
            statuses.collect::<Vec<_>>(),
            ["evidence_required", "evidence_required", "accepted", "accepted"]
        );
        let events = server.ask("GET", "/1/events?per_page=500", Some(&key), "").ok(200);
        let events = events.as_array().unwrap().iter();
        let happened = |what: &str| events.clone().filter(|event| event["type"] == what).count();
        assert_eq!((happened("dispute.evidence_required"), happened("dispute.accepted")), (4, 2));
        server.stopped();
        books_are_right(installed);
        if installed.database == Database::Sqlite {
            let files = std::fs::read_dir(installed.data.path().join("files")).unwrap().count();
            // The one that died between blob and row lies there for an hour, and so does the one after it.
            assert_eq!(files, 3 + 2);
        }
    }
}
