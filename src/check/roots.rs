//! Checks trusted certificates: those of TLS, and those of the wallets' providers.

use base::clock::Clock;
use outbound::platform;

use super::configuration::Configuration;
use super::findings::{Area, Findings};
use crate::app::{self, StartError};
use crate::config::{Secrets, ServeOptions};
use crate::services::wallets::Wallets;

pub fn check(configuration: &Configuration, clock: &dyn Clock, findings: &mut Findings) {
    findings.begin_area(Area::Roots);
    let (roots, faults) = platform();
    for fault in faults {
        findings.warning(fault, "install the machine's root certificates (Debian: ca-certificates), or name them in SSL_CERT_FILE");
    }
    if !roots.is_empty() {
        findings.ok(format!("{} root certificates for calls by https", roots.len()));
    }
    wallets(configuration, clock, findings);
}

/// Checks each of the three settings of wallets alone, so that one error does not hide the others.
fn wallets(configuration: &Configuration, clock: &dyn Clock, findings: &mut Findings) {
    let Configuration { serve, secrets, .. } = configuration;
    let nothing = Secrets::default();
    let none = ServeOptions {
        wallet_roots: None,
        wallet_g_recipient: None,
        wallet_a_hosts: Vec::new(),
        ..serve.clone()
    };
    let roots = ServeOptions { wallet_roots: serve.wallet_roots.clone(), ..none.clone() };
    let gateway = ServeOptions { wallet_g_recipient: serve.wallet_g_recipient.clone(), ..none.clone() };
    let identity = ServeOptions { wallet_a_hosts: serve.wallet_a_hosts.clone(), ..none };
    let gateway_key = Secrets { wallet_g_key: secrets.wallet_g_key.clone(), ..nothing.clone() };
    let identity_key = Secrets { wallet_a_identity: secrets.wallet_a_identity.clone(), ..nothing.clone() };
    for (serve, secrets) in [(gateway, gateway_key), (identity, identity_key)] {
        if let Err(error) = configured(configuration, &serve, &secrets) {
            findings.wrong(error.to_string(), "see docs/wallets.md");
        }
    }
    match configured(configuration, &roots, &nothing) {
        Err(error) => {
            findings.wrong(error.to_string(), "download the providers' roots again, as docs/wallets.md says");
        }
        Ok(wallets) if serve.wallet_roots.is_some() => {
            for (wallet, end) in wallets.roots.first_ends() {
                let Some(end) = end else { continue };
                if end <= clock.now() {
                    findings.wrong(
                        format!("CARD_PAYMENTS_WALLET_ROOTS: a root of {wallet} has ended at {end}"),
                        "download the provider's roots again: its signatures are refused",
                    );
                } else {
                    findings.ok(format!("roots of {wallet} are good until {end}"));
                }
            }
        }
        Ok(_) => {}
    }
}

fn configured(
    configuration: &Configuration,
    serve: &ServeOptions,
    secrets: &Secrets,
) -> Result<Wallets, StartError> {
    let environment = configuration.database.environment;
    app::wallets(serve, environment, secrets, app::address_policy(environment, &serve.webhook_allow))
}
