#!/usr/bin/env bash
# Lets libFuzzer look for bytes that break a promise of a parser (docs/testing-the-server.md).
#   tests/fuzz/run.sh [TARGET...]          each target, or all, for CARD_PAYMENTS_FUZZ_SECONDS (60)
#   tests/fuzz/run.sh replay TARGET FILE   one input
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
folder=$PWD/target/fuzz
host=$(rustc -vV | sed -n 's/^host: //p')

# Counters of branches and comparisons in all that is compiled for the host, which leaves out what runs in the build itself.
coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
-Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=line-tables-only RUSTFLAGS=$coverage CARGO_TARGET_DIR=$folder/build \
    cargo build --locked --manifest-path tests/fuzz/Cargo.toml --target "$host"
program=$folder/build/$host/debug/card-payments-fuzz

if [ "${1:-}" = replay ]; then
    CARD_PAYMENTS_FUZZ_TARGET=$2 exec "$program" "$3"
fi

targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(sed -n 's/^    \([a-z_]*\)::TARGET,$/\1/p' tests/fuzz/src/targets/mod.rs)
broken=()
for target in "${targets[@]}"; do
    work=$folder/$target
    mkdir -p "$work/corpus"
    # libFuzzer wants the file of words before the program can write it.
    touch "$work/words"
    if ! CARD_PAYMENTS_FUZZ_TARGET=$target CARD_PAYMENTS_FUZZ_FOLDER=$work nice -n 19 "$program" \
        -max_total_time="${CARD_PAYMENTS_FUZZ_SECONDS:-60}" -timeout=10 -rss_limit_mb=2048 -max_len=16384 \
        -dict="$work/words" -artifact_prefix="$work/found-" "$work/corpus" >"$work/log" 2>&1; then
        broken+=("$target")
        # The message, and what replays it.
        grep -aE -A3 'panicked at|ERROR: libFuzzer' "$work/log" >&2 || tail -20 "$work/log" >&2
        printf 'tests/fuzz/run.sh replay %s %s\n' "$target" "$(sed -n 's/.*Test unit written to //p' "$work/log" | tail -1)" >&2
    fi
    printf '%-14s %s\n' "$target" "$(grep -aE '^#[0-9]+' "$work/log" | tail -1 | awk '{
        for (n = 1; n < NF; n++) if ($n == "cov:") edges = $(n + 1); else if ($n == "corp:") corpus = $(n + 1)
        printf "%s executions, %s edges, corpus %s", substr($1, 2), edges, corpus }')"
done
[ ${#broken[@]} -eq 0 ] || { printf 'broken promises: %s\n' "${broken[*]}" >&2; exit 1; }
