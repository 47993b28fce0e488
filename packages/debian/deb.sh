#!/usr/bin/env bash
# Writes the Debian package: deb.sh VERSION PROGRAM ARCHITECTURE DEPENDS FOLDER. The manual is that of HELPER, a program of the same version
# that runs on this machine. DEBFULLNAME and DEBEMAIL name who maintains the package, SOURCE_DATE_EPOCH is the time of its files.
set -euo pipefail
version=$1 program=$2 architecture=$3 depends=$4 folder=$5
maintainer="${DEBFULLNAME:-card-payments contributors} <${DEBEMAIL:-card-payments@example.com}>"
here=$(dirname "${BASH_SOURCE[0]}")
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 0755 "$root"

install -D -m 0755 "$program" "$root/usr/bin/card-payments"
# The unit of docs/operating/install.md, with a user to whom the data belongs, so that commands may run as that user.
install -d "$root/usr/lib/systemd/system"
sed -e 's|/usr/local/bin/|/usr/bin/|' -e 's|^DynamicUser=yes|User=card-payments|' -e '1d' \
    "$here/../../deploy/card-payments.service" >"$root/usr/lib/systemd/system/card-payments.service"
documents=$root/usr/share/doc/card-payments
install -D -m 0644 "$here/copyright" "$documents/copyright"
gzip -9n <"$here/../../CHANGELOG.md" >"$documents/CHANGELOG.md.gz"
printf 'card-payments (%s) unstable; urgency=medium\n\n  * What changed is in CHANGELOG.md.gz.\n\n -- %s  %s\n' \
    "$version" "$maintainer" "$(date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")" | gzip -9n >"$documents/changelog.gz"
install -D -m 0644 "$here/overrides" "$root/usr/share/lintian/overrides/card-payments"

completions() {
    install -d "$root/usr/share/$2"
    "$HELPER" completions "$1" >"$root/usr/share/$2/$3"
}
completions bash bash-completion/completions card-payments
completions zsh zsh/vendor-completions _card-payments
completions fish fish/vendor_completions.d card-payments.fish

# A page for each command.
manual=$root/usr/share/man/man1
install -d "$manual"
"$HELPER" manual --to "$manual" >/dev/null
gzip -9n "$manual"/*

# The postinst copies it to where the unit reads it.
install -D -m 0644 "$here/../../deploy/environment" "$root/usr/share/card-payments/environment"

install -d "$root/DEBIAN"
sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@DEPENDS@/${depends:+$depends, }/" \
    -e "s/@MAINTAINER@/$maintainer/" "$here/control" >"$root/DEBIAN/control"
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
install -m 0755 "$here/postinst" "$here/prerm" "$here/postrm" "$root/DEBIAN"
find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --build --root-owner-group -Zgzip "-z${COMPRESSION:-9}" "$root" "$folder/card-payments_${version}_$architecture.deb" >/dev/null
