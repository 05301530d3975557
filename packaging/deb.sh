#!/bin/sh
# Builds target/dist/weir_VERSION_ARCHITECTURE.deb: the program, its unit, user and configuration, its manual pages and what
# shells complete. What is in it stands in crates/cli/Cargo.toml, [package.metadata.deb].
set -eu
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-$PWD/target}
made=$PWD/target/packaged

cargo build --release --locked -p weir
rm -rf "$made"
mkdir -p "$made/man" target/dist
"$target/release/weir" man "$made/man"
for shell in bash zsh fish; do "$target/release/weir" completions $shell > "$made/$shell"; done
# The package has a user, whose folder others of this user must reach: it is not below /var/lib/private.
grep -qx 'DynamicUser=yes' packaging/weir.service
sed 's/^DynamicUser=yes$/DynamicUser=no/' packaging/weir.service > "$made/weir.service"
cargo deb --no-build --strip --manifest-path crates/cli/Cargo.toml --output target/dist
