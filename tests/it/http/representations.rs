//! What clients may keep: the document, its short form and the files of its page, compressed as they ask, with an ETag for each coding.

use std::collections::BTreeMap;
use std::io::Read;
use std::net::SocketAddr;
use std::process::Command;

use crate::harness::process::{Process, program};

struct CurlAnswer {
    status: u16,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

/// As `curl` gets it; it does not undo a coding by itself.
fn fetch(address: SocketAddr, path: &str, arguments: &[&str]) -> CurlAnswer {
    let mut curl = Command::new("curl");
    let output = curl.args(["-sS", "-i"]).args(arguments).arg(format!("http://{address}{path}")).output();
    let answer = output.unwrap().stdout;
    let end = answer.windows(4).position(|end| end == b"\r\n\r\n").unwrap();
    let head = std::str::from_utf8(&answer[..end]).unwrap();
    let headers = head.lines().skip(1).map(|line| line.split_once(": ").unwrap());
    CurlAnswer {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        headers: headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect(),
        body: answer[end + 4..].to_vec(),
    }
}

impl CurlAnswer {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    fn decoded(&self) -> Vec<u8> {
        let mut decoded = Vec::new();
        match self.header("content-encoding") {
            "gzip" => flate2::read::GzDecoder::new(&*self.body).read_to_end(&mut decoded).unwrap(),
            "br" => brotli::Decompressor::new(&*self.body, 4096).read_to_end(&mut decoded).unwrap(),
            other => {
                assert_eq!(other, "");
                return self.body.clone();
            }
        };
        decoded
    }
}

fn accepting(codings: &str) -> [String; 2] {
    ["-H".into(), format!("Accept-Encoding: {codings}")]
}

const FILES: [&str; 8] = [
    "/openapi.json",
    "/openapi.yaml",
    "/llms.txt",
    "/arazzo.yaml",
    "/docs/page.js",
    "/docs/page.css",
    "/docs/swagger-ui-bundle.js",
    "/docs/swagger-ui.css",
];

#[test]
fn a_client_gets_a_file_in_the_coding_that_it_asks_for() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    for path in FILES {
        let plain = fetch(server.address, path, &[]);
        assert_eq!((plain.status, plain.header("content-encoding")), (200, ""), "{path}");
        assert!(std::str::from_utf8(&plain.body).is_ok() && plain.body.len() > 1000, "{path}");
        let mut etags = vec![plain.header("etag").to_owned()];
        let vendored = path.contains("swagger-ui");
        for (codings, coding) in [
            ("gzip", "gzip"),
            ("gzip, deflate, br", if vendored { "gzip" } else { "br" }),
            ("br;q=0.1, gzip", "gzip"),
            ("gzip;q=0", ""),
            ("*;q=0", ""),
        ] {
            let [flag, header] = &accepting(codings);
            let answer = fetch(server.address, path, &[flag, header]);
            assert_eq!((answer.status, answer.header("content-encoding")), (200, coding), "{path} {codings}");
            assert_eq!(answer.header("vary"), "accept-encoding", "{path} {codings}");
            assert_eq!(answer.header("content-type"), plain.header("content-type"), "{path} {codings}");
            assert_eq!(answer.header("content-length"), answer.body.len().to_string(), "{path} {codings}");
            assert!(answer.decoded() == plain.body, "{path} {codings}");
            assert!(coding.is_empty() || answer.body.len() < plain.body.len(), "{path} {codings}");
            etags.push(answer.header("etag").to_owned());
            let head = fetch(server.address, path, &[flag, header, "--head"]);
            assert_eq!((head.status, head.body.len()), (200, 0), "{path} {codings}");
            for name in ["etag", "content-encoding", "content-length", "vary", "cache-control"] {
                assert_eq!(head.header(name), answer.header(name), "{path} {codings} {name}");
            }
        }
        assert!(etags.iter().all(|etag| etag.starts_with('"') && etag.ends_with('"')), "{path} {etags:?}");
        etags.sort();
        etags.dedup();
        assert_eq!(etags.len(), if vendored { 2 } else { 3 }, "{path}: an ETag for each coding");
    }
    let sizes = ["", "gzip", "br"].map(|coding| {
        let [flag, header] = &accepting(coding);
        fetch(server.address, "/openapi.json", &[flag, header]).body.len()
    });
    assert!(sizes[1] * 5 < sizes[0] && sizes[2] < sizes[1], "{sizes:?}");
    server.stopped();
}

#[test]
fn a_client_that_has_a_file_is_told_that_it_is_still_the_same() {
    let data = tempfile::tempdir().unwrap();
    let server = Process::start(&mut program(data.path()));
    for path in FILES {
        let [flag, header] = &accepting("gzip");
        let first = fetch(server.address, path, &[flag, header]);
        let etag = first.header("etag");
        for known in [etag.to_owned(), format!("W/{etag}"), format!("\"other\", {etag}"), "*".into()] {
            let known = format!("If-None-Match: {known}");
            for method in [&["-H", &known][..], &["-H", &known, "--head"]] {
                let again =
                    fetch(server.address, path, &[&[flag.as_str(), header.as_str()], method].concat());
                assert_eq!((again.status, again.body.len()), (304, 0), "{path} {known}");
                assert_eq!(again.header("etag"), etag, "{path} {known}");
                assert_eq!(again.header("vary"), "accept-encoding", "{path} {known}");
                assert_eq!(again.header("cache-control"), "no-cache", "{path} {known}");
            }
        }
        // Another coding is another representation.
        let other = fetch(server.address, path, &["-H", &format!("If-None-Match: {etag}")]);
        assert_eq!((other.status, other.header("content-encoding")), (200, ""), "{path}");
        assert_ne!(other.header("etag"), etag, "{path}");
    }
    server.stopped();
}
