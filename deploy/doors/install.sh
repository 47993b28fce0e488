#!/bin/sh
# Installs card-payments @VERSION@: downloads the archive for this machine from the release, checks its sum, and puts the program into
# a folder. It changes nothing else.
#   curl -fsSL @ADDRESS@/install.sh | sh
#   curl -fsSL @ADDRESS@/install.sh | sh -s -- --dir /usr/local/bin
set -eu

version=@VERSION@
address=@ADDRESS@

# The archives of the release, each behind its SHA-256.
archives() {
    cat <<'END'
@ARCHIVES@
END
}

refuse() {
    echo "error: $1" >&2
    exit 1
}

# Leaves nothing of an installation that was refused: no file, and no folder that it made.
clean() {
    [ -z "$work" ] || rm -rf "$work"
    while [ -n "$made" ] && { [ ! -e "$folder" ] || rmdir "$folder" 2>/dev/null; } && [ "$folder" != "$made" ]; do
        folder=$(dirname "$folder")
    done
}

usage() {
    cat <<END
Installs card-payments $version.

Usage: install.sh [--dir FOLDER] [--from ADDRESS]

  --dir FOLDER    where the program goes; by default \$HOME/.local/bin
  --from ADDRESS  where the archives are, if not at $address
END
}

# The platform in the names of archives. A translated process of a Mac runs on another processor than it is told.
platform() {
    system=$(uname -s) machine=$(uname -m)
    case $system in
        Linux) platform=linux ;;
        Darwin) platform=darwin ;;
        MINGW* | MSYS* | CYGWIN*) refuse "on Windows install it with scoop or winget, or unpack card-payments-windows-amd64.zip from $address" ;;
        *) platform=$system ;;
    esac
    [ "$system $(sysctl -n sysctl.proc_translated 2>/dev/null || :)" != 'Darwin 1' ] || machine=arm64
    case $machine in
        x86_64 | amd64) platform=$platform-amd64 ;;
        aarch64 | arm64) platform=$platform-arm64 ;;
        *) platform=$platform-$machine ;;
    esac
}

download() {
    if command -v curl >/dev/null; then
        case $1 in
            https:*) curl -fsSL --proto '=https' --tlsv1.2 --retry 3 -o "$2" "$1" ;;
            *) curl -fsSL --retry 3 -o "$2" "$1" ;;
        esac
    elif command -v wget >/dev/null; then
        wget -q -O "$2" "$1"
    else
        refuse 'there is neither curl nor wget'
    fi || refuse "$1 cannot be downloaded"
}

sum_of() {
    if command -v sha256sum >/dev/null; then
        sha256sum "$1"
    elif command -v shasum >/dev/null; then
        shasum -a 256 "$1"
    elif command -v openssl >/dev/null; then
        openssl dgst -sha256 -r "$1"
    else
        refuse 'there is none of sha256sum, shasum and openssl, so the sum cannot be checked'
    fi
}

main() {
    folder=
    while [ $# -gt 0 ]; do
        case $1 in
            --dir | --from) [ $# -gt 1 ] && [ -n "$2" ] || refuse "$1 needs a value" ;;
        esac
        case $1 in
            --dir) folder=$2 && shift ;;
            --from) address=${2%/} && shift ;;
            --help) usage && exit ;;
            *) refuse "what is $1? install.sh --help lists the options" ;;
        esac
        shift
    done
    [ -n "$folder" ] || folder=${HOME:?is not set; name a folder with --dir}/.local/bin

    platform
    archive=card-payments-$platform.tar.gz
    expected=$(archives | sed -n "s/^\([0-9a-f]*\)  $archive\$/\1/p")
    [ -n "$expected" ] || refuse "release $version has no program for $platform; compile it from the sources"
    # The outermost folder that is not there yet: where nothing is installed, none is left.
    made=
    [ -d "$folder" ] || made=$folder
    while [ -n "$made" ] && [ ! -d "$(dirname "$made")" ]; do made=$(dirname "$made"); done
    work=
    trap clean EXIT
    trap 'exit 1' HUP INT TERM
    { mkdir -p "$folder" 2>/dev/null && [ -w "$folder" ]; } || refuse "$folder cannot be written: name another folder with --dir"
    [ ! -d "$folder/card-payments" ] || refuse "$folder/card-payments is a folder: name another folder with --dir"

    # Beside its place: from there the program is moved at once, and it may run there.
    work=$(mktemp -d "$folder/.card-payments.XXXXXX") || refuse "$folder cannot be written: name another folder with --dir"
    echo "Downloading $address/$archive"
    download "$address/$archive" "$work/archive"
    found=$(sum_of "$work/archive")
    found=${found%% *}
    [ "$found" = "$expected" ] || refuse "$archive has the SHA-256 $found, not $expected: nothing is installed"
    echo "SHA-256 is $expected, as the release says"
    gzip -dc "$work/archive" | tar -xf - -C "$work" card-payments || refuse "$archive cannot be unpacked"
    chmod 0755 "$work/card-payments"
    "$work/card-payments" --version >/dev/null || refuse "the program for $platform does not run on this machine: nothing is installed"
    mv -f "$work/card-payments" "$folder/card-payments"
    made=
    echo "Installed $("$folder/card-payments" --version) as $folder/card-payments"
    case :$PATH: in
        *":$folder:"*) echo 'Start it: card-payments serve' ;;
        *) echo "$folder is not on your PATH. Start it: $folder/card-payments serve" ;;
    esac
}

# Only now is the whole script there.
main "$@"
