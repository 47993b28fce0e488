//! What has nothing to do where something is not installed.

use std::io::Write;

/// Say what is not installed, and which tests therefore have nothing to do; where CI runs that is a failure.
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
