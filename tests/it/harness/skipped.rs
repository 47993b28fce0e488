//! The notice for tests of programs that are not installed.

use std::io::Write;

/// Prints which tests are skipped because a program is not installed; in CI that is a failure.
pub fn skipped(missing: &'static str) -> Result<(), String> {
    let notice = without(missing, std::env::var("CI").ok().as_deref())?;
    // Not eprintln: the test runner swallows that when the test passes.
    std::io::stderr().write_all(notice.as_bytes()).map_err(|fault| fault.to_string())
}

pub fn without(missing: &'static str, ci: Option<&str>) -> Result<&'static str, String> {
    if ci == Some("true") {
        return Err(missing.replace("so the tests on it are skipped", "and CI=true wants the tests on it"));
    }
    Ok(missing)
}
