// Builds the crate weir-figure for the pages: dist/figure.wasm.gz.b64, WebAssembly that is packed and written in base64.
// It needs Rust's target wasm32-unknown-unknown. Other compilers write other bytes, so that the file is not compared with a
// build: the tests in the browser compare what it draws with what the crate draws.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = fileURLToPath(new URL(".", import.meta.url));
const target = "wasm32-unknown-unknown";
execFileSync("cargo", ["build", "--release", "--locked", "--target", target, "--target-dir", "target"], {
  cwd: join(here, "figure"),
  stdio: "inherit",
  // Flags of the machine's own build are not for this one.
  env: { ...process.env, RUSTFLAGS: `--remap-path-prefix=${process.env.HOME ?? "/root"}=.`, CARGO_ENCODED_RUSTFLAGS: undefined },
});
const wasm = readFileSync(join(here, "figure/target", target, "release/weir_figure_page.wasm"));
const packed = gzipSync(wasm, { level: 9 }).toString("base64");
writeFileSync(join(here, "dist/figure.wasm.gz.b64"), `${packed}\n`);
console.log(`dist/figure.wasm.gz.b64  ${(wasm.length / 1000).toFixed(1)} kB, packed ${(packed.length / 1000).toFixed(1)} kB`);
