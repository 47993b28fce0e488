//! Cutting a life down to what makes it diverge.

use super::lived;
use super::wire::CurlLog;
use crate::harness::Client;

/// How often a shorter life is tried.
const ATTEMPTS: usize = 120;

/// How it diverges, and the lines of the least life that still does: pieces are left out as long as it goes on diverging,
/// ever smaller ones (delta debugging).
pub async fn shrunk(
    client: &Client,
    mut operations: Vec<u64>,
    mut divergence: String,
    mut lines: CurlLog,
) -> (String, String) {
    let (mut piece, mut attempts) = (operations.len().div_ceil(2), 0);
    while piece > 0 && attempts < ATTEMPTS {
        let mut at = 0;
        while at < operations.len() && attempts < ATTEMPTS {
            attempts += 1;
            let mut shorter = operations.clone();
            shorter.drain(at..(at + piece).min(operations.len()));
            match lived(client, &shorter).await {
                (log, Some(diverges)) => (operations, divergence, lines) = (shorter, diverges, log),
                (_, None) => at += piece,
            }
        }
        piece /= 2;
    }
    (divergence, lines.text())
}
