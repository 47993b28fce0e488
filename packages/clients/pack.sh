#!/usr/bin/env bash
# Packs the clients that packages/clients/make.sh has made, each by its language's own tool or as a folder to build by it:
# packages/clients/pack.sh FOLDER, with checksums of all that the folder holds. SOURCE_DATE_EPOCH is the time of the files, by default
# the commit's. The same clients make the same bytes, in whatever folder, with whatever permissions of new files.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

built=$(realpath -m "${CARGO_TARGET_DIR:-target}")/clients
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"/\1/p' Cargo.toml)
# The order of the checksums.
export LC_ALL=C
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"
mkdir -p "$1"
folder=$(realpath "$1")
# The tools leave files beside those that they pack.
packages=$(mktemp -d)
trap 'rm -rf "$packages"' EXIT
for language in python typescript go java ruby php rust; do
    cp -R "$built/packages/$language" "$packages"
done
# Archives hold permissions, and these are the maker's; tools add files of their own.
chmod -R u=rwX,go=rX "$packages"
umask 022

"$built/tools/bin/python" -m pip wheel -q --no-deps --no-index --no-build-isolation -w "$folder" "$packages/python"
(cd "$packages/typescript" && npm pack --silent --ignore-scripts --pack-destination "$folder" >/dev/null)
(cd "$packages/ruby" && gem build --silent card_payments_client.gemspec --output "$folder/card_payments_client-$version.gem" 2>/dev/null)
CARGO_TARGET_DIR=$packages cargo package --quiet --no-verify --locked --allow-dirty --manifest-path "$packages/rust/Cargo.toml"
cp "$packages"/package/*.crate "$folder"
# Those that Go, Maven and Composer take from a folder.
for language in go java php; do
    tar --create --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
        --use-compress-program='gzip -n' --file="$folder/card-payments-client-$language-$version.tar.gz" -C "$packages" "$language"
done
rm -f "$folder/SHA256SUMS"
(cd "$folder" && sha256sum -- * >SHA256SUMS && cat SHA256SUMS)
