#!/bin/sh
# Makes everything of a release in target/dist and says how to tag it:
#
#   weir-VERSION-TARGET.tar.gz   for each of TARGETS: a static program, its unit and configuration, and a bill of materials
#                                (CycloneDX) of all that is linked into it
#   ndn_weir-VERSION-….whl       the Python package, for each architecture
#   weir_VERSION-1_ARCH.deb      the Debian package of this architecture
#   Containerfile, container.toml  a container of the Debian package
#   SHA256SUMS
#
# It stops if the tree has changes, or if CHANGELOG.md or CITATION.cff do not name the version. DRAFT=1 only warns.
# Zig, from its Python package, is the C compiler and linker for all targets, so no cross compiler is needed.
set -eu
cd "$(dirname "$0")/.."
TARGETS=${TARGETS:-x86_64-unknown-linux-musl aarch64-unknown-linux-musl}
build=${CARGO_TARGET_DIR:-$PWD/target}
dist=$PWD/target/dist
version=$(cargo metadata --no-deps --format-version 1 | sed 's/.*"name":"weir","version":"\([^"]*\)".*/\1/')

doubt() {
  echo "release: $*" >&2
  [ -n "${DRAFT:-}" ] || exit 1
}
[ -z "$(git status --porcelain --untracked-files=no)" ] || doubt "the tree has changes: commit them first"
grep -q "^## $version\$" CHANGELOG.md || doubt "CHANGELOG.md has no section '## $version'"
grep -q "^version: $version\$" CITATION.cff || doubt "CITATION.cff does not name version $version"

# The tools, with pinned major versions, outside of the system.
python3 -m venv "$build/release-env"
"$build/release-env/bin/pip" install --quiet --disable-pip-version-check 'cargo-zigbuild>=0.20,<1' 'maturin>=1.9,<2' 'ziglang>=0.13,<1'
PATH=$build/release-env/bin:$PATH
command -v cargo-cyclonedx > /dev/null || cargo install --locked cargo-cyclonedx
command -v cargo-deb > /dev/null || cargo install --locked cargo-deb
# A wheel is for the C library of the system.
wheels=$(echo "$TARGETS" | sed 's/musl/gnu/g')
# shellcheck disable=SC2086 # lists
rustup target add $TARGETS $wheels
# Without line numbers a program is a fifth as long. The names of functions stay, for backtraces.
export CARGO_PROFILE_RELEASE_STRIP=debuginfo

rm -rf "$dist"
mkdir -p "$dist"
for target in $TARGETS; do
  name=weir-$version-$target
  folder=$dist/$name
  mkdir -p "$folder"
  cargo zigbuild --release --locked --target "$target" -p weir
  # It writes beside the manifest of each crate.
  cargo cyclonedx --manifest-path crates/cli/Cargo.toml --all-features --target "$target" --format json --override-filename weir
  mv crates/cli/weir.json "$folder/weir.cdx.json"
  find crates -maxdepth 2 -name weir.json -delete
  cp "$build/$target/release/weir" packaging/weir.service packaging/weir.toml README.md CHANGELOG.md SECURITY.md CITATION.cff \
    LICENSE-MIT LICENSE-APACHE "$folder"
  tar -C "$dist" --sort=name --mtime="@$(git log -1 --format=%ct)" --owner=0 --group=0 --numeric-owner -czf "$dist/$name.tar.gz" "$name"
  rm -rf "$folder"
  # The extension of Python is a shared library, so it takes the C library of the system: an old one.
  maturin build --release --zig --compatibility manylinux2014 --target "$(echo "$target" | sed 's/musl/gnu/')" --out "$dist"
done
sh packaging/deb.sh
# There it stands beside what it copies.
sed "s|target/dist/weir_|weir_|; s|packaging/||g; s|\`make deb\`, then|in this folder:|" packaging/Containerfile > "$dist/Containerfile"
cp packaging/container.toml "$dist"
(cd "$dist" && find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%f\n' | sort | xargs sha256sum > SHA256SUMS && cat SHA256SUMS)
echo "Everything is in target/dist. To tag it: git tag --annotate v$version --message 'Weir $version'"
