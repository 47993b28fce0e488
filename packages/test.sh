#!/usr/bin/env bash
# Makes every package of a program, installs each from its own file, offline and where nothing else is, and lets it pay, a release
# within ten seconds; then runs the tests of helpers and clients: packages/test.sh PROGRAM... The first program is for this machine,
# others are for other platforms and need an emulator. pytest and lintian are those of .ci/run. docs/install.md must name each door that
# is tried here; UPDATE_DOCUMENTS=1 writes into it how long it took, and the size of its files. CRATES=release also compiles the program
# from its crates, in that profile, as `cargo install` does. Either of them says that the program is a release.
set -Eeuo pipefail
trap 'echo "failed: $BASH_COMMAND (line $LINENO)" >&2' ERR
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=$(realpath "$1")
version=$("$program" --version | cut -d ' ' -f 2)
packages=$PWD/packages
root=$(mktemp -d)
server=
clients=
trap '{ [ -z "$server" ] || kill "$server"; [ -z "$clients" ] || pkill -s "$clients"; } 2>/dev/null || :; rm -rf "$root"' EXIT
files=$root/files
case $(uname -m) in
    x86_64) node=linux-x64 debian=amd64 ;;
    aarch64) node=linux-arm64 debian=arm64 ;;
esac
wheel() { compgen -G "$files/*linux_*$(uname -m).whl"; }
# Nothing of this machine's configuration, and no other server.
unset "${!CARD_PAYMENTS_@}"
export PYTHONDONTWRITEBYTECODE=1
export COMPRESSION=${UPDATE_DOCUMENTS:+9}
export COMPRESSION=${COMPRESSION:-1}

# Ends what hangs, and judges no speed: a debug build shares its machine with other steps of .ci/run.
hangs=300
# How long a first payment, or a first test, may take.
first=10
[ "${CRATES:-}" = release ] || [ -n "${UPDATE_DOCUMENTS:-}" ] || first=$hangs

section() {
    printf -- '-- %s: %d s\n' "$1" "$SECONDS"
}

# Takes the first payment of a server, which is at hand.
# shellcheck disable=SC2016
payment='[ 201 = "$(curl -s -o /dev/null -w "%{http_code}" "$CARD_PAYMENTS_URL/1/charges" -u "$CARD_PAYMENTS_SECRET_KEY:" \
    -d email=roland@example.com -d description=Test -d amount=400 -d ip_address=203.192.1.172 -d "card[number]=4200000000000000" \
    -d "card[expiry_month]=12" -d "card[expiry_year]=2099" -d "card[cvc]=123" -d "card[name]=Roland Robot" \
    -d "card[address_line1]=42 Sevenoaks St" -d "card[address_city]=Lathlain" -d "card[address_country]=AU")" ]'
pays() {
    timeout "${LIMIT:-$first}" "$@" exec -- sh -c "$payment"
}

# Goes through a door, from an empty root to the first 201, and notes the time and the files.
through() {
    local begun=$EPOCHREALTIME
    "$2"
    printf '%s\t%s\t%s\t%s\n' "$1" "$begun" "$EPOCHREALTIME" "$(cat "${@:3}" | wc -c)" >>"$root/doors"
}

packages/build.sh "$version" "$files" "$@"

section file
by_file() {
    install -D "$program" "$root/file/card-payments"
    pays "$root/file/card-payments"
}
through 'one file' by_file "$program"

section installer
by_installer() {
    deploy/doors.py "$version" https://github.com/example/card-payments "$files"
    "$files/doors/install.sh" --from "file://$files" --dir "$root/installer" >/dev/null
    pays "$root/installer/card-payments"
}
through installer by_installer "$files/card-payments-linux-$debian.tar.gz"

# Runs tests with the installed program, and waits until their servers have left neither a file nor a process.
leaving_nothing() {
    mkdir "$root/left"
    TMPDIR=$root/left PATH=$root/python/bin:$PATH timeout "$@"
    timeout "$hangs" sh -c "while grep -lsxz 'TMPDIR=$root/left' /proc/[0-9]*/environ || ! rmdir '$root/left'; do sleep 0.1; done" 2>/dev/null
}

