#!/usr/bin/env bash
# A release, in target/dist: for each target one binary that needs nothing beside it, what it is made of, and the profile by which it was
# compiled; all packages of them; checksums of all; and the clients. The same commit, compilers and profiles make the same bytes, in
# whatever folder they run: PROFILES names the folder of a release, or is empty to compile without. deploy/release.sh [TARGET...] makes it
# for other targets than Linux; those of macOS and Windows have no profile, because they cannot run here. RELEASE_REPOSITORY, the address
# of the repository whose release will hold the files, is what the packages name as theirs; with it, target/dist/doors holds
# the installer and the files of package managers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

targets=("$@")
[ $# -gt 0 ] || targets=(x86_64-unknown-linux-musl aarch64-unknown-linux-musl)
. deploy/targets.sh
dist=target/dist

for tool in make readelf strip python3 node dpkg-deb; do
    command -v "$tool" >/dev/null || missing "there is no $tool: apt-get install build-essential dpkg nodejs python3"
done
for target in "${targets[@]}"; do
    [ -n "${platforms[$target]:-}" ] || missing "what is $target? There are ${!platforms[*]}"
    [ -d "$sysroot/lib/rustlib/$target/lib" ] || missing "there is no $target: rustup target add $target"
done

# Which commit --version names, and its time; a builder without the repository says so himself.
changes() { [ -z "$(git status --porcelain)" ] || echo '+changes'; }
export RELEASE_COMMIT="${RELEASE_COMMIT:-$(git rev-parse --short=12 HEAD)$(changes)}"
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"

# Where it was built is nobody's business, and must not tell two builds apart. Of several that fit, the last one counts: the
# folder that is built in may lie in that of the sources.
cargo_home=${CARGO_HOME:-$HOME/.cargo}
rust=''
export C_FLAGS=''
for folder in "$cargo_home=/cargo" "$PWD=/card-payments" "$built=/target"; do
    rust+=" --remap-path-prefix=$folder"
    C_FLAGS+=" -ffile-prefix-map=$folder"
done
export CARGO_INCREMENTAL=0

is_linux() { [[ $1 == *-linux-* ]]; }

# Of a target, how this machine runs its programs: by itself, by an emulator, or not at all.
emulator_of() {
    is_linux "$1" || { echo none && return; }
    [ "${1%%-*}" = "$(uname -m)" ] || command -v "qemu-${1%%-*}-static" || echo none
}

# Compiles the program for a target, with one more flag for what runs there. The allocator would ask this machine's processor how long its
# addresses are: those of programs have 48 bits. Pages of arm64 may have 64 KiB.
compile() {
    JEMALLOC_SYS_WITH_LG_VADDR=48 AARCH64_UNKNOWN_LINUX_MUSL_JEMALLOC_SYS_WITH_LG_PAGE=16 \
        for_target "$1" "$rust $2" cargo build --profile dist --locked --target "$1" --bin card-payments
}

# Writes a target's profile: which branches are taken how often. A program that counts them serves the load of the benchmark.
profile() {
    local target=$1 counts=$built/counts/$1 emulator
    emulator=$(emulator_of "$target")
    [ "$emulator" != none ] || missing "there is no emulator for $target (qemu-user-static); PROFILES names profiles of another machine"
    rm -rf "$counts"
    mkdir -p "$counts"
    compile "$target" "-C profile-generate=$counts"
    mv "$built/$target/dist/card-payments" "$counts"
    printf '#!/bin/sh\nexec %s "$@"\n' "$emulator $counts/card-payments" >"$counts/counting"
    chmod +x "$counts/counting"
    cargo bench --workspace --profile dev --locked --bench speed -- --binary "$counts/counting" --seconds 2 --rounds 1 --charges 2000 \
        --only charge customer get list word token replay keyed renewals
    "${profdata[0]}" merge --sparse --output "$profiles/card-payments-${platforms[$target]}.profdata" "$counts"/*.profraw
}

profiles=$built/profiles
rm -rf "$profiles"
mkdir -p "$profiles"
if [ -z "${PROFILES+set}" ]; then
    profdata=("$sysroot"/lib/rustlib/*/bin/llvm-profdata)
    [ -x "${profdata[0]}" ] || missing 'there is no llvm-profdata: rustup component add llvm-tools'
    for target in "${targets[@]}"; do
        ! is_linux "$target" || profile "$target"
    done
elif [ -n "$PROFILES" ]; then
    cp "$PROFILES"/card-payments-linux-*.profdata "$profiles"
fi
for target in "${targets[@]}"; do
    profile=$profiles/card-payments-${platforms[$target]}.profdata
    compile "$target" "$([ ! -e "$profile" ] || echo "-C profile-use=$profile")"
done

root=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$root"' EXIT

# It is what it should be: static, of this commit, and well in a root where there is nothing else, as the image's user with the
# image's folder.
try() {
    local program=$1 empty=$root/$2 emulator=$3 address='' line
    ! readelf --program-headers --dynamic "$program" | grep -E 'INTERP|NEEDED' || missing "$program is not static"
    if [ "$emulator" = none ]; then
        echo "$program is not tried: there is no emulator for it (qemu-user-static)" >&2
        return
    fi
    # shellcheck disable=SC2086
    $emulator "$program" --version | grep -F "$RELEASE_COMMIT"
    mkdir "$empty"
    install -m 0755 "$program" "$empty/card-payments"
    [ -z "$emulator" ] || install -m 0755 "$emulator" "$empty/emulator"
    local enter=(unshare --user --map-root-user chroot)
    if [ "$(id -u)" = 0 ]; then
        enter=(chroot --userspec=10001:10001)
        install -d -m 0700 -o 10001 -g 10001 "$empty/data"
    fi
    alone() { exec env CARD_PAYMENTS_DATA_DIR=/data "${enter[@]}" "$empty" ${emulator:+/emulator} /card-payments "$@"; }
    if ! (alone --version) >/dev/null; then
        echo "$program is not tried in an empty root: this machine lets nobody make one" >&2
        return
    fi
    mkfifo "$empty/output"
    (alone serve --listen 127.0.0.1:0) >"$empty/output" 2>"$empty/log" &
    server=$!
    while read -r line; do
        case $line in 'Listening on http://'*) address=${line#Listening on http://} && break ;; esac
    done <"$empty/output"
    [ -n "$address" ] || { cat "$empty/log" >&2; missing "$program does not start"; }
    (alone health --listen "$address")
    # What they have become is the server itself.
    kill -TERM "$server"
    wait "$server" || { cat "$empty/log" >&2; missing "$program does not end well"; }
    server=
}

rm -rf "$dist"
mkdir -p "$dist"
programs=()
for target in "${targets[@]}"; do
    case $target in *-windows-*) suffix=.exe ;; *) suffix='' ;; esac
    program=$dist/card-payments-${platforms[$target]}$suffix
    install -m 0755 "$built/$target/dist/card-payments$suffix" "$program"
    deploy/sbom.py "$target" Cargo.toml "$program" >"${program%.exe}.cdx.json"
    programs+=("$program")
    if is_linux "$target"; then try "$program" "$target" "$(emulator_of "$target")"; else check_imports "$program" && echo "$program is not run: this machine has another system" >&2; fi
done
[ "${PROFILES-set}" = '' ] || cp "$profiles"/*.profdata "$dist"
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"/\1/p' Cargo.toml)
packages/build.sh "$version" "$dist" "${programs[@]}"
[ -z "${RELEASE_REPOSITORY:-}" ] || deploy/doors.py "$version" "$RELEASE_REPOSITORY" "$dist"
if [ -x "$built/clients/tools/bin/python" ]; then
    packages/clients/make.sh
    packages/clients/pack.sh "$dist/clients"
else
    echo 'the clients are not packed: .ci/run installs their generators' >&2
fi
