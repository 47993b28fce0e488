#!/usr/bin/env bash
# Makes every package of a program, for each platform that it is given for: packages/build.sh VERSION FOLDER PROGRAM..., with checksums of
# all that the folder holds. The programs say for which platforms: a static one is for every distribution, another one for machines
# like this one. One of them must run here, for the manual. COMPRESSION is 1 for the quickest to 9 for the smallest, the default;
# SOURCE_DATE_EPOCH is the time of the files, by default the commit's.
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
rm -f "$folder"/{*.whl,*.tgz,*.deb,SHA256SUMS}
stripped=$(mktemp -d)
trap 'rm -rf "$stripped"' EXIT

prepared=() npm=()
for program in "${@:3}"; do
    head=$(readelf --file-header --program-headers --sections "$program")
    case $head in
        *X86-64*) machine=x86_64 node=linux-x64 debian=amd64 ;;
        *AArch64*) machine=aarch64 node=linux-arm64 debian=arm64 ;;
        *) missing "$program is for no machine that there are packages for" ;;
    esac
    case $head in
        *INTERP*) platforms=linux_$machine depends=libc6 ;;
        *) platforms=manylinux_2_17_$machine.musllinux_1_1_$machine depends='' ;;
    esac
    own=$stripped/$debian/card-payments
    install -D -m 0755 "$program" "$own"
    # A release has no symbols; another machine's could not be stripped here.
    case $head in *.symtab*) strip "$own" ;; esac
    npm+=("$node=$own")
    prepared+=("$own py3-none-$platforms $debian $depends")
done

# Each takes a core for a while.
packages/npm/pack.mjs "$version" "$folder" "${npm[@]}" &
begun=($!)
for one in "${prepared[@]}"; do
    read -r own tag debian depends <<<"$one"
    packages/python/wheel.py "$version" "$own" "$tag" "$folder" &
    begun+=($!)
    packages/debian/deb.sh "$version" "$own" "$debian" "$depends" "$folder" &
    begun+=($!)
done
for process in "${begun[@]}"; do
    wait "$process"
done
(cd "$folder" && sha256sum -- * >SHA256SUMS && cat SHA256SUMS)
