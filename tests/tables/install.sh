#!/bin/sh
# polars and DuckDB, in the versions of requirements.txt, for the tests of the tables. What is there already stays.
set -eu
cd "$(dirname "$0")"
if ! cmp -s requirements.txt python/installed.txt; then
    rm -rf python
    python3 -m venv python
    python/bin/pip install --quiet --disable-pip-version-check --no-deps -r requirements.txt
    cp requirements.txt python/installed.txt
fi
