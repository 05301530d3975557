#!/bin/sh
# The peers of the interoperability tests, in the versions that are pinned beside this: python-ndn
# (requirements.txt), NDNts (ndnts/package-lock.json) and ndnd (ndnd/go.sum). What is there already stays.
# A peer whose tools are not installed here is left out, and the tests say so.
set -eu
cd "$(dirname "$0")"
peers=peers
mkdir -p $peers

# Whether $1 was made from what $2 says now.
made_from() { [ -e "$peers/$1" ] && cmp -s "$2" "$peers/$1.from"; }
missing() { echo "interop: $1 is not installed: $2 will be skipped" >&2; }

# Packages of the system that are missing.
wanted=
need() { command -v "$1" >/dev/null || wanted="$wanted $2"; }
need ip iproute2
need unshare util-linux
need python3 "python3 python3-venv"
need npm "nodejs npm"
need go golang-go
if [ -n "$wanted" ] && command -v apt-get >/dev/null; then
    as_root=
    [ "$(id -u)" = 0 ] || as_root=sudo
    $as_root apt-get update
    # shellcheck disable=SC2086 # a list
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $wanted
fi

if ! made_from python requirements.txt; then
    rm -rf $peers/python
    python3 -m venv $peers/python
    $peers/python/bin/pip install --quiet --disable-pip-version-check --no-deps -r requirements.txt
    cp requirements.txt $peers/python.from
fi

if ! command -v go >/dev/null; then
    missing go ndnd
elif ! made_from ndnd ndnd/go.sum; then
    (cd ndnd && go build -o ../$peers/ndnd github.com/named-data/ndnd/cmd/ndnd)
    cp ndnd/go.sum $peers/ndnd.from
fi

if ! command -v npm >/dev/null; then
    missing npm NDNts
elif ! made_from ndnts ndnts/package-lock.json; then
    # Its optional native code is not needed.
    (cd ndnts && npm ci --no-audit --no-fund --ignore-scripts --loglevel=error)
    touch $peers/ndnts
    cp ndnts/package-lock.json $peers/ndnts.from
fi
