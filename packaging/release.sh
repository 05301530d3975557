#!/bin/sh
# Builds the release and puts what belongs to it into target/dist/weir-VERSION-TARGET.tar.gz: the program, its unit and
# configuration, licences, what SECURITY.md says, and a bill of materials (CycloneDX) of all that is linked into it.
set -eu
cd "$(dirname "$0")/.."
target=$(rustc -vV | sed -n 's/^host: //p')
version=$(cargo metadata --no-deps --format-version 1 | sed 's/.*"name":"weir","version":"\([^"]*\)".*/\1/')
name=weir-$version-$target
folder=target/dist/$name

cargo build --release --locked -p weir
# It writes beside the crate's manifest.
cargo cyclonedx --manifest-path crates/cli/Cargo.toml --all-features --target "$target" --format json --override-filename weir
rm -rf "$folder"
mkdir -p "$folder"
mv crates/cli/weir.json "$folder/weir.cdx.json"
find crates -maxdepth 2 -name weir.json -delete
cp "${CARGO_TARGET_DIR:-target}/release/weir" packaging/weir.service packaging/weir.toml README.md SECURITY.md LICENSE-MIT \
  LICENSE-APACHE "$folder"
tar -C target/dist --sort=name --owner=0 --group=0 --numeric-owner -czf "target/dist/$name.tar.gz" "$name"
(cd target/dist && sha256sum "$name.tar.gz" > "$name.tar.gz.sha256")
echo "target/dist/$name.tar.gz"
