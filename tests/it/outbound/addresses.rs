//! Which addresses may be called, however they are spelled.

use card_payments::app::Parts;
use card_payments::config::{
    DatabaseOptions, Environment, LoadOptions, PeopleOptions, Secrets, ServeOptions,
};
use futures::executor::block_on;
use outbound::{AddressPolicy, Allowed, Outbound, OutboundError};
use url::Url;
use vault::OperatorKeys;

use super::call;
use crate::harness::Receiver;
use crate::harness::process::{output, program};

fn live() -> AddressPolicy {
    AddressPolicy::live(Vec::new())
}

fn allowing(entries: &[&str]) -> AddressPolicy {
    AddressPolicy::live(entries.iter().map(|entry| entry.parse().unwrap()).collect())
}

/// Returns whether a host may be registered.
#[track_caller]
fn permits(reach: &AddressPolicy, host: &str) -> bool {
    reach.permits_literal(&Url::parse(&format!("https://{host}/hook")).unwrap())
}

/// Hosts that are 127.0.0.1, or what the machine takes for it, by the rules of URLs.
const SPELLINGS: &[&str] = &[
    "127.0.0.1",
    "127.0.0.1.",
    "127.1",
    "127.0.1",
    "2130706433",
    "0x7f000001",
    "0X7F.1",
    "0x7f.0.0.0x1",
    "017700000001",
    "0177.0.0.1",
    "0177.1.",
    "%31%32%37.0.0.1",
    "１２７.0.0.1",
    "127。0。0。1",
    "①②⑦.⓪.⓪.①",
    "127．0．0．1",
    "127｡0｡0｡1",
    "127.0.0.\u{200b}1",
    "127\u{ad}.0.0.1",
    "127.000.000.001",
    "00000177.0.0.1",
    "0",
    "0.0.0.0",
    "[::ffff:127.0.0.1]",
    "[::FFFF:7F00:1]",
    "[0:0:0:0:0:ffff:7f00:0001]",
];

/// IPv6 addresses with 127.0.0.1 inside, which machines and routers may take for it.
const HIDDEN: &[&str] = &[
    "[::1]",
    "[::]",
    "[::127.0.0.1]",
    "[::ffff:0:127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b:1::127.0.0.1]",
    "[2002:7f00:1::]",
    "[2001:0:7f00:1::]",
    "[2001::80ff:fffe]",
];

#[tokio::test]
async fn live_opens_no_connection_to_loopback_under_any_spelling() {
    let receiver = Receiver::start().await;
    let port = receiver.address().port();
    let outbound = Outbound::new(live());
    for host in SPELLINGS.iter().chain(HIDDEN).chain(&["localhost", "LOCALHOST"]) {
        for url in [format!("http://{host}:{port}/"), format!("https://{host}:{port}/")] {
            assert_eq!(call(&outbound, &url).await, Err(OutboundError::ForbiddenAddress), "{url}");
        }
    }
    for url in [
        format!("http:\\\\127.0.0.1:{port}\\"),
        format!("http:127.0.0.1:{port}"),
        format!("http:////127.0.0.1:{port}/"),
        format!(" http://127.0\t.0.1:{port}/\n"),
        format!("http://example.com@127.0.0.1:{port}/"),
        format!("http://127.0.0.1:{port}#@example.com/"),
        format!("http://127.0.0.1:{port}\\@example.com/"),
    ] {
        assert_eq!(call(&outbound, &url).await, Err(OutboundError::ForbiddenAddress), "{url}");
    }
    // Not every machine knows it by this name.
    assert!(call(&outbound, &format!("http://localhost.:{port}/")).await.is_err());
    assert_eq!(receiver.connections(), 0);
}

#[tokio::test]
async fn these_spellings_do_lead_there_where_it_is_allowed() {
    let receiver = Receiver::start().await;
    let port = receiver.address().port();
    // 0.0.0.0 is no address of a machine; Linux takes it for its own.
    let outbound = Outbound::new(allowing(&["127.0.0.0/8", "0.0.0.0"]));
    for host in SPELLINGS {
        assert_eq!(call(&outbound, &format!("http://{host}:{port}/")).await, Ok(200), "{host}");
    }
}

