#!/usr/bin/env bash
# Writes the Debian package: deb.sh VERSION PROGRAM ARCHITECTURE DEPENDS FOLDER.
set -euo pipefail
version=$1 program=$2 architecture=$3 depends=$4 folder=$5
here=$(dirname "${BASH_SOURCE[0]}")
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 0755 "$root"

install -D -m 0755 "$program" "$root/usr/bin/card-payments"
# The unit of docs/operating.md, with a user to whom the data belongs, so that commands may run as that user.
install -d "$root/usr/lib/systemd/system"
sed -e 's|/usr/local/bin/|/usr/bin/|' -e 's|^DynamicUser=yes|User=card-payments|' -e '1d' \
    "$here/../../deploy/card-payments.service" >"$root/usr/lib/systemd/system/card-payments.service"
install -D -m 0644 "$here/../../LICENSE" "$root/usr/share/doc/card-payments/copyright"

completions() {
    install -d "$root/usr/share/$2"
    "$program" completions "$1" >"$root/usr/share/$2/$3"
}
completions bash bash-completion/completions card-payments
completions zsh zsh/vendor-completions _card-payments
completions fish fish/vendor_completions.d card-payments.fish

# The help of every command as one page of the manual.
help_of() {
    local text
    text=$("$program" help "$@")
    printf '.SH "%s"\n.nf\n' "card-payments${*:+ $*}"
    # A backslash, and a dot or an apostrophe at the beginning of a line, mean something to troff.
    sed -e 's/\\/\\e/g' -e "s/^[.']/\\\\\\&&/" <<<"$text"
    printf '.fi\n'
    sed -n '/^Commands:$/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p' <<<"$text" | grep -vx help | while read -r command; do
        help_of "$@" "$command"
    done || :
}
install -d "$root/usr/share/man/man1"
{
    printf '.TH CARD-PAYMENTS 1 "" "card-payments %s"\n.SH NAME\ncard-payments \\- card payments API server\n' "$version"
    help_of
} | gzip -9n >"$root/usr/share/man/man1/card-payments.1.gz"

install -d "$root/DEBIAN"
sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@DEPENDS@/${depends:+$depends, }/" \
    "$here/control" >"$root/DEBIAN/control"
install -m 0755 "$here/postinst" "$here/prerm" "$here/postrm" "$root/DEBIAN"
find "$root" -exec touch -h -d "@${SOURCE_DATE_EPOCH:-0}" {} +
dpkg-deb --build --root-owner-group -Zgzip "-z${COMPRESSION:-9}" "$root" "$folder/card-payments_${version}_$architecture.deb" >/dev/null
