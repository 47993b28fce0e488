#!/usr/bin/env bash
# Tries the server for Windows under Wine: deploy/windows-test.sh PROGRAM. Debian's Wine sends no Ctrl-C, so servers end here as in a crash.
set -Eeuo pipefail
trap 'echo "failed: $BASH_COMMAND (line $LINENO)" >&2' ERR
program=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. deploy/targets.sh

root=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill -KILL "$server" 2>/dev/null; rm -rf "$root"' EXIT
prepare_wine "$root"
unset "${!CARD_PAYMENTS_@}"
# Names of files have letters of all languages.
export LC_ALL=C.UTF-8
cd "$root"
cp "$program" card-payments.exe
data='Daten für Käufe'
on_windows() { timeout 120 "$wine" card-payments.exe "$@"; }

# Starts a server in the data directory, and waits until it is ready.
start() {
    rm -f banner
    "$wine" card-payments.exe serve --json --listen 127.0.0.1:0 --data-dir "$data" >banner 2>log &
    server=$!
    for _ in {1..600}; do
        [ ! -s banner ] || break
        [ -d "/proc/$server" ] || break
        sleep 0.1
    done
    [ -s banner ] || { cat log >&2; missing 'the server does not start'; }
    url=$(jq -r .listening banner) key=$(jq -r .secret_key banner)
}

# Ends it as a crash does.
crash() {
    kill -KILL "$server"
    wait "$server" 2>/dev/null || true
    server=
}

call() { curl --silent --show-error --fail-with-body --max-time 30 --user "$key:" "$url/1/$1" "${@:2}"; }
pay() {
    call charges -d email=roland@example.com -d description=Test -d amount=400 -d ip_address=203.192.1.172 -d 'card[number]=4200000000000000' \
        -d 'card[expiry_month]=12' -d 'card[expiry_year]=2099' -d 'card[cvc]=123' -d 'card[name]=Roland Robot' \
        -d 'card[address_line1]=42 Sevenoaks St' -d 'card[address_city]=Lathlain' -d 'card[address_country]=AU'
}

start
charge=$(pay | jq -er .response.token)
printf '%%PDF-1.4\n' >evidence.pdf
file=$(call files -F purpose=dispute_evidence -F 'file=@evidence.pdf;type=application/pdf' | jq -er .response.token)
curl --silent --fail "$(call "files/$file" | jq -er .response.presigned_url)" | cmp - evidence.pdf
echo 'a payment and a file'

! on_windows serve --listen 127.0.0.1:0 --data-dir "$data" >/dev/null 2>refusal || missing 'two servers have one database'
grep -F 'is in use by another server' refusal >/dev/null
! on_windows serve --listen "${url#http://}" --data-dir other >/dev/null 2>refusal || missing 'two servers have one port'
grep -F 'cannot listen on' refusal >/dev/null
echo 'a second server is refused'

on_windows backup --data-dir "$data" 'Kopie für später.db' >/dev/null
on_windows check --json --data-dir "$data" >findings
jq -es 'map(select(.area == "system")) | length == 4' findings >/dev/null
jq -es 'all(.level != "wrong")' findings >/dev/null
echo 'a backup and a check beside the server'

crash
start
call "charges/$charge" | jq -e .response.success >/dev/null
pay >/dev/null
[ 2 = "$(call charges | jq '.response | length')" ]
crash
on_windows ledger verify --data-dir "$data" >/dev/null
on_windows ledger verify --database-url 'sqlite:Kopie für später.db' >/dev/null
echo 'what was paid survives a kill'

printf '@echo %%CARD_PAYMENTS_URL%% %%1\r\n' >greet.cmd
WINEPATH=Z:${root//\//\\} on_windows exec -- greet 'two words' | tr -d '\r' | grep -E '^http://127\.0\.0\.1:[0-9]+ "two words"$' >/dev/null
on_windows exec -- card-payments.exe trigger charge.captured --json | jq -e .event >/dev/null
code=0
on_windows exec -- cmd /c 'exit 7' || code=$?
[ "$code" = 7 ]
[ "$(on_windows exec --json </dev/null | jq -r .listening | cut -c 1-17)" = http://127.0.0.1: ]
data_folders() { find "$WINEPREFIX/drive_c" -name 'card-payments-*'; }
[ -z "$(data_folders)" ] || missing 'exec leaves a folder'
on_windows exec --keep -- cmd /c 'exit 0' 2>/dev/null
[ 1 = "$(data_folders | wc -l)" ] || missing 'exec keeps no folder'
echo 'exec'

# A killed simulator has left a part of a row.
printf 'capture,ch_1:charge' >book.csv
CARD_PAYMENTS_ACQUIRER_SECRET=a-secret-of-at-least-32-characters "$wine" card-payments.exe acquirer --listen 127.0.0.1:0 --book book.csv >banner 2>log &
server=$!
for _ in {1..600}; do
    ! grep -q Listening banner || break
    [ -d "/proc/$server" ] || break
    sleep 0.1
done
grep -q Listening banner || { cat log >&2; missing 'the simulator does not start'; }
[ ! -s book.csv ] || missing 'a part of a row stays in the book'
crash
echo "a simulator's book"