section python
by_pip() {
    python3 -m venv "$root/python"
    "$root/python/bin/pip" install -q --no-index "$(wheel)"
    pays "$root/python/bin/card-payments"
}
through pip by_pip "$(wheel)"
pytest=$PWD/target/verifiers
"$root/python/bin/card-payments" --version | grep -F "$version"
export PYTHONPATH=$("$pytest/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
in_python() { (cd "$packages/python" && timeout "$1" "$root/python/bin/python" -m pytest -q -p no:cacheprovider "${@:2}"); }
in_python "$first" examples
in_python "$hangs" tests
in_python "$hangs" -n 2 examples
cat >"$root/test_two_hundred.py" <<'END'
import pytest

from examples.test_checkout import pay


@pytest.mark.parametrize("order", range(200))
def test_each_has_an_account_of_its_own(card_payments_account, order):
    pay(card_payments_account, 400)
    assert len(card_payments_account.request("GET", "/1/charges")) == 1
END
leaving_nothing "$hangs" env PYTHONPATH="$PYTHONPATH:$packages/python" "$root/python/bin/python" -m pytest -q -p no:cacheprovider --basetemp "$root/pytest" -n 4 "$root/test_two_hundred.py"
unset PYTHONPATH

section action
by_action() {
    local RUNNER_TEMP=$root/runner GITHUB_ENV=$root/runner/env GITHUB_OUTPUT=$root/runner/output
    mkdir "$RUNNER_TEMP"
    export RUNNER_TEMP GITHUB_ENV GITHUB_OUTPUT
    PACKAGE=$(wheel) FIXTURES='' SAMPLE=false PIP_NO_INDEX=1 deploy/action/start.sh >/dev/null
    server=$(sed -n 's/^pid=//p' "$GITHUB_OUTPUT")
    # shellcheck disable=SC2046
    env $(cat "$GITHUB_ENV") sh -c "$payment"
    kill "$server"
    server=
}
through 'GitHub Actions' by_action "$(wheel)"

section npm
by_npm() {
    mkdir "$root/npm"
    cd "$root/npm"
    npm install --offline --ignore-scripts --no-audit --no-fund --silent "$files"/card-payments-{"$node-",}"$version.tgz"
    pays npx --offline card-payments
}
through npm by_npm "$files"/card-payments-{"$node-",}"$version.tgz"
cp "$packages"/npm/{examples,test}/* .
npx --offline card-payments --version | grep -F "$version"
timeout "$first" node --test --test-reporter=dot checkout.test.mjs
timeout "$hangs" node --test --test-reporter=dot library.test.mjs
frameworks=$packages/npm/node_modules
if [ -e "$frameworks/.package-lock.json" ]; then
    # Node finds them in the folder above the installed packages.
    ln -s "$frameworks" ../node_modules
    # As the documents use the types, and as the module for Testcontainers uses that library's.
    "$frameworks/.bin/tsc" --noEmit --strict --noImplicitAny false --allowJs --checkJs --target es2022 --module node16 --types node \
        types.ts node_modules/card-payments/testcontainers.js
    timeout "$first" node --test --test-reporter=dot container.test.mjs
    for file in 1 2 3 4; do cp many.js "many$file.test.js"; done
    # on_servers COUNT COMMAND...: runs test files, each of which notes its server's key.
    on_servers() {
        leaving_nothing "$hangs" "${@:2}"
        sort -u servers | wc -l | grep -qx "$1"
        rm servers
    }
    in_framework() {
        leaving_nothing "$hangs" "${@:2}" "checkout.$1"
        on_servers 4 "${@:2}" --maxWorkers=4 many
        on_servers 1 card-payments exec -- "${@:2}" many -t 'account 3 '
    }
    # Four servers that start at once may take longer than the five seconds of either.
    patience=$((hangs * 1000))
    in_framework vitest "$frameworks/.bin/vitest" run --globals --testTimeout="$patience" --hookTimeout="$patience" --teardownTimeout="$patience"
    in_framework jest "$frameworks/.bin/jest" --cacheDirectory="$root/jest" --testTimeout="$patience"
else
    echo 'Vitest, Jest and Testcontainers are not tried: npm ci --prefix packages/npm installs them' >&2
fi
cd "$packages/.."

end_clients() {
    wait "$clients" || { cat "$root/clients.log" >&2; exit 1; }
    clients=
    cat "$root/clients.log"
}
# The clients wait often, so they go on beside the next sections, unless those are judged by their time. They have a session of their own,
# by which all that they run is found.
if [ -x target/clients/tools/bin/python ] && command -v javac go ruby php jq | [ "$(wc -l)" = 5 ]; then
    setsid packages/clients/test.sh "$program" </dev/null >"$root/clients.log" 2>&1 &
    clients=$!
    [ "$first" = "$hangs" ] || end_clients
else
    echo 'the clients are not tried: .ci/run installs their generators and toolchains' >&2
fi

section rust
in_rust() { PATH=$root/python/bin:$PATH cargo "$1" --quiet --locked --manifest-path packages/rust/Cargo.toml --target-dir target/rust-package --all-targets "${@:2}"; }
cargo fmt --check --manifest-path packages/rust/Cargo.toml
in_rust clippy -- -D warnings
in_rust test

section java
jars=/usr/share/java
if command -v javac >/dev/null && [ -e "$jars/gson.jar" ] && [ -e "$jars/junit-jupiter-engine.jar" ]; then
    sources=$packages/java/src
    needed=$(printf '%s:' "$jars"/{gson,apiguardian-api,opentest4j,picocli,junit-{jupiter-{api,engine},platform-{commons,console,engine,launcher,reporting}}}.jar)
    compile() { javac -J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC -Xlint:all,-path -Werror --release 17 -cp "$needed$root/library.jar" -d "$root/$1" "${@:2}"; }
    compile library "$sources"/main/java/cardpayments/testing/*.java
    jar --create --file "$root/library.jar" -C "$root/library" .
    compile tests "$sources"/test/java/cardpayments/testing/*.java "$packages"/java/examples/*.java
    # Most of the time is the start of virtual machines.
    leaving_nothing "$hangs" java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$needed$root/library.jar:$root/tests" \
        org.junit.platform.console.ConsoleLauncher --disable-banner --disable-ansi-colors --details=none --fail-if-no-tests \
        --scan-classpath="$root/tests"
else
    echo 'the helpers for Java are not tried: Debian has them in default-jdk-headless, junit5 and libgoogle-gson-java' >&2
fi

section go
if command -v go >/dev/null; then
    export GOFLAGS=-mod=mod GOPROXY=off GOCACHE=$PWD/target/go
    in_go() { (cd "$1" && "${@:2}"); }
    mkdir "$root/go"
    cp "$packages"/go/examples/* "$root/go"
    printf 'module shop\n' >"$root/go/go.mod"
    in_go "$root/go" go mod edit -require=cardpayments@v0.0.0 -replace=cardpayments="$packages/go"
    # Compilation is no part of the time.
    in_go "$root/go" go test -c -o shop.test .
    in_go "$root/go" leaving_nothing "$first" ./shop.test
    gofmt -l packages/go | { ! grep .; }
    in_go "$packages/go" go vet ./...
    in_go "$packages/go" leaving_nothing "$hangs" go test -count=1 .
else
    echo 'the helpers for Go are not tried: Debian has golang-go' >&2
fi

section crates
cargo package --quiet --workspace --no-verify --locked --allow-dirty
# What lies outside of a crate here is in it there.
in_crate() { tar --extract --to-stdout --file="target/package/$1-$version.crate" "$1-$version/$2"; }
in_crate card-payments-macros limits.rs | cmp - src/limits.rs
in_crate card-payments-macros token.rs | cmp - entity/src/token.rs
in_crate card-payments-tools sample.yaml | cmp - fixtures/sample.yaml
in_crate card-payments-tools dashboard.css | cmp - src/dashboard/dashboard.css
in_crate card-payments-tools colours.css | cmp - src/dashboard/colours.css

section clients
[ -z "$clients" ] || end_clients

# The program as it is compiled from the crates alone, in an empty folder.
if [ -n "${CRATES:-}" ]; then
    mkdir "$root/crates"
    for crate in target/package/*-"$version".crate; do
        tar --extract --directory="$root/crates" --file="$crate"
    done
    # No registry has the crates that it depends on.
    others=()
    for folder in "$root"/crates/card-payments-*-"$version"; do
        others+=(--config "patch.crates-io.$(basename "$folder" "-$version").path='$folder'")
    done
    cd "$root/crates/card-payments-$version"
    # This writes only their folders into the lock file.
    cargo metadata --quiet --offline --format-version 1 "${others[@]}" >/dev/null
    cargo install --quiet --offline --locked --profile "$CRATES" --path . --root "$root/cargo" "${others[@]}"
    cd "$packages/.."
    pays "$root/cargo/bin/card-payments"
fi

for other in "${@:2}"; do
    section "$other"
    if ! readelf --file-header "$other" | grep AArch64 >/dev/null || ! emulator=$(command -v qemu-aarch64-static); then
        echo "$other is not tried: there is no emulator for it" >&2
        continue
    fi
    dpkg-deb --extract "$files"/card-payments_*_arm64.deb "$root/arm64"
    LIMIT=$hangs pays "$emulator" "$root/arm64/usr/bin/card-payments"
done

section debian
deb=$files/card-payments_${version}_$debian.deb
lintian --fail-on error "$deb"
if [ "$(id -u)" != 0 ]; then
    echo 'the package of Debian is not tried: only root installs one' >&2
    exit 0
fi
machine=$root/debian
# What it depends on is this machine's; its scripts are told the other root.
in_machine() { dpkg --root="$machine" --force-script-chrootless --force-depends "$@" >"$root/dpkg" 2>&1 || { cat "$root/dpkg" >&2; return 1; }; }
everything() { (cd "$machine" && find . -not -path './var/lib/dpkg/*' -not -name '*-' | sort); }
by_deb() {
    mkdir -p "$machine"/{etc,var/lib/dpkg/{info,updates,triggers}}
    touch "$machine"/etc/{passwd,shadow,group,gshadow} "$machine"/var/lib/dpkg/{status,available}
    before=$(everything)
    in_machine --install "$deb"
    pays "$machine/usr/bin/card-payments"
}
through Debian by_deb "$deb"
grep -q '^card-payments:' "$machine/etc/passwd"
[ "$(stat -c %a "$machine/etc/card-payments/vault.key")" = 600 ]
[ "$(stat -c %a "$machine/var/lib/card-payments")" = 700 ]
[ "$(stat -c %a "$machine/etc/card-payments/environment")" = 640 ]
# As systemd starts it: by its user, in its folder, with the key among its credentials.
unit=$machine/usr/lib/systemd/system/card-payments.service
if command -v systemd-analyze >/dev/null; then
    sed "s|/usr/bin/|$machine&|" "$unit" >"$root/card-payments.service"
    systemd-analyze verify --man=no "$root/card-payments.service" 2>&1 | { ! grep card-payments; }
else
    echo 'the unit is not checked: Debian has systemd-analyze in systemd' >&2
fi
user=$(sed -n "s/^$(sed -n 's/^User=//p' "$unit"):[^:]*:\([0-9]*\):.*/\1/p" "$machine/etc/passwd")
chmod 0711 "$root"
install -d -m 0500 -o "$user" "$root/credentials"
install -m 0400 -o "$user" "$machine/etc/card-payments/vault.key" "$root/credentials/vault-key"
mapfile -t settings < <(sed -n "s/^Environment=//p" "$unit" | sed -e "s|%S|$machine/var/lib|" -e "s|%t/credentials/%n|$root/credentials|")
env -i "${settings[@]}" CARD_PAYMENTS_DRAIN_SECONDS=0 CARD_PAYMENTS_LISTEN=127.0.0.1:0 \
    setpriv --reuid="$user" --clear-groups "$machine/usr/bin/card-payments" serve >"$root/served" &
server=$!
timeout "$hangs" sh -c "until grep -q '^Listening on ' '$root/served'; do sleep 0.1; done"
CARD_PAYMENTS_URL=$(sed -n 's/^Listening on //p' "$root/served") \
    CARD_PAYMENTS_SECRET_KEY=$(sed -n 's/^ *Keys *\([^ ]*\) .*/\1/p' "$root/served") sh -c "$payment"
kill "$server"
wait "$server"
server=
bash -n "$machine/usr/share/bash-completion/completions/card-payments"
manual=$machine/usr/share/man/man1
gzip -dc "$manual/card-payments-account-create.1.gz" | grep -F 'Example:' >/dev/null
[ -e "$manual/card-payments.1.gz" ]
grep -v '^#' "$machine/etc/card-payments/environment" | { ! grep .; }
dpkg --root="$machine" --verify card-payments
key=$(cat "$machine/etc/card-payments/vault.key")
in_machine --install "$deb"
[ "$(cat "$machine/etc/card-payments/vault.key")" = "$key" ]
in_machine --purge card-payments
[ "$(everything)" = "$before" ]

packages/doors.py "$root/doors"
section done