#[tokio::test]
async fn only_http_without_credentials_and_fragment_is_sent() {
    let receiver = Receiver::start().await;
    let (outbound, address) = (super::test(), receiver.address());
    for url in [
        format!("http://user@{address}/"),
        format!("http://:secret@{address}/"),
        format!("http://{address}/#fragment"),
        format!("http://{address}/#"),
        format!("ftp://{address}/"),
        format!("ws://{address}/"),
        format!("file://{address}/etc/passwd"),
        "unix:/run/docker.sock".into(),
        "http://".into(),
        "http://[fe80::1%25eth0]/".into(),
        "/hook".into(),
        String::new(),
    ] {
        assert_eq!(call(&outbound, &url).await, Err(OutboundError::ForbiddenAddress), "{url}");
    }
    assert_eq!(receiver.connections(), 0);
}

#[test]
fn public_addresses_are_reached_from_everywhere() {
    for host in [
        "1.1.1.1",
        "8.8.8.8",
        "100.63.255.255",
        "100.128.0.1",
        "172.15.255.255",
        "172.32.0.1",
        "192.0.1.1",
        "198.17.255.255",
        "198.20.0.1",
        "223.255.255.255",
        "[2606:4700:4700::1111]",
        "[2a00:1450:4001:82f::200e]",
        "[64:ff9b::1.1.1.1]",
        "[::ffff:8.8.8.8]",
    ] {
        assert!(permits(&live(), host) && permits(&AddressPolicy::test(), host), "{host}");
    }
}

#[test]
fn loopback_and_private_networks_are_reached_in_test_alone() {
    for host in [
        "127.0.0.1",
        "127.255.255.254",
        "10.0.0.1",
        "10.255.255.255",
        "100.64.0.1",
        "100.127.255.255",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "[::1]",
        "[fc00::1]",
        "[fdff::1]",
        "[::ffff:10.0.0.1]",
        "[64:ff9b::192.168.0.1]",
        "[2002:a00:1::1]",
    ] {
        assert!(!permits(&live(), host) && permits(&AddressPolicy::test(), host), "{host}");
    }
}

#[test]
fn an_address_of_no_machine_is_reached_in_test_alone() {
    for host in [
        "0.0.0.0",
        "0.1.2.3",
        "192.0.0.8",
        "192.0.2.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "[::]",
        "[::2]",
        "[100::1]",
        "[2001:2::1]",
        "[2001:20::1]",
        "[2001:db8::1]",
        "[3fff::1]",
        "[4000::1]",
        "[5f00::1]",
        "[fec0::1]",
        "[ff02::1]",
        "[ff0e::1]",
        "[::ffff:224.0.0.1]",
    ] {
        assert!(!permits(&live(), host) && permits(&AddressPolicy::test(), host), "{host}");
        assert!(permits(&allowing(&["0.0.0.0/0", "::/0"]), host), "{host}: the operator's word counts");
    }
}

#[test]
fn link_local_and_metadata_are_never_reached_whatever_is_allowed() {
    let everything = allowing(&["0.0.0.0/0", "::/0", "169.254.169.254"]);
    for host in [
        "169.254.169.254",
        "169.254.0.1",
        "169.254.170.2",
        "2852039166",
        "0xa9fea9fe",
        "0251.0376.0251.0376",
        "[::ffff:169.254.169.254]",
        "[::a9fe:a9fe]",
        "[64:ff9b::169.254.169.254]",
        "[64:ff9b:1::a9fe:a9fe]",
        "[2002:a9fe:a9fe::]",
        "[2001:0:a9fe:a9fe::]",
        "[fe80::1]",
        "[febf::1]",
        "[fd00:ec2::254]",
        "[fd00:ec2::23]",
        "[fd00:42::42]",
        "169.254.42.42",
        "[fe80::a9fe:a9fe]",
        "[fd20:ce::254]",
        "[fd00:c1::a9fe:a9fe]",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
    ] {
        for reach in [&live(), &AddressPolicy::test(), &everything] {
            assert!(!permits(reach, host), "{host}");
        }
    }
}

