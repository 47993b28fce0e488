//! arazzo.yaml: flows over the operations, which a published runner runs against the program.

use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::harness::operated;
use crate::harness::postgres::skipped;
use crate::harness::process::output;

const MISSING: &str =
    "The runner of workflows is not installed, so the tests on it are skipped: .ci/run installs it.\n";
const RUNNER: &str = "tests/contract/node_modules/.bin/redocly";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

operated! {
    async fn every_workflow_runs_as_a_published_runner_reads_it(installed) {
        if !root().join(RUNNER).exists() {
            return skipped(MISSING).unwrap();
        }
        let server = installed.serve();
        let address = format!("http://{}", server.address);
        let folder = tempfile::tempdir().unwrap();
        // As a client gets them: the workflows name the document beside them.
        for file in ["arazzo.yaml", "openapi.yaml"] {
            let answer = server.ask("GET", &format!("/{file}"), None, "");
            assert_eq!(answer.status, 200, "{file}");
            std::fs::write(folder.path().join(file), answer.body).unwrap();
        }
        let committed = std::fs::read_to_string(root().join("arazzo.yaml")).unwrap();
        assert_eq!(std::fs::read_to_string(folder.path().join("arazzo.yaml")).unwrap(), committed);
        let key = format!("{}:", server.keys().0);
        let mut runner = Command::new(root().join(RUNNER));
        runner.current_dir(folder.path()).env("REDOCLY_TELEMETRY", "off");
        runner.args(["respect", "arazzo.yaml", "--server", &format!("payments={address}")]);
        runner.args(["--input", &format!("authorization=Basic {}", STANDARD.encode(key))]);
        let (code, stdout, stderr) = output(&mut runner);
        assert_eq!(code, Some(0), "{stdout}\n{stderr}");
        assert!(stdout.contains("Workflows: 10 passed, 10 total"), "{stdout}");
        server.stopped();
    }
}
