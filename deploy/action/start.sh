#!/usr/bin/env bash
# The one step of the action: installs the package, starts a server that serves until the job ends, and tells later steps where it is.
set -euo pipefail

folder=$RUNNER_TEMP/card-payments
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet "$PACKAGE"

options=(--log "$folder/log")
[ -z "$FIXTURES" ] || options+=(--fixtures "$FIXTURES")
[ "$SAMPLE" != true ] || options+=(--sample)
# It would end with its input. This one has no end, and the runner ends what a job leaves behind.
mkfifo "$folder/input" "$folder/output"
"$folder/bin/card-payments" exec --json "${options[@]}" <>"$folder/input" >"$folder/output" 2>"$folder/errors" &
read -r banner <"$folder/output" || { cat "$folder/errors" >&2; exit 1; }

field() { "$folder/bin/python" -c 'import json, sys; print(json.loads(sys.argv[1])[sys.argv[2]])' "$banner" "$1"; }
secret_key=$(field secret_key)
echo "::add-mask::$secret_key"
cat >>"$GITHUB_ENV" <<ENV
CARD_PAYMENTS_URL=$(field listening)
CARD_PAYMENTS_SECRET_KEY=$secret_key
CARD_PAYMENTS_PUBLISHABLE_KEY=$(field publishable_key)
ENV
cat >>"$GITHUB_OUTPUT" <<OUTPUT
url=$(field listening)
log=$folder/log
pid=$!
OUTPUT
