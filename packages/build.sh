#!/usr/bin/env bash
# Makes every package of one program: packages/build.sh VERSION PROGRAM [FOLDER], by default in target/packages, with checksums.
# The program says for which platform: a static one is for every distribution, another one for machines like this one. COMPRESSION
# is 1 for the quickest to 9 for the smallest, the default.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=$1
program=$(realpath "$2")
folder=$(realpath -m "${3:-target/packages}")

missing() {
    echo "error: $1" >&2
    exit 1
}
for tool in readelf strip python3 node dpkg-deb; do
    command -v "$tool" >/dev/null || missing "there is no $tool"
done

head=$(readelf --file-header --program-headers "$program")
case $head in
    *X86-64*) machine=x86_64 node=linux-x64 debian=amd64 ;;
    *AArch64*) machine=aarch64 node=linux-arm64 debian=arm64 ;;
    *) missing "$program is for no machine that there are packages for" ;;
esac
case $head in
    *INTERP*) platforms=linux_$machine depends=libc6 ;;
    *) platforms=manylinux_2_17_$machine.musllinux_1_1_$machine depends= ;;
esac

rm -rf "$folder"
mkdir -p "$folder"
stripped=$(mktemp -d)
trap 'rm -rf "$stripped"' EXIT
strip -o "$stripped/card-payments" "$program"
chmod 0755 "$stripped/card-payments"

# Each takes a core for a while.
packages/python/wheel.py "$version" "$stripped/card-payments" "py3-none-$platforms" "$folder" &
packages/npm/pack.mjs "$version" "$stripped/card-payments" "$node" "$folder" &
packages/debian/deb.sh "$version" "$stripped/card-payments" "$debian" "$depends" "$folder"
wait -n
wait -n
(cd "$folder" && sha256sum -- * >SHA256SUMS && cat SHA256SUMS)
