#!/usr/bin/env bash
# Makes every package of a program, for each platform that it is given for: packages/build.sh VERSION FOLDER PROGRAM..., with checksums of
# all that the folder holds. The programs say for which platforms: for macOS, for Windows, for every distribution of Linux if static, and
# otherwise for machines like this one. One of them must run here, for the manual. COMPRESSION is 1 for the quickest to 9 for the
# smallest, the default; SOURCE_DATE_EPOCH is the time of the files, by default the commit's. RELEASE_REPOSITORY is the address of the
# repository that the packages name as theirs; without it they name none.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=$1
folder=$(realpath -m "$2")

missing() {
    echo "error: $1" >&2
    exit 1
}
for tool in readelf strip python3 node dpkg-deb; do
    command -v "$tool" >/dev/null || missing "there is no $tool"
done

# The order of the checksums, and the permissions of files in archives.
export LC_ALL=C
umask 022
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"
HELPER=
for program in "${@:3}"; do
    program=$(realpath "$program")
    if "$program" --version >/dev/null 2>&1; then HELPER=$program && break; fi
done
[ -n "$HELPER" ] || missing 'none of the programs runs on this machine'
export HELPER

mkdir -p "$folder"
rm -f "$folder"/{*.whl,*.tgz,*.tar.gz,*.zip,*.deb,SHA256SUMS}
stripped=$(mktemp -d)
trap 'rm -rf "$stripped"' EXIT

# Sets a program's platform, by the names of assets, wheels, npm and Debian (Linux only), and for Debian what it depends on.
identify() {
    local head
    suffix='' debian='' depends=''
    case $(od -An -tx1 -N8 "$1" | tr -d ' \n') in
        7f454c46*)
            head=$(readelf --file-header --program-headers --sections "$1")
            case $head in
                *X86-64*) machine=x86_64 node=linux-x64 debian=amd64 ;;
                *AArch64*) machine=aarch64 node=linux-arm64 debian=arm64 ;;
                *) missing "$1 is for no machine that there are packages for" ;;
            esac
            platform=linux-$debian
            case $head in
                *INTERP*) wheel=linux_$machine depends=libc6 ;;
                *) wheel=manylinux_2_17_$machine.musllinux_1_1_$machine ;;
            esac
            ;;
        cffaedfe07000001) platform=darwin-amd64 wheel=macosx_12_0_x86_64 node=darwin-x64 ;;
        cffaedfe0c000001) platform=darwin-arm64 wheel=macosx_12_0_arm64 node=darwin-arm64 ;;
        4d5a*) platform=windows-amd64 wheel=win_amd64 node=win32-x64 suffix=.exe ;;
        *) missing "$1 is no program" ;;
    esac
}

prepared=() npm=()
for program in "${@:3}"; do
    identify "$program"
    own=$stripped/$platform/card-payments$suffix
    install -D -m 0755 "$program" "$own"
    # A release has no symbols; another machine's could not be stripped here.
    if [ -n "$debian" ] && readelf --sections "$own" | grep -F .symtab >/dev/null; then strip "$own"; fi
    npm+=("$node=$own")
    prepared+=("$own $platform py3-none-$wheel ${debian:--} $depends")
done

# Each takes a core for a while.
packages/npm/pack.mjs "$version" "$folder" "${npm[@]}" &
begun=($!)
for one in "${prepared[@]}"; do
    read -r own platform tag debian depends <<<"$one"
    packages/archive.py "$folder" "card-payments-$platform" "$own" LICENSE &
    begun+=($!)
    packages/python/wheel.py "$version" "$own" "$tag" "$folder" &
    begun+=($!)
    [ "$debian" != - ] || continue
    packages/debian/deb.sh "$version" "$own" "$debian" "$depends" "$folder" &
    begun+=($!)
done
for process in "${begun[@]}"; do
    wait "$process"
done
# Of files only: beside them may be folders.
(cd "$folder" && find . -maxdepth 1 -type f -printf '%P\n' | sort | xargs -d '\n' sha256sum -- >"$stripped/sums" && mv "$stripped/sums" SHA256SUMS && cat SHA256SUMS)
