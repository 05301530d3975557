// Builds the bundle into dist/, or with --check compares what is there with what would be built.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const dist = join(here, "dist");

// The licences of what is bundled ask to go with it.
const notice = (name) => {
  const licence = readFileSync(join(here, "node_modules", name, "LICENSE"), "utf8");
  return `/*! Contains ${name}:\n\n${licence.replace(/\r/g, "").trim()}\n*/`;
};
const containing = (...names) => ({
  js: names.map(notice).join("\n"),
  css: "/*! Contains uplot, whose licence is in the script. */",
});

const built = new Map();
for (const [name, entry, banner] of [
  ["report", "src/main.ts", containing("uplot", "cytoscape")],
  ["compare", "src/compare.ts", containing("uplot")],
  ["sweep", "src/sweep.ts", containing("uplot")],
  ["summary", "src/summary.ts", {}],
  ["status", "src/status.ts", {}],
]) {
  const { outputFiles } = await build({
    absWorkingDir: here,
    entryPoints: { [name]: entry },
    outdir: dist,
    bundle: true,
    minify: true,
    format: "iife",
    target: ["es2022"],
    charset: "ascii",
    legalComments: "inline",
    banner,
    define: { "process.env.NODE_ENV": '"production"' },
    write: false,
  });
  for (const file of outputFiles) built.set(file.path.slice(dist.length + 1), file.text);
  // The page's content security policy admits the script by this.
  const digest = createHash("sha256").update(built.get(`${name}.js`)).digest("base64");
  built.set(`${name}.js.sha256`, `${digest}\n`);
}

if (process.argv.includes("--check")) {
  const read = (name) => {
    try {
      return readFileSync(join(dist, name), "utf8");
    } catch {
      return undefined;
    }
  };
  const stale = [...built].filter(([name, text]) => read(name) !== text).map(([name]) => name);
  if (stale.length > 0) {
    console.error(`web/dist is not what the sources build (${stale.join(", ")}): run \`npm run build\` in web/`);
    process.exit(1);
  }
} else {
  mkdirSync(dist, { recursive: true });
  for (const [name, text] of built) {
    writeFileSync(join(dist, name), text);
    console.log(`dist/${name}  ${(text.length / 1000).toFixed(1)} kB`);
  }
}
