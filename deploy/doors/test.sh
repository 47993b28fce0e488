#!/usr/bin/env bash
# Draws the doors of a made-up release, whose programs are scripts, and checks them: what the installer does and refuses, and that every
# other file names the archive of its platform with its sum. python3 has a reader of YAML, as among the linters of .ci/lint.txt.
set -Eeuo pipefail
trap 'echo "failed: $BASH_COMMAND (line $LINENO)" >&2' ERR
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

root=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$root"' EXIT
export SOURCE_DATE_EPOCH=1795287642 PYTHONDONTWRITEBYTECODE=1
version=1.2.3
repository=https://github.com/example/card-payments
release=$root/release
mkdir "$release"
for platform in linux-amd64 linux-arm64 darwin-amd64 darwin-arm64 windows-amd64; do
    program=$root/$platform/card-payments
    [ "$platform" != windows-amd64 ] || program+=.exe
    mkdir "$root/$platform"
    printf '#!/bin/sh\necho card-payments %s for %s\n' "$version" "$platform" >"$program"
    chmod 0755 "$program"
    packages/archive.py "$release" "card-payments-$platform" "$program" LICENSE
done
sums() { (cd "$release" && sha256sum -- *.tar.gz *.zip >SHA256SUMS); }
sums
deploy/doors.py "$version" "$repository" "$release"
doors=$release/doors
(cd "$doors" && sha256sum --quiet --check SHA256SUMS)
mv "$doors" "$root/first"
deploy/doors.py "$version" "$repository" "$release"
diff -r "$root/first" "$doors"

