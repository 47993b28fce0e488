#!/bin/sh
# A dev container runs this as root. It installs what the release's own installer needs, and runs that.
set -eu

if ! command -v curl >/dev/null && ! command -v wget >/dev/null; then
    if command -v apt-get >/dev/null; then
        apt-get update -q
        DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends ca-certificates curl
    elif command -v apk >/dev/null; then
        apk add --no-cache ca-certificates curl
    fi
fi
exec sh "$(dirname "$0")/card-payments.sh" --dir /usr/local/bin
