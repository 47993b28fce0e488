#!/usr/bin/env bash
# Checks the files of this folder with the linters that .ci/lint.txt names, which are on the PATH: hadolint, check-jsonschema, actionlint,
# and kubernetes-validate.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

keeps() { check-jsonschema --builtin-schema "vendor.$1" "$2"; }
hadolint --failure-threshold info Containerfile
keeps compose-spec compose.yaml
keeps github-actions action/action.yml
keeps github-workflows action/example.yml
kubernetes-validate --strict kubernetes.yaml

# The workflow beside the action, as a shop has them, so that one is checked against the other.
shop=$(mktemp -d)
trap 'rm -rf "$shop"' EXIT
mkdir -p "$shop"/.github/{actions,workflows}
cp -R action "$shop/.github/actions/card-payments"
cp action/example.yml "$shop/.github/workflows/tests.yml"
git -C "$shop" init --quiet
cd "$shop"
actionlint