# The installer in a home of its own, below which nothing but the program may be left.
export HOME=$root/home
mkdir "$HOME"
shell=(sh)
install() { "${shell[@]}" "$doors/install.sh" --from "file://$release" "$@" >"$root/output" 2>&1; }
# refuses TEXT ARGUMENT...: it says so, changes no file, and leaves none.
refuses() {
    local before
    before=$(contents)
    ! install "${@:2}" || { echo "it does not refuse: ${*:2}" >&2; return 1; }
    grep -F -- "$1" "$root/output" >/dev/null || { cat "$root/output" >&2; return 1; }
    [ "$(contents)" = "$before" ]
}
contents() { find "$HOME" -type f -exec sha256sum {} + | sort; find "$HOME" | sort; }
# as SYSTEM MACHINE COMMAND...: on another machine, by what uname says of it.
as() {
    mkdir -p "$root/as"
    printf '#!/bin/sh\n[ "$1" = -s ] && echo %s || echo %s\n' "$1" "$2" >"$root/as/uname"
    printf '#!/bin/sh\necho %s\n' "${TRANSLATED:-0}" >"$root/as/sysctl"
    chmod +x "$root"/as/*
    PATH=$root/as:$PATH "${@:3}"
}
own=$HOME/.local/bin/card-payments

case $(uname -m) in x86_64) here=linux-amd64 ;; aarch64) here=linux-arm64 ;; esac
for shell in sh 'bash --posix' 'busybox sh'; do
    read -ra shell <<<"$shell"
    command -v "${shell[0]}" >/dev/null || continue
    rm -rf "$HOME/.local"
    install
    [ "$("$own")" = "card-payments $version for $here" ]
    [ "$(find "$HOME" -type f)" = "$own" ]
    grep -F "is not on your PATH. Start it: $own serve" "$root/output" >/dev/null
done
shell=(sh)
printf 'older\n' >"$own"
PATH=$HOME/.local/bin:$PATH install
[ "$("$own")" = "card-payments $version for $here" ]
grep -Fx 'Start it: card-payments serve' "$root/output" >/dev/null
install --dir "$HOME/a folder with ümlauts"
[ -x "$HOME/a folder with ümlauts/card-payments" ]
# Piped into a shell, from a server.
mkfifo "$root/served"
python3 -u -m http.server --bind 127.0.0.1 --directory "$release" 0 >"$root/served" 2>/dev/null &
server=$!
read -r _ _ _ _ _ port _ <"$root/served"
curl -fsS "http://127.0.0.1:$port/doors/install.sh" | sh -s -- --from "http://127.0.0.1:$port" --dir "$HOME/piped" >/dev/null
[ -x "$HOME/piped/card-payments" ]
kill "$server"
server=
# Every platform gets its own.
while read -r system machine translated platform; do
    TRANSLATED=$translated as "$system" "$machine" install --dir "$HOME/$platform"
    [ "$("$HOME/$platform/card-payments")" = "card-payments $version for $platform" ]
done <<'END'
Linux x86_64 0 linux-amd64
Linux aarch64 0 linux-arm64
Darwin x86_64 0 darwin-amd64
Darwin x86_64 1 darwin-arm64
Darwin arm64 0 darwin-arm64
END

as Linux riscv64 refuses "release $version has no program for linux-riscv64"
as FreeBSD amd64 refuses "release $version has no program for FreeBSD-amd64"
as MINGW64_NT-10.0 x86_64 refuses 'on Windows install it with scoop or winget'
refuses 'what is --prefix?' --prefix /usr
refuses '--dir needs a value' --dir
refuses '/proc/none cannot be written: name another folder with --dir' --dir /proc/none
mkdir -p "$HOME/full/card-payments"
refuses 'card-payments is a folder' --dir "$HOME/full"
refuses "$root/nowhere/card-payments-$here.tar.gz cannot be downloaded" --from "file://$root/nowhere" --dir "$HOME/not yet/there"
# An archive that another one was put in place of, and a part of one.
head -c 100 "$release/card-payments-$here.tar.gz" >"$root/part"
for wrong in "$release/card-payments-windows-amd64.zip" "$root/part"; do
    mkdir "$root/wrong"
    cp "$wrong" "$root/wrong/card-payments-$here.tar.gz"
    refuses "not $(sed -n "s/  card-payments-$here.tar.gz//p" "$release/SHA256SUMS"): nothing is installed" --from "file://$root/wrong"
    rm -r "$root/wrong"
done
# Machines without the tools.
bare() {
    rm -rf "$root/bare"
    mkdir "$root/bare"
    for tool in sh uname cat sed dirname mkdir rmdir mktemp rm gzip tar chmod mv "$@"; do ln -s "$(command -v "$tool")" "$root/bare"; done
}
shell=(env -i "HOME=$HOME" "PATH=$root/bare" sh)
bare sha256sum
refuses 'there is neither curl nor wget'
bare curl
refuses 'there is none of sha256sum, shasum and openssl'
for tool in shasum openssl; do
    command -v "$tool" >/dev/null || continue
    bare curl "$tool"
    [ "$tool" != shasum ] || ln -s "$(command -v perl)" "$root/bare"
    install --dir "$HOME/by $tool"
done
shell=(sh)
# A program that does not run here.
printf '#!/bin/sh\nexit 1\n' >"$root/$here/card-payments"
cp -r "$release" "$root/before"
packages/archive.py "$release" "card-payments-$here" "$root/$here/card-payments" LICENSE
sums
deploy/doors.py "$version" "$repository" "$release"
refuses "the program for $here does not run on this machine: nothing is installed"
rm -r "$release"
mv "$root/before" "$release"
# Whatever part of the script arrives does nothing.
before=$(contents)
for ((length = 1; length < $(wc -c <"$doors/install.sh") - 15; length += 97)); do
    head -c "$length" "$doors/install.sh" | sh -s -- --from "file://$release" --dir "$HOME/part" >/dev/null 2>&1 || :
done
[ "$(contents)" = "$before" ]

# A release of Linux only has no files for Windows, and none of it is fit for no release.
mkdir "$root/linux"
grep linux "$release/SHA256SUMS" >"$root/linux/SHA256SUMS"
deploy/doors.py "$version" "$repository" "$root/linux"
[ "$(cd "$root/linux/doors" && echo *)" = 'SHA256SUMS card-payments.rb devcontainer-feature-card-payments.tgz install.sh' ]
for wrong in "$version ftp://example.com" "v1\" $repository"; do
    read -ra wrong <<<"$wrong"
    if deploy/doors.py "${wrong[@]}" "$release" 2>/dev/null; then exit 1; fi
done

shellcheck "$doors/install.sh" deploy/doors/feature/install.sh
# The formula, as Homebrew reads it on each platform.
ruby -wc "$doors/card-payments.rb" >/dev/null
cat >"$root/formula.rb" <<'END'
class Formula
  class << self
    %i[desc homepage version license test].each { |name| define_method(name) { |*, &_block| } }
    %i[macos linux intel arm].each { |name| define_method("on_#{name}") { |&block| block.call if WHERE.include?(name) } }
    %i[url sha256].each { |name| define_method(name) { |value| print(value, name == :url ? " " : "\n") } }
  end
end
WHERE = ARGV.drop(1).map(&:to_sym)
load ARGV[0]
END
while read -r platform where; do
    read -ra where <<<"$where"
    archive=card-payments-$platform.tar.gz
    ruby "$root/formula.rb" "$doors/card-payments.rb" "${where[@]}" |
        grep -Fx "$repository/releases/download/v$version/$archive $(sed -n "s/  $archive//p" "$release/SHA256SUMS")" >/dev/null
done <<'END'
linux-amd64 linux intel
linux-arm64 linux arm
darwin-amd64 macos intel
darwin-arm64 macos arm
END
# The others, and cargo binstall's table in Cargo.toml.
python3 - "$release" "$repository/releases/download/v$version" <<'END'
import json, pathlib, sys, tarfile, tomllib
from ruamel.yaml import YAML

release, address = pathlib.Path(sys.argv[1]), sys.argv[2]
doors = release / "doors"
sums = {f"{address}/{name}": sum for sum, name in map(str.split, (release / "SHA256SUMS").read_text().splitlines())}
windows = f"{address}/card-payments-windows-amd64.zip"
scoop = json.loads((doors / "card-payments.json").read_text())
assert scoop["architecture"]["64bit"] == {"url": windows, "hash": sums[windows]}, scoop
updated = scoop["autoupdate"]["architecture"]["64bit"]["url"]
assert updated.replace("$version", scoop["version"]) == windows, updated
manifests = {path.name: YAML(typ="safe").load(path) for path in doors.glob("*.yaml")}
for name, manifest in manifests.items():
    identity = manifest["PackageIdentifier"], manifest["PackageVersion"]
    assert identity == ("example.card-payments", scoop["version"]), identity
installer = manifests["example.card-payments.installer.yaml"]["Installers"]
assert installer == [{"Architecture": "x64", "InstallerUrl": windows, "InstallerSha256": sums[windows]}], installer
with tarfile.open(doors / "devcontainer-feature-card-payments.tgz") as feature:
    assert {entry.name for entry in feature} == {"./card-payments.sh", "./devcontainer-feature.json", "./install.sh"}
    assert feature.extractfile("./card-payments.sh").read() == (doors / "install.sh").read_bytes()
    about = json.load(feature.extractfile("./devcontainer-feature.json"))
assert (about["id"], about["version"]) == ("card-payments", scoop["version"]), about
overrides = tomllib.loads(pathlib.Path("Cargo.toml").read_text())["package"]["metadata"]["binstall"]["overrides"]
template = "{ repo }/releases/download/v{ version }/"
taken = {override["pkg-url"].replace(template, f"{address}/") for override in overrides.values()}
assert taken == set(sums), taken ^ set(sums)
END
echo 'the doors are as they should be'
