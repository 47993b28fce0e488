//! Headers that are read as lists: X-Forwarded-For behind trusted proxies, traceparent and Accept. An input is a value a line; its first
//! byte says whether the connection comes from a proxy.

use std::net::IpAddr;

use base::address_zone::plain;
use base::client_network::{ClientNetwork, parse_network};
use base::trace::TraceContext;
use card_payments::api::accept;
use card_payments::api::client_address::client_behind;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use ipnet::IpNet;

use super::{Target, inputs};

pub const TARGET: Target = Target {
    name: "headers",
    hold,
    samples,
    words: &[
        "203.0.113.9",
        "127.0.0.1",
        "10.0.0.7:2",
        "[2001:db8::1]:443",
        "::ffff:10.0.0.1",
        "text/csv;q=0.5",
        "*/*;q=1.000",
        "-01",
    ],
};

fn samples() -> Vec<Vec<u8>> {
    inputs([
        "p198.51.100.1, 203.0.113.9:1, 10.0.0.7:2\n[2001:db8::1]:443,127.0.0.1",
        "c203.0.113.9",
        "p00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "ptext/csv;q=0.25;header=present, application/json; q=0.75, */*;q=0.8",
    ])
}

const FORWARDED: HeaderName = HeaderName::from_static("x-forwarded-for");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

fn hold(input: &[u8]) {
    let Some((first, lines)) = input.split_first() else { return };
    let lines: Vec<_> =
        lines.split(|byte| *byte == b'\n').filter_map(|line| HeaderValue::from_bytes(line).ok()).collect();
    hold_addresses(*first == b'p', &lines);
    let trace = TraceContext::of_headers(&named(&TRACEPARENT, &lines));
    if let Some(trace) = trace {
        assert_eq!(TraceContext::of_headers(&trace.headers()), Some(trace), "what came goes on as it came");
    }
    let headers = named(&header::ACCEPT, &lines);
    for ranges in [accept::JSON, &["text/csv"]] {
        assert!(accept::weight(&headers, ranges) <= 1000, "no weight is above 1");
    }
}

fn named(name: &HeaderName, values: &[HeaderValue]) -> HeaderMap {
    values.iter().map(|value| (name.clone(), value.clone())).collect()
}

fn hold_addresses(is_proxy: bool, lines: &[HeaderValue]) {
    let trusted: [IpNet; 3] =
        ["127.0.0.0/8", "10.0.0.0/8", "fd00::/8"].map(|network| parse_network(network).expect("a network"));
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.contains(&address));
    let peer: IpAddr = if is_proxy { [127, 0, 0, 1] } else { [203, 0, 113, 1] }.into();
    let behind = |lines: &[HeaderValue]| client_behind(peer, &named(&FORWARDED, lines), &trusted);
    let client = behind(lines);
    if !is_proxy {
        assert_eq!(client, Some(peer), "nobody else is believed");
    }
    let Some(client) = client else { return };
    let network = ClientNetwork::from_address(client).to_string();
    assert!(
        parse_network(&network).is_some_and(|network| network.contains(&plain(client))),
        "{network} {client}"
    );
    if is_proxy && !is_trusted(client) {
        let alone = HeaderValue::from_str(&client.to_string()).expect("an address is ASCII");
        assert_eq!(behind(&[alone]), Some(client), "an address is read as it is written");
        let word = [HeaderValue::from_static("10.0.0.1, unknown, 198.51.100.7")];
        assert_eq!(
            behind(&[&word[..], lines].concat()),
            Some(client),
            "the client's own word does not count"
        );
    }
}
