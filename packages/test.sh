#!/usr/bin/env bash
# Makes every package of a program, installs each from its own file, offline and where nothing else is, and lets it pay within ten
# seconds; then runs the helpers' own tests: packages/test.sh PROGRAM. pytest is that of .ci/run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=$(realpath "$1")
version=$("$program" --version | cut -d ' ' -f 2)
packages=$PWD/packages
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
files=$root/files
# Nothing of this machine's configuration, and no other server.
unset "${!CARD_PAYMENTS_@}"
export PYTHONDONTWRITEBYTECODE=1
export COMPRESSION=1

section() {
    printf -- '-- %s: %d s\n' "$1" "$SECONDS"
}

packages/build.sh "$version" "$program" "$files"

section python
pytest=$PWD/target/verifiers
python3 -m venv "$root/python"
"$root/python/bin/pip" install -q --no-index "$files"/*.whl
"$root/python/bin/card-payments" --version | grep -F "$version"
export PYTHONPATH=$("$pytest/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
in_python() { (cd "$packages/python" && timeout "$1" "$root/python/bin/python" -m pytest -q -p no:cacheprovider "${@:2}"); }
in_python 10 examples
in_python 60 tests
in_python 60 -n 2 examples
unset PYTHONPATH

section npm
mkdir "$root/npm"
cd "$root/npm"
npm install --offline --ignore-scripts --no-audit --no-fund --silent "$files"/*.tgz
cp "$packages"/npm/{examples,test}/* .
npx --offline card-payments --version | grep -F "$version"
timeout 10 node --test --test-reporter=dot checkout.test.mjs
timeout 60 node --test --test-reporter=dot library.test.mjs
cd "$packages/.."

section rust
in_rust() { PATH=$root/python/bin:$PATH cargo "$1" --quiet --locked --manifest-path packages/rust/Cargo.toml --target-dir target/rust-package --all-targets "${@:2}"; }
cargo fmt --check --manifest-path packages/rust/Cargo.toml
in_rust clippy -- -D warnings
in_rust test

# Runs tests with the installed program, and waits until their servers have left nothing.
leaving_nothing() {
    mkdir "$root/left"
    TMPDIR=$root/left PATH=$root/python/bin:$PATH timeout "$@"
    timeout 10 sh -c "until rmdir '$root/left' 2>/dev/null; do sleep 0.1; done"
}

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
    leaving_nothing 60 java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$needed$root/library.jar:$root/tests" \
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
    in_go "$root/go" leaving_nothing 10 go test .
    gofmt -l packages/go | { ! grep .; }
    in_go "$packages/go" go vet ./...
    in_go "$packages/go" leaving_nothing 60 go test -count=1 .
else
    echo 'the helpers for Go are not tried: Debian has golang-go' >&2
fi

section debian
if [ "$(id -u)" != 0 ]; then
    echo 'the package of Debian is not tried: only root installs one' >&2
    exit 0
fi
machine=$root/debian
mkdir -p "$machine"/{etc,var/lib/dpkg/{info,updates,triggers}}
touch "$machine"/etc/{passwd,shadow,group,gshadow} "$machine"/var/lib/dpkg/{status,available}
# What it depends on is this machine's; its scripts are told the other root.
in_machine() { dpkg --root="$machine" --force-script-chrootless --force-depends "$@" >"$root/dpkg" 2>&1 || { cat "$root/dpkg" >&2; return 1; }; }
before=$(cd "$machine" && find . -not -path './var/lib/dpkg/*' | sort)
in_machine --install "$files"/*.deb
# shellcheck disable=SC2016
timeout 10 "$machine/usr/bin/card-payments" exec -- sh -c 'curl -sf "$CARD_PAYMENTS_URL/1/charges" -u "$CARD_PAYMENTS_SECRET_KEY:" \
    -d email=roland@example.com -d description=Test -d amount=400 -d ip_address=203.192.1.172 -d "card[number]=4200000000000000" \
    -d "card[expiry_month]=12" -d "card[expiry_year]=2099" -d "card[cvc]=123" -d "card[name]=Roland Robot" \
    -d "card[address_line1]=42 Sevenoaks St" -d "card[address_city]=Lathlain" -d "card[address_country]=AU"' | grep -qF '"success":true'
grep -q '^card-payments:' "$machine/etc/passwd"
[ "$(stat -c %a "$machine/etc/card-payments/vault.key")" = 600 ]
[ "$(stat -c %a "$machine/var/lib/card-payments")" = 700 ]
CARD_PAYMENTS_DATA_DIR=$root/checked CARD_PAYMENTS_VAULT_KEY_FILE=$machine/etc/card-payments/vault.key \
    "$machine/usr/bin/card-payments" account list
grep -q '^User=card-payments$' "$machine/usr/lib/systemd/system/card-payments.service"
bash -n "$machine/usr/share/bash-completion/completions/card-payments"
gzip -dc "$machine/usr/share/man/man1/card-payments.1.gz" | grep -qF '.SH "card-payments account create"'
key=$(cat "$machine/etc/card-payments/vault.key")
in_machine --install "$files"/*.deb
[ "$(cat "$machine/etc/card-payments/vault.key")" = "$key" ]
in_machine --purge card-payments
[ "$(cd "$machine" && find . -not -path './var/lib/dpkg/*' -not -name '*-' | sort)" = "$before" ]
section done
