// The page of a run that is on, in a real browser, and a server that has newer and newer data. WEIR_SCREENSHOTS names a
// directory for pictures; test-tools.mjs names the other variables.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { launch, sample } from "../test-tools.mjs";

/** Steps measured of the whole run, of 0.1 s each. */
const STEPS = 400;
const WINDOWS = [
  [10, 20],
  [20, 40],
];
const REPORT = "out/dumbbell/report.html";

let scratch;
let html;
let whole;
let browser;

before(async () => {
  scratch = mkdtempSync(join(tmpdir(), "weir-live-"));
  html = readFileSync(join(dirname(sample(scratch, "8", String(STEPS))), "live.html"), "utf8");
  whole = JSON.parse(html.split('id="data">')[1].split("</script>")[0]);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  rmSync(scratch, { recursive: true, force: true });
});

/** A series up to a step, with some steps merged into one. */
function cut(column, steps, merged) {
  if (typeof column !== "string") return column;
  const bytes = Buffer.from(column, "base64");
  const values = Array.from({ length: steps }, (_, k) => bytes.readFloatLE(4 * k));
  const means = Array.from({ length: Math.ceil(steps / merged) }, (_, k) => {
    const some = values.slice(k * merged, (k + 1) * merged);
    return some.reduce((sum, value) => sum + value, 0) / some.length;
  });
  return Buffer.from(Float32Array.from(means).buffer).toString("base64");
}

/**
 * The data of the page when `steps` have been measured. With `losses` something is lost in each step, otherwise nothing. `rate` is
 * the part of the goodput at the end that the tables have, and `told` the number of expectations that can be told already.
 */
function data(steps, { merged = 1, losses = false, rate = 1, told = 0, is_over = false } = {}) {
  const page = structuredClone(whole);
  const { document } = page;
  const now_s = steps / 10;
  page.progress = { now_s, until_s: 40, is_over, report: REPORT };
  page.time = { step_s: 0.1 * merged, points: Math.ceil(steps / merged), merged };
  for (const columns of [...page.flows, ...page.classes, ...page.links]) {
    for (const name of Object.keys(columns)) {
      const isLoss = ["lost", "retransmitted", "drops"].includes(name);
      columns[name] = isLoss ? Number(losses) : cut(columns[name], steps, merged);
    }
  }
  const scale = (rows) => rows.map((row) => ({ ...row, goodput_bps: row.goodput_bps * rate }));
  const drops = (rows) => rows.map((row) => ({ ...row, drops: losses ? row.drops + 7 : 0 }));
  document.simulated_s = now_s;
  document.flows = scale(document.flows);
  document.classes = scale(document.classes);
  document.links = drops(document.links);
  const [own] = document.windows;
  document.windows = WINDOWS.filter(([from_s]) => from_s < now_s).map(([from_s, to_s]) => ({ ...own, from_s, to_s, links: drops(own.links) }));
  const parts = [null, ...document.windows];
  page.headlines = parts.map((_, i) => ({ ...page.headlines[0], sentence: `Sentence ${i} at ${now_s} s.` }));
  page.distributions = parts.map((_, i) => (i === 0 && steps > 50 ? page.distributions[0] : []));
  for (const { curves } of page.distributions[0]) for (const curve of curves) curve.count = steps;
  if (!is_over) [document.expectations, page.verdicts] = [document.expectations.slice(0, told), page.verdicts.slice(0, told)];
  return page;
}

