#!/usr/bin/env bash
# Makes the clients, proves that each has every operation, and lets it live its flow beside a server:
# packages/clients/test.sh PROGRAM [LANGUAGE...]. Generators and toolchains are those of .ci/run.
set -Eeuo pipefail
trap 'echo "failed: $BASH_COMMAND (line $LINENO)" >&2' ERR
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

program=$(realpath "$1")
here=$PWD/packages/clients
built=$(realpath -m "${CARGO_TARGET_DIR:-target}")
packages=$built/clients/packages
tools=$built/clients/tools/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONDONTWRITEBYTECODE=1
unset "${!CARD_PAYMENTS_@}" GOFLAGS

beside() {
    timeout 300 "$program" exec -- python3 "$here/beside.py" "$@"
}

# Writes the program of a README, and runs it: it prints the token of a charge.
first_payment() {
    python3 "$here/first_payment.py" "$language" >"$1"
}
pays() {
    timeout 300 "$program" exec -- "$@" | grep -x 'ch_[A-Za-z0-9_-]*' >/dev/null
}

# Writes the samples of openapi.yaml for the language into a folder, and runs a program over them.
samples() {
    "$program" openapi --json --code-samples | python3 "$here/samples.py" "$language" "$1"
}
run_samples() {
    samples "$work/samples"
    timeout 300 "$program" exec -- "$@" "$work/samples" | grep ' samples passed'
    rm -r "$work/samples"
}

python() {
    # Its libraries are those of the generator, pytest is that of the verifiers.
    local pytest=$("$built/verifiers/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    PYTHONPATH=$packages/python:$pytest beside "$tools/python" -m pytest -q -p no:cacheprovider "$here/python/tests"
    first_payment "$work/first_payment.py"
    PYTHONPATH=$packages/python pays "$tools/python" "$work/first_payment.py"
    PYTHONPATH=$packages/python run_samples "$tools/python" "$here/python/tests/samples.py"
}

typescript() {
    local folder=$packages/typescript
    # In its folder it is a user of the package.
    cp "$here"/typescript/test/*.ts "$folder"
    first_payment "$folder/first_payment.ts"
    samples "$folder/samples"
    (cd "$folder" && npx --offline tsc --strict --noUncheckedIndexedAccess --module nodenext --target es2022 --lib es2023,dom --types node \
        --skipLibCheck --rootDir . --outDir test *.test.ts first_payment.ts samples/*.ts &&
        beside node --test --test-reporter=dot test/client.test.js && pays node test/first_payment.js)
    rm -r "$folder"/{test,client.test.ts,first_payment.ts,samples}
}

go() {
    # Debian's packages of Go lie in a GOPATH.
    local sources=$built/clients/tested/go/src
    export GO111MODULE=off GOPATH=$built/clients/tested/go:/usr/share/gocode GOCACHE=$built/go
    rm -rf "$sources"
    mkdir -p "$sources"
    cp -R "$packages/go" "$sources/cardpaymentsclient"
    cp "$here"/go/*_test.go "$sources/cardpaymentsclient"
    gofmt -l "$here/go" | { ! grep .; }
    samples "$sources/samples"
    gofmt -l "$sources/samples" | { ! grep .; }
    command go vet cardpaymentsclient samples
    first_payment "$work/first_payment.go"
    gofmt -l "$work" | { ! grep .; }
    # Compilation is no part of the time.
    command go test -c -o "$work/client.test" cardpaymentsclient
    command go build -o "$work/first_payment" "$work/first_payment.go"
    (cd "$sources/cardpaymentsclient" && beside "$work/client.test")
    pays "$work/first_payment"
}

java() {
    # Jackson is in the generator's own archive, the rest are packages of Debian.
    local jars=/usr/share/java classes=$built/clients/tested/java quick='-XX:TieredStopAtLevel=1 -XX:+UseSerialGC' needed
    needed=$(echo "$built"/clients/tools/lib/python3*/site-packages/openapi_generator_cli/openapi-generator.jar)
    needed+=$(printf ':%s' "$jars"/{httpclient,httpcore,httpmime,geronimo-annotation-1.3-spec}.jar \
        "$jars"/{apiguardian-api,opentest4j,picocli,junit-{jupiter-{api,engine},platform-{commons,console,engine,launcher,reporting}}}.jar)
    rm -rf "$classes"
    mkdir -p "$classes"
    first_payment "$work/FirstPayment.java"
    samples "$work/samples"
    find "$packages/java/src" "$here/java/test" "$work" -name '*.java' >"$built/clients/tested/java.sources"
    JDK_JAVA_OPTIONS=$quick javac -nowarn -proc:none --release 17 -cp "$needed" -d "$classes" @"$built/clients/tested/java.sources"
    rm -r "$work/samples"
    beside java $quick -cp "$needed:$classes" org.junit.platform.console.ConsoleLauncher --disable-banner --disable-ansi-colors \
        --details=none --fail-if-no-tests --select-class=ClientTest
    pays java $quick -cp "$needed:$classes" FirstPayment
}

ruby() {
    # The generated code warns.
    beside ruby -W0 -I"$packages/ruby/lib" "$here/ruby/test/client_test.rb"
    first_payment "$work/first_payment.rb"
    pays ruby -W0 -I"$packages/ruby/lib" "$work/first_payment.rb"
    run_samples ruby -W0 -I"$packages/ruby/lib" "$here/ruby/test/samples.rb"
}

php() {
    mkdir "$work/vendor"
    cp "$here/php/test/autoload.php" "$work/vendor"
    export PACKAGE=$packages/php
    beside php "$here/php/test/client_test.php"
    first_payment "$work/first_payment.php"
    (cd "$work" && pays php first_payment.php && run_samples php "$here/php/test/samples.php")
}

rust() {
    local folder=$packages/rust
    rustfmt --check --edition 2024 --config-path rustfmt.toml "$here"/rust/test/client.rs "$here"/rust/src/[!l]*.rs
    # In its folder it is a user of the package.
    mkdir "$folder"/{tests,examples}
    cp "$here/rust/test/client.rs" "$folder/tests"
    first_payment "$folder/examples/first_payment.rs"
    local it=(--quiet --locked --no-default-features --manifest-path "$folder/Cargo.toml" --target-dir "$built/rust-package")
    cargo build "${it[@]}" --tests --examples
    beside cargo test "${it[@]}" --test client
    pays "$built/rust-package/debug/examples/first_payment"
    rm -r "$folder"/{tests,examples}
}

languages=("${@:2}")
[ ${#languages[@]} -gt 0 ] || languages=(python typescript go java ruby php rust)
packages/clients/make.sh "${languages[@]}"
for language in "${languages[@]}"; do
    start=$SECONDS
    "$tools/python" "$here/complete.py" openapi.yaml "$packages/$language" "$language"
    "$language"
    printf -- '-- client for %s: %d s\n' "$language" $((SECONDS - start))
done