#[test]
fn names_may_be_registered_whatever_they_are() {
    for host in ["example.com", "localhost", "metadata.google.internal", "10.0.0.1.example.com"] {
        assert!(permits(&live(), host) && permits(&AddressPolicy::test(), host), "{host}");
    }
}

#[test]
fn an_operator_allows_networks_addresses_and_hosts() {
    let reach = allowing(&["10.1.0.0/16", " 192.168.7.7", "fd12::/48", "::ffff:10.2.0.1", "Hooks.Internal."]);
    for host in ["10.1.2.3", "[::ffff:10.1.2.3]", "192.168.7.7", "[fd12::1]", "10.2.0.1"] {
        assert!(permits(&reach, host), "{host}");
    }
    for host in ["10.3.0.1", "192.168.7.8", "[fd13::1]", "127.0.0.1"] {
        assert!(!permits(&reach, host), "{host}");
    }
    let at = |address: &str| address.parse().unwrap();
    for host in ["hooks.internal", "hooks.internal."] {
        assert!(reach.permits(host, at("127.0.0.1:0")) && !reach.permits(host, at("169.254.169.254:0")));
    }
    for host in ["other.internal", "a.hooks.internal", "hooks.internal.example.com"] {
        assert!(!reach.permits(host, at("127.0.0.1:0")), "{host}");
    }
}

#[test]
fn an_operator_allows_a_network_an_address_or_a_name() {
    for entry in [
        "",
        " ",
        ".",
        "a..b",
        "10.0.0.0/33",
        "10.0.0.0/",
        "10.0.0.256",
        "*.example.com",
        "http://a",
        "a:80",
        "a/b",
        "[::1]",
    ] {
        let parsed: Result<Allowed, _> = entry.parse();
        assert_eq!(
            parsed,
            Err("must be a network such as 10.1.0.0/16, an address or a host name"),
            "{entry}"
        );
    }
    assert_eq!("BÜCHER.example".parse(), Ok(Allowed::Host("xn--bcher-kva.example".into())));
}

#[test]
fn the_environment_decides_and_the_operator_adds() {
    let data = tempfile::tempdir().unwrap();
    let reach = |environment, allow: &[&str]| {
        let options = ServeOptions {
            retention_days: 90,
            erase_after: None,
            listen: "127.0.0.1:0".parse().unwrap(),
            base_url: None,
            blobs: None,
            audit_anchor: None,
            acquirer: Some("simulator".into()),
            admin_listen: None,
            trusted_proxies: Vec::new(),
            fill_in_key: true,
            wallet_a_hosts: Vec::new(),
            wallet_g_recipient: None,
            wallet_roots: None,
            webhook_allow: allow.iter().map(|entry| entry.parse().unwrap()).collect(),
            people: PeopleOptions::default(),
            load: LoadOptions::default(),
            drain_seconds: 0,
            log: "info".into(),
        };
        let database =
            DatabaseOptions { database_url: None, data_dir: data.path().into(), environment, seed: None };
        let vault_key = Some(OperatorKeys::generate("own").to_text().into());
        let secrets = Secrets { vault_key, ..Secrets::default() };
        block_on(Parts::configured(&options, &database, &secrets)).unwrap().outbound.policy().clone()
    };
    let test = reach(Environment::Test, &[]);
    assert!(permits(&test, "127.0.0.1") && permits(&test, "10.1.0.1"));
    let live = reach(Environment::Live, &[]);
    assert!(!permits(&live, "127.0.0.1") && !permits(&live, "10.1.0.1") && permits(&live, "1.1.1.1"));
    let live = reach(Environment::Live, &["10.1.0.0/16"]);
    assert!(!permits(&live, "127.0.0.1") && permits(&live, "10.1.0.1"));
}

#[test]
fn an_entry_that_names_nothing_stops_the_start() {
    let data = tempfile::tempdir().unwrap();
    let mut program = program(data.path());
    let (code, _, stderr) = output(program.env("CARD_PAYMENTS_WEBHOOK_ALLOW", "10.0.0.0/8,10.0.0.0/33"));
    assert_eq!(code, Some(2));
    assert!(stderr.contains("CARD_PAYMENTS_WEBHOOK_ALLOW: '10.0.0.0/33'"), "{stderr}");
    assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), 0);
}