/** Serves the page and its data, which `now` has. */
async function serve(now) {
  const held = [];
  const state = {
    asked: 0,
    get now() {
      return now;
    },
    /** Answers those that wait for later data. */
    set now(next) {
      now = next;
      for (const answer of held.splice(0)) answer();
    },
  };
  const server = createServer((request, answer) => {
    const { pathname, searchParams } = new URL(request.url, "http://localhost");
    const isData = pathname === "/data.json";
    if (isData) state.asked++;
    answer.setHeader("content-type", isData ? "application/json" : "text/html");
    const respond = () => {
      const json = JSON.stringify(now).replaceAll("<", "\\u003c");
      answer.end(isData ? json : html.replace(/(?<=id="data">).*?(?=<\/script>)/s, () => json));
    };
    const { now_s, is_over } = now.progress;
    if (pathname === "/favicon.ico") answer.writeHead(204).end();
    else if (isData && !is_over && now_s <= Number(searchParams.get("after"))) held.push(respond);
    else respond();
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  state.address = `http://127.0.0.1:${server.address().port}/`;
  state.stop = () => new Promise((done) => (server.close(done), server.closeAllConnections()));
  return state;
}

/** Opens the page of a run that is on, in which a second is short, and fails on any complaint that is not expected. */
async function open(first, steps, { expected = /^$/, ...options } = {}) {
  const server = await serve(first);
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme: "light", ...options });
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()) && !expected.test(message.text())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.addInitScript(() => {
    const { setTimeout } = window;
    window.pauses = [];
    window.setTimeout = (call, ms, ...rest) => {
      if (ms >= 1000) window.pauses.push(ms);
      return setTimeout(call, ms >= 1000 ? 10 : ms, ...rest);
    };
  });
  /** Waits until the page shows these data. */
  const show = async (next) => {
    server.now = next;
    const text = `${next.progress.now_s} of 40 s simulated`;
    await page.waitForFunction((text) => document.querySelector(".progress").textContent.includes(text), text);
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  };
  try {
    await page.goto(server.address);
    await page.waitForFunction(() => window.weirReport !== undefined);
    await steps({ page, server, show });
    assert.deepEqual(complaints, []);
  } finally {
    await context.close();
    await server.stop();
  }
}

/** Of each plot over time: its name, its steps, its range, its largest value, and a number of its own that no other plot ever has. */
const plots = (page) =>
  page.evaluate(() => {
    const own = (plot) => (plot.own ??= window.next = (window.next ?? 0) + 1);
    const all = [...window.weirReport.plots].filter(([name]) => !name.startsWith("distribution"));
    return all.map(([name, plot]) => ({ name, own: own(plot), points: plot.data[0].length, lengths: plot.data.map((one) => one.length), range: [plot.scales.x.min, plot.scales.x.max] }));
  });
const owns = (all) => all.map(({ name, own }) => `${name} ${own}`);

