// What the tests in test/ share. WEIR_SAMPLE_REPORT names the built example that makes synthetic reports; without it, cargo
// builds it. CHROMIUM names the browser.

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

export const root = fileURLToPath(new URL("..", import.meta.url));

/** Writes the files of a synthetic report into a directory, and says where its page is. */
export function sample(dir, ...options) {
  const built = process.env.WEIR_SAMPLE_REPORT;
  const [command, ...before] = existsSync(built ?? "")
    ? [built]
    : ["cargo", "run", "-q", "-p", "weir-results", "--example", "sample_report", "--"];
  execFileSync(command, [...before, dir, ...options], { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  return join(dir, "report.html");
}

export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}
