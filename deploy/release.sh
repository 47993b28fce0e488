#!/usr/bin/env bash
# A release, in target/dist: one static Linux binary that needs nothing beside it, what it is made of, and checksums of
# both. The same commit and the same compilers make the same bytes, in whatever folder they run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=x86_64-unknown-linux-musl
dist=target/dist

missing() {
    echo "error: $1" >&2
    exit 1
}

command -v musl-gcc >/dev/null || missing 'there is no musl-gcc: apt-get install musl-tools'
{ command -v make && command -v readelf; } >/dev/null || missing 'there is no make, or no readelf: apt-get install build-essential'
[ -d "$(rustc --print sysroot)/lib/rustlib/$target/lib" ] || missing "there is no $target: rustup target add $target"

# Which commit --version names, and its time; a builder without the repository says so himself.
changes() { [ -z "$(git status --porcelain)" ] || echo '+changes'; }
export RELEASE_COMMIT="${RELEASE_COMMIT:-$(git rev-parse --short=12 HEAD)$(changes)}"
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"

# Where it was built is nobody's business, and must not tell two builds apart. Of several that fit, the last one counts: the
# folder that is built in may lie in that of the sources.
mkdir -p "${CARGO_TARGET_DIR:-target}"
built=$(realpath "${CARGO_TARGET_DIR:-target}")
cargo_home=${CARGO_HOME:-$HOME/.cargo}
rust='' c=''
for folder in "$cargo_home=/cargo" "$PWD=/card-payments" "$built=/target"; do
    rust+=" --remap-path-prefix=$folder"
    c+=" -ffile-prefix-map=$folder"
done
# Of ninety thousand pointers each would be a line of its own: two megabytes.
rust+=' -C link-arg=-Wl,-z,pack-relative-relocs'
export RUSTFLAGS=$rust CFLAGS_x86_64_unknown_linux_musl=$c
# Nor must the processor: the allocator would ask it how long its addresses are. Those of Linux programs have 48 bits.
export JEMALLOC_SYS_WITH_LG_VADDR=48
export CARGO_INCREMENTAL=0
cargo build --profile dist --locked --target "$target" --bin card-payments

rm -rf "$dist"
mkdir -p "$dist"
install -m 0755 "$built/$target/dist/card-payments" "$dist/card-payments"
deploy/sbom.py "$target" Cargo.toml "$dist/card-payments" >"$dist/card-payments.cdx.json"
(cd "$dist" && sha256sum card-payments card-payments.cdx.json >SHA256SUMS)

# It is what it should be: static, of this commit, and well in a root where there is nothing else.
needs=$(readelf --program-headers --dynamic "$dist/card-payments")
! grep -E 'INTERP|NEEDED' <<<"$needs" || missing 'it is not static'
"$dist/card-payments" --version | grep -F "$RELEASE_COMMIT"
root=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$root"' EXIT
install -m 0755 "$dist/card-payments" "$root/card-payments"
alone() { exec unshare --user --map-root-user chroot "$root" /card-payments "$@"; }
if ! (alone --version) >/dev/null; then
    echo 'not tried in an empty root: this machine lets nobody make one' >&2
else
    mkfifo "$root/said"
    (alone serve --listen 127.0.0.1:0 --data-dir /data) >"$root/said" 2>"$root/log" &
    server=$!
    address=
    while read -r line; do
        case $line in 'Listening on http://'*) address=${line#Listening on http://} && break ;; esac
    done <"$root/said"
    [ -n "$address" ] || { cat "$root/log" >&2; missing 'it does not start'; }
    (alone health --listen "$address")
    # What they have become is the server itself.
    kill -TERM "$server"
    wait "$server" || { cat "$root/log" >&2; missing 'it does not end well'; }
    server=
fi
cat "$dist/SHA256SUMS"