describe("the page of a run that is on", () => {
  test("grows in the same plots, and says how far the run is", () =>
    open(data(60), async ({ page, show }) => {
      const bar = page.getByRole("progressbar");
      const before = await plots(page);
      assert.equal(await bar.getAttribute("aria-valuenow"), "6");
      assert.equal(await page.locator(".progress").textContent(), "6 of 40 s simulatedrunning");
      assert.match(await page.locator(".sentence").textContent(), /^So far: Sentence 0/);
      for (const steps of [61, 75, 99]) {
        await show(data(steps));
        const now = await plots(page);
        assert.deepEqual(owns(now), owns(before));
        for (const { points, lengths, range } of now) {
          assert.deepEqual([...new Set(lengths)], [points]);
          assert.equal(points, steps);
          assert.deepEqual(range, [0, await page.evaluate(() => window.weirReport.range.end)]);
        }
        assert.equal(await bar.getAttribute("aria-valuenow"), String(steps / 10));
        assert.equal(await bar.getAttribute("aria-valuemax"), "40");
      }
      assert.ok((await page.locator("#board-classes caption").textContent()).endsWith("over 0 to 9.9 s"));
      assert.deepEqual(await page.evaluate(() => window.pauses), [], "the server says when to ask");
    }));

  test("keeps what the reader has chosen", () =>
    open(data(120), async ({ page, show }) => {
      await page.locator('[data-value="flows"]').click();
      await page.evaluate(() => window.weirReport.range.set(2, 8));
      await page.locator("#board-flows button.line").nth(1).click();
      await page.locator('[data-value="queue"]').click();
      await page.locator("#links-title ~ .tools select").selectOption("edge 0");
      await page.locator("#traffic .tools select").selectOption("class EF");
      await page.locator("#result select").selectOption("run");
      await page.locator("#flows thead button", { hasText: "goodput" }).click();
      await page.mouse.move(2, 2);
      await page.locator(".clock input").focus();
      await page.keyboard.press("Home");
      for (let i = 0; i < 40; i++) await page.keyboard.press("ArrowRight");
      const search = page.getByLabel("Filter flows");
      await search.fill("c1 ");
      await search.evaluate((input) => input.setSelectionRange(1, 2));
      await page.mouse.wheel(0, 700);
      await page.waitForTimeout(200);
      const chosen = () =>
        page.evaluate(() => ({
          hidden: [...document.querySelectorAll('button.line[aria-pressed="false"]')].map((button) => button.textContent),
          ranges: [...window.weirReport.plots].filter(([name]) => !name.startsWith("distribution")).map(([, plot]) => [plot.scales.x.min, plot.scales.x.max].join()),
          crosshair: document.querySelector("#board-links caption").textContent,
          clock: document.querySelector(".clock output").textContent,
          colours: document.querySelector('.network [aria-pressed="true"]').textContent,
          parts: [...document.querySelectorAll('[aria-label="Part of the run"]')].map((list) => list.value),
          links: [...document.querySelectorAll("#board-links button.line")].map((button) => button.textContent),
          flows: [...document.querySelectorAll("#board-flows button.line")].map((button) => button.textContent),
          sort: [...document.querySelectorAll("#flows th[aria-sort]")].map((head) => head.textContent + head.ariaSort),
          focus: [document.activeElement.getAttribute("aria-label"), document.activeElement.value, document.activeElement.selectionStart],
          scroll: window.scrollY,
        }));
      const before = await chosen();
      assert.deepEqual(before.hidden.length + before.links.length, 1 + 2);
      assert.match(before.crosshair, /^at 4.05 s$/);
      assert.ok(before.scroll > 100);
      for (const next of [data(150), data(190, { rate: 0.9 })]) {
        await show(next);
        assert.deepEqual(await chosen(), before);
      }
      // Longer steps, other units, and panels that there were not: the plots are others.
      await show(data(300, { merged: 2, losses: true, rate: 0.1 }));
      const after = await chosen();
      assert.match(after.crosshair, /^at 4.1 s$/);
      assert.ok(after.ranges.length > before.ranges.length);
      assert.deepEqual([...new Set(after.ranges)], [...new Set(before.ranges)]);
      const { crosshair, clock, ranges, ...same } = before;
      for (const [name, value] of Object.entries(same)) assert.deepEqual(after[name], value, name);
      assert.match(await page.locator("#board-flows h3").first().textContent(), /kb\/s$/);
      assert.match(await page.locator("#provenance").textContent(), /summarises 2 measured steps/);
    }));

  test("keeps the focus in a plot that is drawn anew", () =>
    open(data(60), async ({ page, show }) => {
      const focused = () => page.evaluate(() => [document.activeElement.dataset.panel, document.activeElement.dataset.line]);
      await page.locator("#board-classes .plot").nth(1).focus();
      await show(data(70, { losses: true }));
      assert.deepEqual(await focused(), ["delay", undefined]);
      await page.locator("#board-classes button.line").nth(2).focus();
      await show(data(80, { losses: true, rate: 0.001 }));
      assert.deepEqual(await focused(), [undefined, "AF1"]);
      assert.match(await page.locator("#board-classes h3").first().textContent(), /kb\/s$/);
    }));

  test("keeps the order of a table, and its focus", () =>
    open(data(60), async ({ page, show }) => {
      const head = page.locator("#flows thead th").filter({ hasText: "delay mean" });
      const button = head.locator("button");
      await button.click();
      await button.focus();
      const next = data(70);
      next.document.flows.forEach((row, i) => Object.assign(row, { completion_s: i, delay_ms: { ...row.delay_ms, mean: (i * 5) % 8 } }));
      await show(next);
      assert.equal(await head.getAttribute("aria-sort"), "descending");
      const cells = await page.locator("#flows tbody td:nth-child(5)").allTextContents();
      assert.deepEqual(cells, ["7.00", "6.00", "5.00", "4.00", "3.00", "2.00", "1.00", "0.00"]);
      assert.ok(await button.evaluate((button) => button === document.activeElement));
      assert.ok(await page.locator("#flows thead th").filter({ hasText: "completion" }).isVisible());
    }));

  test("has windows and sections from the time at which they begin", () =>
    open(data(0), async ({ page, show }) => {
      const titles = () => page.locator("main section h2").allTextContents();
      const parts = () => page.locator("#result option").allTextContents();
      assert.ok(!(await titles()).includes("Goodput, delay and loss"));
      assert.ok(await page.locator("#result select").isHidden());
      await show(data(40));
      assert.deepEqual((await titles()).slice(0, 3), ["Result", "Goodput, delay and loss", "Network and links"]);
      assert.ok(await page.evaluate(() => window.weirReport.network.edges().length > 0));
      await show(data(99));
      assert.ok((await titles()).includes("Distributions"));
      assert.deepEqual(await parts(), ["whole run"]);
      await show(data(150));
      assert.deepEqual(await parts(), ["whole run", "10 to 20 s"]);
      assert.equal(await page.locator("#result select").inputValue(), "run");
      await page.locator("#result select").selectOption("0");
      assert.match(await page.locator(".sentence").textContent(), /^So far: Sentence 1/);
      await show(data(250));
      assert.deepEqual(await parts(), ["whole run", "10 to 20 s", "20 to 40 s"]);
      assert.equal(await page.locator("#flows select").inputValue(), "0");
      assert.match(await page.locator(".sentence").textContent(), /^So far: Sentence 1/);
      assert.match(await page.locator("#traffic .marks").textContent(), /10 to 20 s; 20 to 40 s/);
      assert.ok(!(await titles()).includes("Expectations"));
      await show(data(260, { told: 3 }));
      const expectations = page.locator("#expectations");
      assert.match(await expectations.locator(".heading").textContent(), /\d of 3 holdso far$/);
      await expectations.locator("summary").click();
      await show(data(270, { told: 6 }));
      assert.equal(await expectations.locator("li:visible").count(), 6, "what was unfolded still is");
      assert.ok(await expectations.locator("summary").evaluate((summary) => summary === document.activeElement));
    }));

  test("shows the last data, and asks no more", () =>
    open(data(300), async ({ page, server, show }) => {
      const status = page.locator(".progress [role=status]");
      assert.equal(await status.textContent(), "running");
      await status.evaluate((status) => new MutationObserver(() => (window.announced = (window.announced ?? 0) + 1)).observe(status, { childList: true, characterData: true, subtree: true }));
      await show(data(350));
      await show(data(400, { is_over: true, losses: true }));
      assert.equal(await status.textContent(), `complete: the report is ${REPORT}`);
      assert.equal(await page.evaluate(() => window.announced), 1, "only a change is announced");
      assert.deepEqual((await page.locator("main section h2").allTextContents()).slice(0, 2), ["Result", "Expectations"]);
      assert.doesNotMatch(await page.locator(".sentence").textContent(), /So far/);
      assert.equal((await plots(page))[0].points, 400);
      const { asked } = server;
      await page.waitForTimeout(300);
      assert.equal(server.asked, asked);
    }));

  test("says first that the figures of a lab are doubtful", async () => {
    for (const doubts of [[], ["processes waited for a processor."]]) {
      const first = data(60);
      first.document.lab = { busy: 0.5, doubts };
      await open(first, async ({ page }) => {
        const list = page.getByRole("list", { name: "Doubts" });
        assert.equal(await list.isVisible(), doubts.length > 0);
        const said = doubts.map(() => "The results are not those of the network: processes waited for a processor.");
        assert.deepEqual(await list.locator("li").allTextContents(), said);
      });
    }
  });

  test("says that the run has ended or was stopped when nobody answers", () =>
    open(
      data(300),
      async ({ page, server, show }) => {
        await show(data(310));
        await server.stop();
        await page.waitForFunction(() => document.querySelector(".progress [role=status]").textContent !== "running");
        const said = await page.locator(".progress [role=status]").textContent();
        assert.equal(said, `The run has ended or was stopped. If it ended, its report is ${REPORT}.`);
        const pauses = await page.evaluate(() => window.pauses.length);
        await page.waitForTimeout(200);
        assert.equal(await page.evaluate(() => window.pauses.length), pauses);
      },
      { expected: /Failed to load resource/ },
    ));

  test("may ask only its server", async () => {
    const other = await serve(data(60));
    try {
      await open(
        data(60),
        async ({ page, server }) => {
          const refused = await page.evaluate(async (other) => {
            const refused = [];
            document.addEventListener("securitypolicyviolation", ({ effectiveDirective }) => refused.push(effectiveDirective));
            await fetch(`${other}data.json`).then(
              () => refused.push("nothing"),
              () => {},
            );
            const script = document.createElement("script");
            script.textContent = "window.broken = 1";
            document.body.append(script);
            for (const [tag, name] of [["img", "src"], ["iframe", "src"], ["script", "src"]]) {
              const element = document.createElement(tag);
              element[name] = `${location.origin}/x`;
              document.body.append(element);
            }
            await new Promise((done) => setTimeout(done, 100));
            return refused;
          }, other.address);
          assert.deepEqual(refused.sort(), ["connect-src", "frame-src", "img-src", "script-src-elem", "script-src-elem"]);
          assert.equal(await page.evaluate(() => window.broken), undefined);
          assert.equal(other.asked, 0);
          assert.ok(server.asked > 0);
        },
        { expected: /Content Security Policy/ },
      );
    } finally {
      await other.stop();
    }
  });

  test("leaves nothing behind as it grows", () =>
    open(data(210), async ({ page, show }) => {
      await page.locator('[data-value="flows"]').click();
      const session = await page.context().newCDPSession(page);
      await session.send("Performance.enable");
      const left = async () => {
        await session.send("HeapProfiler.collectGarbage");
        const { metrics } = await session.send("Performance.getMetrics");
        return {
          listeners: metrics.find(({ name }) => name === "JSEventListeners").value,
          elements: await page.evaluate(() => document.querySelectorAll("*").length),
          followers: await page.evaluate(() => window.weirReport.range.listeners.length),
          plots: await page.evaluate(() => window.weirReport.plots.size),
        };
      };
      await show(data(209, { rate: 0.001 }));
      await show(data(211));
      const before = await left();
      // Every tenth time, units change, and plots are drawn anew.
      for (let i = 2; i <= 51; i++) await show(data(210 + i, { rate: i % 10 === 0 ? 0.001 : 1 }));
      assert.deepEqual(await left(), before);
    }));

  test("fits a phone, in both themes", async () => {
    for (const [width, colorScheme] of [[1400, "light"], [1400, "dark"], [400, "light"], [400, "dark"]]) {
      await open(
        data(60),
        async ({ page, show }) => {
          await show(data(250, { losses: true }));
          assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth), 0);
          if (process.env.WEIR_SCREENSHOTS) {
            await page.screenshot({ path: join(process.env.WEIR_SCREENSHOTS, `live-${width}-${colorScheme}.png`), fullPage: true });
          }
        },
        { viewport: { width, height: 900 }, colorScheme },
      );
    }
  });
});
