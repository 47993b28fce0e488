//! Says what the operating system lacks.

use base::platform;

use super::findings::{Area, Findings};

/// Lists what the server does without here.
pub fn look(findings: &mut Findings) {
    findings.turn_to(Area::System);
    for (lack, remedy) in platform::LACKS {
        findings.warning(*lack, *remedy);
    }
}
