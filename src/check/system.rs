//! Says what the operating system lacks.

use base::platform;

use super::findings::{Area, Findings};

/// Lists what the server does without here.
pub fn check(findings: &mut Findings) {
    findings.begin_area(Area::System);
    for (lack, remedy) in platform::LIMITATIONS {
        findings.warning(*lack, *remedy);
    }
}
