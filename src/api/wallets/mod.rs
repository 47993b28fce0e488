//! walletA (specification, Endpoints, Mobile wallet support).

mod certificates;
mod domains;
mod sessions;

use super::operations::{Operations, routes};

/// Returns the operations under /1/walletA_pay.
pub fn operations() -> Operations {
    Operations::default()
        .routes(routes!(domains::create_wallet_domain, domains::list_wallet_domains))
        .routes(routes!(domains::delete_wallet_domain))
        .routes(routes!(domains::check_wallet_host))
        .routes(routes!(sessions::create_wallet_session))
        .routes(routes!(
            certificates::create_wallet_certificate,
            certificates::list_wallet_certificates,
            certificates::update_wallet_certificate
        ))
        .routes(routes!(certificates::get_wallet_certificate, certificates::delete_wallet_certificate))
        .routes(routes!(certificates::delete_wallet_certificate_as_listed))
}
