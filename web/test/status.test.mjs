// The status page of a running forwarder in a real browser. WEIR names the command. CHROMIUM names the browser.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { launch } from "../test-tools.mjs";

const weir = process.env.WEIR ?? fileURLToPath(new URL("../../target/release/weir", import.meta.url));
const children = [];
let scratch;
let browser;
let address;
let forwarder;
let env;

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

async function until(what, is, seconds = 20) {
  const end = Date.now() + 1000 * seconds;
  while (!(await is())) {
    assert.ok(Date.now() < end, `waited ${seconds} s for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function start(...args) {
  const child = spawn(weir, args, { env, stdio: "ignore" });
  children.push(child);
  return child;
}

before(async () => {
  scratch = mkdtempSync(join(tmpdir(), "weir-status-"));
  const socket = join(scratch, "nfd.sock");
  const port = await freePort();
  address = `http://127.0.0.1:${port}`;
  env = { ...process.env, NDN_CLIENT_TRANSPORT: `unix://${socket}` };
  const config = join(scratch, "weir.toml");
  writeFileSync(
    config,
    `[faces.unix]\npath = "${socket}"\n[faces.udp]\nlisten = "127.0.0.1:0"\n[faces.tcp]\nlisten = []\n[metrics]\nlisten = "127.0.0.1:${port}"\n`,
  );
  forwarder = start("forward", "--config", config);
  await until("the forwarder", () => fetch(`${address}/metrics`).then((answer) => answer.ok, () => false));
  writeFileSync(join(scratch, "file"), Buffer.alloc(200_000, 7));
  start("put", "/status/file", join(scratch, "file"));
  await until("the publisher", () => {
    try {
      execFileSync(weir, ["get", "/status/file", "--class", "EF", "-o", join(scratch, "got")], { env, stdio: "ignore", timeout: 10_000 });
      return true;
    } catch {
      return false;
    }
  });
  browser = await launch();
});

after(async () => {
  for (const child of children) child.kill("SIGKILL");
  await browser?.close();
  rmSync(scratch, { recursive: true, force: true });
});

test("the status page shows classes, faces and routes, refreshes itself, and says when the forwarder is gone", async () => {
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(address);
  await page.locator("#classes tbody tr").first().waitFor();
  assert.match(await page.locator("#classes tbody").innerText(), /EF/);
  assert.match(await page.locator("#faces tbody").innerText(), /up/);
  assert.match(await page.locator("#routes tbody").innerText(), /\/status\/file/);
  // The second reading has rates.
  await until("rates", async () => /b\/s in and/.test(await page.locator(".verdict").innerText()));
  for (const width of [1400, 400]) {
    await page.setViewportSize({ width, height: 900 });
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.equal(overflow, 0, `the page is wider than ${width} px`);
    for (const dark of [false, true]) {
      if ((await page.locator("html").getAttribute("data-theme")) !== (dark ? "dark" : "light")) await page.click("#theme");
      if (process.env.WEIR_SCREENSHOTS) {
        await page.screenshot({ path: join(process.env.WEIR_SCREENSHOTS, `status-${width}-${dark ? "dark" : "light"}.png`), fullPage: true });
      }
    }
  }
  forwarder.kill("SIGKILL");
  await until("the message", async () => /does not answer/.test(await page.locator(".verdict").innerText()));
  assert.deepEqual(errors.filter((error) => !/fetch/.test(error)), []);
  await page.close();
});
