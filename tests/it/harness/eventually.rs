//! Patience.

use std::time::Duration;

/// Wait for what somebody else's task is about to do.
pub async fn eventually(mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..500 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it never came about");
}
