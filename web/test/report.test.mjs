// The pages in a real browser. WEIR_REPORT names a report.html to open; without it a synthetic
// one is made. test-tools.mjs names the other variables.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { launch, sample as writeSample } from "../test-tools.mjs";

const HOSTILE = "</script><script>window.broken = 1</script><img src=x onerror='window.broken = 2'>\"&<!--";

let scratch;
let report;
let hostile;
let empty;
let crowd;
let many;
let summaries;
let browser;

const sample = (name, ...options) => writeSample(join(scratch, name), ...options);

before(async () => {
  scratch = mkdtempSync(join(tmpdir(), "weir-report-"));
  report = process.env.WEIR_REPORT ?? sample("plain", "40", "1200");
  hostile = sample("hostile", "4", "50", HOSTILE);
  empty = sample("empty", "0", "0");
  // As many nodes and flows as `examples/random-200` has, and more than a page shows.
  crowd = sample("crowd", "1000", "50", "A crowd", "200");
  many = sample("many", "2500", "100", "A country", "3000");
  summaries = dirname(sample("summaries", "8", "400"));
  browser = await launch();
});

after(async () => {
  await browser?.close();
  if (scratch) rmSync(scratch, { recursive: true, force: true });
});

/** Opens a page, runs the steps, and fails on any complaint or request of the page. */
async function open(steps, { file = report, ready = () => window.weirReport !== undefined, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme: "light", ...options });
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => {
    if (!/^(file|data|blob):/.test(request.url())) complaints.push(`request to ${request.url()}`);
  });
  try {
    await page.goto(pathToFileURL(file).href);
    await page.waitForFunction(ready);
    await steps(page);
    assert.deepEqual(complaints, []);
  } finally {
    await context.close();
  }
}

/** How many pixels of each plot of the page are coloured, not grey. */
function colouredPixels(page, board) {
  return page.evaluate((board) => {
    const counts = {};
    for (const [name, plot] of window.weirReport.plots) {
      if (!name.startsWith(`${board}.`)) continue;
      const { width, height } = plot.ctx.canvas;
      // Read from a copy, so that the page's own canvas stays what it is.
      const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
      copy.drawImage(plot.ctx.canvas, 0, 0);
      const { data } = copy.getImageData(0, 0, width, height);
      let n = 0;
      for (let i = 0; i < data.length; i += 4) {
        const [r, g, b, a] = data.subarray(i, i + 4);
        if (a > 128 && Math.max(r, g, b) - Math.min(r, g, b) > 30) n++;
      }
      counts[name] = n;
    }
    return counts;
  }, board);
}

/** The board of traffic that is shown first. */
function firstBoard(page) {
  return page.evaluate(() => (document.getElementById("board-classes").hidden ? "flows" : "classes"));
}

/** What a function has of each plot over time; distributions are over values. */
function overTime(page, of) {
  const plots = `[...window.weirReport.plots].filter(([name]) => !name.startsWith("distribution")).map(([, plot]) => plot)`;
  return page.evaluate(`${plots}.map(${of})`);
}

function ranges(page) {
  return overTime(page, (plot) => [plot.scales.x.min, plot.scales.x.max]);
}

/** Lets the plots draw what was asked of them. */
function settle(page) {
  return page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

async function middleOf(page, board, plot = 0) {
  const over = page.locator(`#board-${board} .u-over`).nth(plot);
  await over.scrollIntoViewIfNeeded();
  return over.boundingBox();
}

describe("the report", () => {
  test("draws every plot", () =>
    open(async (page) => {
      for (const board of [await firstBoard(page), "links"]) {
        const counts = await colouredPixels(page, board);
        assert.ok(Object.keys(counts).length >= 2, `${board} has plots`);
        for (const [name, n] of Object.entries(counts)) assert.ok(n > 200, `${name} is blank (${n} pixels)`);
      }
    }));

  test("hides a line when its legend is pressed, and shows it again", () =>
    open(async (page) => {
      const board = await firstBoard(page);
      const before = await colouredPixels(page, board);
      const button = page.locator(`#board-${board} button.line`).first();
      await button.click();
      assert.equal(await button.getAttribute("aria-pressed"), "false");
      await page.mouse.move(2, 2);
      await settle(page);
      const hidden = await colouredPixels(page, board);
      assert.ok(hidden[`${board}.goodput`] < before[`${board}.goodput`]);
      const shown = await page.evaluate(
        (board) => window.weirReport.plots.get(`${board}.goodput`).series.map((series) => series.show),
        board,
      );
      assert.equal(shown[1], false);
      await button.click();
      await page.mouse.move(2, 2);
      await settle(page);
      assert.deepEqual(await colouredPixels(page, board), before);
    }));

  test("zooms all plots by dragging in one, and back by a double click", () =>
    open(async (page) => {
      const board = await firstBoard(page);
      const whole = await ranges(page);
      const box = await middleOf(page, board);
      await page.mouse.move(box.x + box.width * 0.25, box.y + box.height / 2);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * 0.5, box.y + box.height / 2, { steps: 8 });
      await page.mouse.up();
      await settle(page);
      const zoomed = await ranges(page);
      const end = whole[0][1];
      for (const [from, to] of zoomed) {
        assert.ok(Math.abs(from - end * 0.25) < end * 0.02 && Math.abs(to - end * 0.5) < end * 0.02, `${from} to ${to}`);
      }
      assert.ok(await page.locator("button.reset").first().isEnabled());
      await page.mouse.dblclick(box.x + box.width * 0.5, box.y + box.height / 2);
      await settle(page);
      assert.deepEqual(await ranges(page), whole);
    }));

  test("reads values under the crosshair, which all plots share", () =>
    open(async (page) => {
      const board = await firstBoard(page);
      const caption = page.locator(`#board-${board} caption`);
      assert.match(await caption.textContent(), /^mean/);
      const box = await middleOf(page, board);
      await page.mouse.move(box.x + box.width * 0.6, box.y + box.height / 2);
      await settle(page);
      assert.match(await caption.textContent(), /^at [\d.]+ s$/);
      const indices = await overTime(page, (plot) => plot.cursor.idx);
      assert.equal(new Set(indices).size, 1);
      assert.match(await page.locator("#board-links caption").textContent(), /^at [\d.]+ s$/);
    }));

  test("gives the mean delay of the tables beside the plots", () =>
    open(async (page) => {
      const cells = (selector, column) =>
        page.locator(`${selector} tbody tr`).evaluateAll(
          (rows, column) => rows.map((row) => [row.querySelector("th").innerText.trim().split(/\s/)[0], Number(row.cells[column].innerText)]),
          column,
        );
      const board = await firstBoard(page);
      if (board !== "classes") return;
      const part = page.getByLabel("Part of the run").first();
      if ((await part.count()) > 0) await part.selectOption("run");
      const table = new Map(await cells("#classes", 2));
      const legend = await cells("#board-classes .readings", 2);
      assert.equal(legend.length, table.size);
      for (const [name, mean] of legend) {
        const stated = table.get(name);
        assert.ok(Math.abs(mean / stated - 1) < 0.005, `${name}: ${mean} beside the plot, ${stated} in the table`);
      }
    }));

  test("says that there is more to scroll only where there is", () =>
    open(
      async (page) => {
        for (const box of await page.locator(".readings").all()) {
          if (!(await box.isVisible())) continue;
          const [more, hidden] = await box.evaluate((box) => [box.querySelector(".box"), box.querySelector(".more").hidden].map((one) => (one === true || one === false ? one : one.scrollHeight - one.clientHeight > 2)));
          assert.ok(more || hidden, "it hints at nothing");
        }
      },
      { viewport: { width: 1000, height: 760 } },
    ));

  test("leads with the result over the measuring window, failures before what holds", () =>
    open(
      async (page) => {
        const order = await page.locator("main section h2").allTextContents();
        assert.deepEqual(order.slice(0, 3), ["Result", "Expectations", "Goodput, delay and loss"]);
        const { headlines, document: run } = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent));
        const last = headlines.at(-1);
        assert.equal(await page.locator(".sentence").textContent(), last.sentence);
        assert.deepEqual(await page.locator(".five dt").allTextContents(), last.figures.map(({ name }) => name));
        assert.equal(await page.locator("#expectations li:visible").count(), run.expectations.filter(({ holds }) => holds === false).length);
        await page.locator("#expectations summary").click();
        assert.equal(await page.locator("#expectations li:visible").count(), run.expectations.length);
        const caption = page.locator("#board-classes caption");
        const { from_s, to_s } = run.windows.at(-1);
        assert.ok((await caption.textContent()).endsWith(`over ${from_s} to ${to_s} s`));
        await page.locator("#result select").selectOption("run");
        assert.equal(await page.locator(".sentence").textContent(), headlines[0].sentence);
        assert.ok((await caption.textContent()).endsWith(`over 0 to ${run.simulated_s} s`));
        assert.equal(await page.locator("#flows select").first().inputValue(), "run", "one choice for the whole page");
        assert.match(await page.locator("#traffic .marks").textContent(), new RegExp(run.changes[0].what));
      },
      { file: join(summaries, "report.html") },
    ));

  test("colours the network by use, queue or drops at the time of the crosshair", () =>
    open(
      async (page) => {
        const colours = () => page.evaluate(() => window.weirReport.network.edges().map((edge) => edge.style("line-color")));
        const mean = await colours();
        const box = await middleOf(page, "classes");
        await page.mouse.move(box.x + 2, box.y + box.height / 2);
        await settle(page);
        assert.notDeepEqual(await colours(), mean);
        assert.match(await page.locator(".clock output").textContent(), /^[\d.]+ s$/);
        await page.mouse.move(2, 2);
        await settle(page);
        assert.deepEqual(await colours(), mean);
        // From the keyboard: the slider moves the crosshair of all plots.
        await page.locator(".clock input").focus();
        await page.keyboard.press("End");
        await settle(page);
        assert.match(await page.locator("#board-links caption").textContent(), /^at 39.95/);
        await page.locator('[data-value="queue"]').click();
        const queues = await colours();
        await page.locator(".clock button").click();
        await settle(page);
        assert.notDeepEqual(await colours(), queues);
        assert.equal(await page.locator(".clock output").textContent(), "mean");
      },
      { file: join(summaries, "report.html") },
    ));

  test("saves a plot as it is shown: the range, and the lines that are not hidden", () =>
    open(
      async (page) => {
        await page.evaluate(() => window.weirReport.range.set(30, 40));
        await page.locator("#board-classes button.line").first().click();
        const saved = async (place, format) => {
          const [download] = await Promise.all([page.waitForEvent("download"), place.getByRole("button", { name: format }).click()]);
          return [download.suggestedFilename(), readFileSync(await download.path())];
        };
        const figure = page.locator("#board-classes figure").first();
        const [name, csv] = await saved(figure, "CSV");
        assert.equal(name, "qsccp-dumbbell-qsccp-classes-goodput.csv");
        const text = csv.toString();
        assert.ok(!/(^|,)EF(,|$)/m.test(text) && /(^|,)BE(,|$)/m.test(text), text.slice(0, 400));
        assert.ok(!/(^|,)(2[0-8]|4[2-9])\.\d*,/m.test(text), "no values outside the range");
        assert.match((await saved(figure, "SVG"))[1].toString(), /^<svg/);
        assert.match((await saved(page.locator(".network"), "PDF"))[1].subarray(0, 5).toString(), /^%PDF-/);
        for (const plot of await page.locator(".stack figure:visible, #distributions figure").all()) {
          assert.deepEqual(await plot.locator(".save button").allTextContents(), ["SVG", "PDF", "CSV"]);
        }
      },
      { file: join(summaries, "report.html"), acceptDownloads: true },
    ));

  test("draws files as the crate does, byte for byte", () =>
    open(
      async (page) => {
        for (const name of ["series", "bars", "scatter", "network"]) {
          const of = (extension) => readFileSync(join(summaries, "figures", `${name}.${extension}`));
          for (const format of ["SVG", "PDF", "CSV"]) {
            const drawn = await page.evaluate(
              async ([json, format]) => [...(await window.weirReport.file(JSON.parse(json), format))],
              [of("json").toString(), format],
            );
            const same = Buffer.from(drawn).equals(of(format.toLowerCase()));
            assert.ok(same, `${name} as ${format} differs: run \`npm run build-figure\` in web/`);
          }
        }
      },
      { file: join(summaries, "report.html") },
    ));

  test("works from the keyboard", () =>
    open(async (page) => {
      const board = await firstBoard(page);
      const caption = page.locator(`#board-${board} caption`);
      const whole = await ranges(page);
      await page.locator(`#board-${board} .plot`).first().focus();
      await page.keyboard.press("ArrowRight");
      const first = await caption.textContent();
      await page.keyboard.press("ArrowRight");
      const second = await caption.textContent();
      assert.equal(await page.locator("#board-links caption").textContent(), second, "the plots share the crosshair");
      assert.match(first, /^at/);
      assert.notEqual(first, second);
      await page.keyboard.press("+");
      await settle(page);
      const [from, to] = (await ranges(page))[0];
      assert.ok(Math.abs(to - from - (whole[0][1] - whole[0][0]) / 2) < 1);
      await page.keyboard.press("Escape");
      await settle(page);
      assert.deepEqual(await ranges(page), whole);
      await page.locator(`#board-${board} button.line`).first().focus();
      await page.keyboard.press("Space");
      assert.equal(await page.locator(`#board-${board} button.line`).first().getAttribute("aria-pressed"), "false");
    }));

  test("switches from light to dark and back", () =>
    open(async (page) => {
      const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      const axis = () => page.evaluate(() => [...window.weirReport.plots.values()][0].ctx.canvas.toDataURL());
      const [light, lightPlot] = [await ground(), await axis()];
      await page.locator("#theme").click();
      await settle(page);
      assert.notEqual(await ground(), light);
      assert.notEqual(await axis(), lightPlot);
      await page.locator("#theme").click();
      await settle(page);
      assert.equal(await ground(), light);
      assert.equal(await axis(), lightPlot);
    }));

  test("takes the theme that the reader prefers", () =>
    open(
      async (page) => {
        assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
      },
      { colorScheme: "dark" },
    ));

  test("has every node and link, and plots the link that is clicked", () =>
    open(async (page) => {
      const network = await page.evaluate(() => {
        const data = JSON.parse(document.getElementById("data").textContent);
        const cy = window.weirReport.network;
        const places = cy.nodes().map((node) => node.renderedPosition());
        return {
          nodes: [cy.nodes().length, data.nodes.length],
          edges: [cy.edges().length, data.edges.length],
          width: cy.width(),
          places,
          // An end where no node is near, for the click.
          edge: cy.edges().map((edge) => ({ ...edge.renderedMidpoint(), name: `${edge.source().data("name")} – ${edge.target().data("name")}` }))[0],
        };
      });
      assert.equal(...network.nodes);
      assert.equal(...network.edges);
      for (const { x } of network.places) assert.ok(x > 0 && x < network.width);
      const graph = page.locator(".graph");
      await graph.scrollIntoViewIfNeeded();
      await settle(page);
      const box = await graph.boundingBox();
      await page.mouse.move(box.x + 4, box.y + 4);
      await page.mouse.move(box.x + network.edge.x, box.y + network.edge.y);
      await page.locator(".tip").waitFor({ state: "visible" });
      assert.ok((await page.locator(".tip").textContent()).includes(network.edge.name));
      await page.mouse.click(box.x + network.edge.x, box.y + network.edge.y);
      await page.waitForFunction(() => document.querySelectorAll("#board-links button.line").length === 2);
      const chosen = await page.locator("#links select").evaluate((list) => list.selectedOptions[0].textContent);
      assert.equal(chosen, network.edge.name);
    }));

  test("draws a shared medium as one thing with its stations, and plots them when it is clicked", () =>
    open(
      async (page) => {
        const drawn = await page.evaluate(() => {
          const cy = window.weirReport.network;
          const medium = cy.getElementById("m0");
          return {
            name: medium.data("name"),
            place: medium.renderedPosition(),
            stations: medium.connectedEdges().connectedNodes("[role]").map((node) => node.data("name")).sort(),
            lines: [cy.edges(".link").length, cy.edges(".air").length],
            pairs: cy.edges().filter((edge) => edge.source().data("role") === "consumer" && edge.target().data("name") === "R1").length,
          };
        });
        assert.deepEqual(
          [drawn.name, drawn.stations, drawn.lines, drawn.pairs],
          ["wifi", ["C1", "C2", "C3", "C4", "R1"], [7, 5], 0],
        );
        assert.match(await page.locator(".graph").getAttribute("aria-label"), /12 nodes, 7 links, 1 shared media/);
        const graph = page.locator(".graph");
        await graph.scrollIntoViewIfNeeded();
        await settle(page);
        const box = await graph.boundingBox();
        await page.mouse.move(box.x + 4, box.y + 4);
        await page.mouse.move(box.x + drawn.place.x, box.y + drawn.place.y);
        await page.locator(".tip").waitFor({ state: "visible" });
        assert.match(await page.locator(".tip").textContent(), /^wifi: 5 stations, 24 Mb\/s, frames on the air for [\d.]+ % of the time/);
        await page.mouse.click(box.x + drawn.place.x, box.y + drawn.place.y);
        await page.waitForFunction(() => document.querySelectorAll("#board-links button.line").length === 8);
        const chosen = await page.locator("#links select").evaluate((list) => list.selectedOptions[0].textContent);
        assert.equal(chosen, "wifi, all stations");
      },
      { file: join(summaries, "air", "report.html") },
    ));

  test("sorts its tables", () =>
    open(async (page) => {
      const head = page.locator("#flows thead th").filter({ hasText: "goodput" });
      const order = () =>
        page.evaluate(() => {
          const scale = { "b/s": 1, "kb/s": 1e3, "Mb/s": 1e6, "Gb/s": 1e9 };
          return [...document.querySelectorAll("#flows tbody td:nth-child(4)")].map((cell) => {
            const [number, unit] = cell.textContent.split(" ");
            return Number(number) * scale[unit];
          });
        });
      await head.locator("button").click();
      assert.equal(await head.getAttribute("aria-sort"), "descending");
      const down = await order();
      assert.deepEqual(down, [...down].sort((a, b) => b - a));
      await head.locator("button").click();
      assert.equal(await head.getAttribute("aria-sort"), "ascending");
      assert.deepEqual(await order(), down.reverse());
    }));

  test("says of each flow in a window what the optimum has, and the part of it that it got", () =>
    open(
      async (page) => {
        const heads = () => page.locator("#flows thead th").allTextContents();
        const part = page.locator('#flows select[aria-label="Part of the run"]');
        assert.equal(await part.inputValue(), "0", "the measuring window comes first");
        await part.selectOption("run");
        assert.ok(!(await heads()).some((text) => text.includes("optimum")), "the whole run has no optimum");
        await part.selectOption("0");
        assert.deepEqual((await heads()).slice(3, 6), ["goodput", "optimum", "of optimum%"]);
        const { flows, optimum } = await page.evaluate(
          () => JSON.parse(document.getElementById("data").textContent).document.windows[0],
        );
        assert.equal(optimum.flows.length, flows.length);
        const cells = await page.locator("#flows tbody tr").evaluateAll((rows) =>
          rows.map((row) => [...row.children].slice(4, 6).map((cell) => cell.textContent)),
        );
        const scale = { "b/s": 1, "kb/s": 1e3, "Mb/s": 1e6, "Gb/s": 1e9 };
        flows.forEach((flow, i) => {
          const best = optimum.flows[i].goodput_bps;
          const [number, unit] = cells[i][0].split(" ");
          assert.ok(Math.abs(Number(number) * scale[unit] - best) < 1e-3 * best, `${cells[i][0]} for ${best}`);
          assert.equal(cells[i][1], ((100 * flow.goodput_bps) / best).toFixed(1));
        });
      },
      { file: join(summaries, "report.html") },
    ));

  test("draws single flows, chosen or sought", () =>
    open(async (page) => {
      await page.locator('[data-value="flows"]').click();
      assert.ok(await page.locator("#board-flows").isVisible());
      assert.ok(await page.locator("#board-classes").isHidden());
      await settle(page);
      assert.ok((await colouredPixels(page, "flows"))["flows.goodput"] > 200);
      const prefix = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent).document.flows[0].prefix);
      await page.locator('#traffic input[type="search"]').fill(prefix);
      const names = await page.locator("#board-flows button.line > span").allTextContents();
      assert.ok(names.length > 0 && names.every((name) => name.includes(prefix)));
    }));

  test("fits a phone", () =>
    open(
      async (page) => {
        const wide = () => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        assert.equal(await wide(), 0);
        await page.locator('[data-value="flows"]').click();
        await settle(page);
        assert.equal(await wide(), 0);
        const widths = await page.evaluate(() => [...window.weirReport.plots.values()].map((plot) => plot.width));
        for (const width of widths) assert.ok(width <= 390, `a plot is ${width} wide`);
      },
      { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true },
    ));

  test("stays short and narrow with hundreds of nodes and lists as long", async () => {
    for (const [file, width, most] of [[crowd, 1280, 6500], [crowd, 390, 9000], [many, 1280, 6000]]) {
      await open(
        async (page) => {
          const size = await page.evaluate(() => ({
            height: document.documentElement.scrollHeight,
            sideways: document.documentElement.scrollWidth - window.innerWidth,
            cells: [...document.querySelectorAll("dl.provenance > *")].map((cell) => cell.getBoundingClientRect()),
            right: document.getElementById("provenance").getBoundingClientRect().right,
          }));
          assert.ok(size.height < most, `${size.height} px high at ${width}`);
          assert.equal(size.sideways, 0);
          assert.ok(size.cells.length > 10 && size.cells.length < 100, `${size.cells.length} cells`);
          for (const cell of size.cells) {
            assert.ok(cell.height < 130 && cell.width > 100 && cell.right <= size.right, JSON.stringify(cell));
          }
          const text = await page.locator("dl.provenance").textContent();
          assert.match(text, /flow\.EF\.consumer = \d+ names: n\d+, n\d+, n\d+, …/);
        },
        { file, viewport: { width, height: 844 } },
      );
    }
  });

  test("says what it does not draw of a network that is too large, and shows the rest", () =>
    open(
      async (page) => {
        assert.equal(await page.evaluate(() => window.weirReport.network), null);
        assert.match(await page.locator("#links .none").first().textContent(), /3\u202f000 nodes and 5\u202f998 links, too many/);
        assert.match(await page.locator("#flows .more").textContent(), /1\u202f000 of 2\u202f500 flows are in this page/);
        assert.ok((await colouredPixels(page, "links"))["links.utilisation"] > 200);
        await page.locator('[data-value="flows"]').click();
        await settle(page);
        assert.ok((await colouredPixels(page, "flows"))["flows.goodput"] > 200);
        for (const option of await page.locator('#traffic select option').evaluateAll((all) => all.map((one) => one.value))) {
          await page.locator("#traffic select").selectOption(option);
          assert.ok((await page.locator("#board-flows button.line").count()) > 0, option);
        }
      },
      { file: many },
    ));

  test("names nodes of a crowd only where they are asked for, and has a sign for both roles", () =>
    open(
      async (page) => {
        const named = () =>
          page.evaluate(() => window.weirReport.network.nodes().filter((node) => Number(node.style("text-opacity")) > 0).length);
        assert.equal(await named(), 0);
        const place = await page.evaluate(() => window.weirReport.network.nodes()[0].renderedPosition());
        const graph = page.locator(".graph");
        await graph.scrollIntoViewIfNeeded();
        const box = await graph.boundingBox();
        await page.mouse.move(box.x + 2, box.y + 2);
        await page.mouse.move(box.x + place.x, box.y + place.y);
        await page.locator(".tip").waitFor({ state: "visible" });
        assert.ok((await named()) >= 1 && (await named()) < 5);
        assert.match(await page.locator(".tip").textContent(), /n0.*consumer and producer/);
        await page.locator(".zoom button").first().click();
        await page.locator(".zoom button").first().click();
        assert.equal(await named(), 200);
        assert.match(await page.locator(".legend").textContent(), /consumer and producer/);
      },
      { file: crowd },
    ));

  test("says what was set, and says nothing where nothing was", async () => {
    await open(
      async (page) => {
        const set = await page.locator("header .set code").allTextContents();
        assert.deepEqual(set, ["--set generate.nodes=200", "--set generate.flows.count=1000"]);
      },
      { file: crowd },
    );
    await open(async (page) => assert.equal(await page.locator("header .set").count(), 0));
  });

  test("tells the statements of a paper from others, and a bound from a value", () =>
    open(async (page) => {
      const kinds = await page.locator("h3.kind").allTextContents();
      assert.ok(kinds[0].startsWith("Stated by the paper"), kinds.join());
      const bounds = await page.locator(".verdicts li").filter({ hasText: /[≤≥]/ }).allTextContents();
      assert.ok(bounds.length > 0);
      for (const text of bounds) assert.ok(!text.includes("%"), text);
    }));

  test("hints at what a box has beyond its edges", () =>
    open(
      async (page) => {
        assert.match(await page.locator("#flows .more").textContent(), /^\d+ of 40 rows in view: scroll/);
        const box = page.locator("#flows .scroll");
        const marks = () => box.evaluate((box) => [box.hasAttribute("data-more-right"), box.hasAttribute("data-more-below")]);
        assert.deepEqual(await marks(), [true, true]);
        await box.evaluate((box) => box.scrollTo(box.scrollWidth, box.scrollHeight));
        await settle(page);
        assert.deepEqual(await marks(), [false, false]);
      },
      { viewport: { width: 600, height: 844 } },
    ));

  test("does not move when a link is clicked whose plots are in view", () =>
    open(
      async (page) => {
        const edge = await page.evaluate(() => window.weirReport.network.edges()[0].renderedMidpoint());
        await page.locator(".graph").evaluate((graph) => graph.scrollIntoView({ block: "center" }));
        await settle(page);
        const box = await page.locator(".graph").boundingBox();
        const before = await page.evaluate(() => window.scrollY);
        await page.mouse.move(box.x + 4, box.y + 4);
        await page.mouse.click(box.x + edge.x, box.y + edge.y);
        await page.waitForFunction(() => document.querySelectorAll("#board-links button.line").length === 2);
        await page.waitForTimeout(400);
        assert.equal(await page.evaluate(() => window.scrollY), before);
      },
      { viewport: { width: 1280, height: 760 } },
    ));

  test("says times no finer than the steps are", () =>
    open(async (page) => {
      const board = await firstBoard(page);
      await page.evaluate(() => window.weirReport.range.set(5.9483, 23.9652));
      await settle(page);
      const step = await page.evaluate(() => window.weirReport.range.step);
      const [, from, to] = (await page.locator(`#board-${board} caption`).textContent()).match(/over ([\d.]+) to ([\d.]+) s$/);
      for (const [said, asked] of [[from, 5.9483], [to, 23.9652]]) {
        assert.ok(Math.abs(said - asked) <= step, said);
        assert.ok(Math.abs(said / step - Math.round(said / step)) < 1e-6, `${said} is a multiple of ${step}`);
      }
    }));

  test("follows the width of the window", () =>
    open(async (page) => {
      const width = () => page.evaluate(() => [...window.weirReport.plots.values()][0].width);
      const before = await width();
      await page.setViewportSize({ width: 1040, height: 800 });
      await page.waitForFunction((before) => [...window.weirReport.plots.values()][0].width < before, before);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth), 0);
    }));

  test("prints on white, in the width of the paper", () =>
    open(
      async (page) => {
        // Made while the page is dark; the events of printing make it light for as long.
        assert.ok((await page.pdf({ format: "A4" })).length > 10_000);
        assert.ok(await page.locator("img.paper").evaluate((image) => image.src.startsWith("data:image/png")));
        assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
      },
      { colorScheme: "dark" },
    ));

  test("opens for a run without flows and without time", () =>
    open(
      async (page) => {
        assert.ok((await page.locator("h1").textContent()).length > 0);
        assert.equal(await page.locator("#flows tbody tr").count(), 0);
      },
      { file: empty },
    ));

  test("shows a hostile title as text", () =>
    open(
      async (page) => {
        assert.equal(await page.locator("h1").textContent(), HOSTILE);
        assert.ok((await page.title()).startsWith(HOSTILE));
        assert.equal(await page.evaluate(() => window.broken), undefined);
        assert.equal(await page.locator('img[src="x"]').count(), 0);
      },
      { file: hostile },
    ));
});

describe("pages over many runs", () => {
  const PAGES = ["compare", "reproduce"];
  const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };

  /** Opens one of them; it is ready when its script has run. */
  const openPage = (name, steps, { dir = summaries, ...options } = {}) =>
    open(steps, { file: join(dir, `${name}.html`), ready: () => document.getElementById("theme") !== null, ...options });

  test("switch their theme, and take the one that the reader prefers", async () => {
    for (const name of PAGES) {
      await openPage(
        name,
        async (page) => {
          const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
          const dark = await ground();
          assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
          await page.locator("#theme").click();
          assert.notEqual(await ground(), dark);
          await page.locator("#theme").click();
          assert.equal(await ground(), dark);
        },
        { colorScheme: "dark" },
      );
    }
  });

  test("are read without a script, too", async () => {
    for (const name of PAGES) {
      const tables = (page) => page.locator("table.figures, table.statements").allTextContents();
      let scripted;
      await openPage(name, async (page) => (scripted = await tables(page)));
      await openPage(name, async (page) => assert.deepEqual(await tables(page), scripted), {
        javaScriptEnabled: false,
        ready: () => true,
      });
      assert.ok(scripted.length >= 3);
    }
  });

  test("fit a phone", async () => {
    for (const name of PAGES) {
      await openPage(
        name,
        async (page) => assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth), 0),
        PHONE,
      );
    }
  });

  test("a statement is a card on a phone, each number under its name", () =>
    openPage(
      "reproduce",
      async (page) => {
        const cards = await page.locator(".statements tbody tr").evaluateAll((rows) =>
          rows.map((row) => {
            const about = row.querySelector("th").getBoundingClientRect();
            const cells = [...row.querySelectorAll("td")];
            return {
              width: about.width / row.getBoundingClientRect().width,
              below: cells.every((cell) => cell.getBoundingClientRect().top >= about.bottom),
              named: cells.every((cell) => getComputedStyle(cell, "::before").content === JSON.stringify(cell.dataset.label)),
            };
          }),
        );
        assert.ok(cards.length > 10);
        for (const card of cards) assert.ok(card.width > 0.9 && card.below && card.named, JSON.stringify(card));
      },
      PHONE,
    ));

  test("plot a class or a flow under all schemes, and the flows under each", () =>
    openPage("compare", async (page) => {
      const plotted = () =>
        page.evaluate(() =>
          [...window.weirCompare.plots].map(([name, plot]) => [name, plot.data.length - 1, plot.data[1].filter((v) => v !== null).length]),
        );
      const schemes = JSON.parse(readFileSync(join(summaries, "compare.json"), "utf8")).schemes.map((row) => row.scheme);
      const before = await plotted();
      for (const panel of ["goodput", "delay"]) {
        const [, lines, points] = before.find(([name]) => name === `schemes.${panel}`);
        assert.equal(lines, schemes.length);
        assert.ok(points >= 50 && points <= 100, `${points} points: one seed's finest steps are spikes`);
        for (const scheme of schemes) assert.equal(before.find(([name]) => name === `flows-${scheme}.${panel}`)[1], 8);
      }
      const first = () => page.evaluate(() => window.weirCompare.plots.get("schemes.goodput").data[1].at(-2));
      const ofClass = await first();
      await page.getByLabel("Class or flow to plot").selectOption({ index: 5 });
      assert.notEqual(await first(), ofClass);
      assert.deepEqual(await page.locator("#board-schemes .readings tbody th").allInnerTexts(), schemes);
      const steps = () => page.evaluate(() => window.weirCompare.plots.get("schemes.goodput").data[0].length);
      assert.match(await page.locator("#board-schemes caption").textContent(), /over 0 to 40 s$/);
      const [few, lost] = [await steps(), await page.evaluate(() => window.weirCompare.plots.get("schemes.lost")?.data[2].reduce((a, b) => a + b))];
      await page.getByLabel("Length of a step").selectOption({ index: 0 });
      assert.equal(await steps(), 400);
      assert.match(await page.locator("#board-schemes caption").textContent(), /over 0 to 40 s$/);
      assert.ok(few < 400);
      assert.equal(await page.evaluate(() => window.weirCompare.plots.get("schemes.lost")?.data[2].reduce((a, b) => a + b)), lost);
    }));

  test("a comparison answers first: a sentence a figure, the matrix, and what was run over time last", () =>
    openPage("compare", async (page) => {
      const document_ = JSON.parse(readFileSync(join(summaries, "compare.json"), "utf8"));
      const order = await page.locator("main section h2").allTextContents();
      assert.deepEqual(order.slice(0, 4), ["Which scheme is better", "What each scheme trades", "Figure by figure", "Distributions"]);
      assert.match(order.at(-2), /^Over time, seed 1$/);
      const { all } = document_.periods.at(-1);
      const matrix = page.locator(".contest:visible");
      assert.equal(await matrix.count(), 1);
      assert.deepEqual(await matrix.locator("tbody th").allTextContents(), all.map(({ scheme }) => scheme));
      assert.match(await matrix.locator("thead").textContent(), /weighted Jain.*different outcomes/);
      assert.match(await page.locator(".answer:visible li").nth(1).textContent(), /^Goodput: best qsccp, [\d.]+ Mb\/s; then fixed \([\d.]+ Mb\/s, \d+ % less\)\.$/);
      await page.getByRole("button", { name: "Whole run" }).click();
      assert.match(await page.locator(".period:visible h3").textContent(), /^Whole run/);
    }));

  test("draw each seed, intervals and ellipses, and say the values in words", () =>
    openPage("compare", async (page) => {
      const { periods, seeds, schemes } = JSON.parse(readFileSync(join(summaries, "compare.json"), "utf8"));
      const goodput = page.locator("#bars svg").first();
      await goodput.waitFor();
      assert.equal(await goodput.locator(".bar").count(), schemes.length);
      assert.equal(await goodput.locator(".seed").count(), schemes.length * seeds.length);
      assert.equal(await goodput.locator(".interval").count(), schemes.length);
      const said = (periods.at(-1).all[0].goodput_bps.measured.mean / 1e6).toPrecision(4);
      assert.ok((await goodput.getAttribute("aria-label")).includes(`qsccp ${said} ±`), await goodput.getAttribute("aria-label"));
      assert.equal(await page.locator("#against ellipse").count(), schemes.length);
      await page.getByLabel("Figure to the right").selectOption("lost");
      assert.match(await page.locator("#against svg").getAttribute("aria-label"), /^Goodput over Data lost: /);
      assert.equal(await page.locator("#bars figure").count(), await page.locator("#bars .save").count());
      assert.equal(await page.locator("#against .save button").count(), 3);
    }));

  test("a reproduction is short: contents, failures, and experiments that a link opens", () =>
    openPage("reproduce", async (page) => {
      const { experiments } = JSON.parse(readFileSync(join(summaries, "reproduce.json"), "utf8"));
      assert.deepEqual((await page.locator("main section h2").allTextContents()).slice(0, 2), ["By paper", "What does not hold"]);
      assert.equal(await page.locator("details.fold").count(), experiments.length);
      assert.equal(await page.locator("details.fold[open]").count(), 0);
      const link = page.locator("#contents a").first();
      const at = (await link.getAttribute("href")).slice(1);
      await link.click();
      await page.waitForFunction((at) => document.querySelector(`#${at} > details`).open, at);
      assert.ok(await page.locator(`#${at} .statements`).first().isVisible());
    }));

  test("a scheme stays in view beside its figures", () =>
    openPage(
      "compare",
      async (page) => {
        const box = page.locator(".scroll:has(table.figures:not(.contest))").first();
        const lefts = () =>
          box.evaluate((box) => [...box.querySelectorAll("tbody tr:first-child > *")].map((cell) => cell.getBoundingClientRect().left));
        const before = await lefts();
        await box.evaluate((box) => box.scrollTo(150, 0));
        const after = await lefts();
        for (const at of [0, 1]) assert.ok(Math.abs(after[at] - before[at]) < 12, `${after[at]} was ${before[at]}`);
        assert.ok(before[2] - after[2] > 140);
      },
      PHONE,
    ));

  test("mark every statement that does not hold, as the document does", () =>
    openPage("reproduce", async (page) => {
      const { experiments } = JSON.parse(readFileSync(join(summaries, "reproduce.json"), "utf8"));
      const statements = experiments.flatMap(({ cases }) => cases.flatMap((one) => one.statements));
      const count = async (selector) => page.locator(`.statements ${selector}`).count();
      const failing = statements.filter(({ holds }) => !holds).length;
      // Of several experiments what fails is gathered once more in a table of its own.
      const gathered = experiments.length > 1 ? failing : 0;
      assert.equal(await count("tbody tr"), statements.length + gathered);
      assert.equal(await count("tr.holds"), statements.filter(({ holds }) => holds).length);
      assert.equal(await count("tr.fails"), failing + gathered);
      assert.ok((await count("tr.holds")) > 0 && (await count("tr.fails")) > 0);
      for (const text of await page.locator(".statements tr.fails .mark").allTextContents()) assert.match(text, /^✗ \d of 3$/);
    }));

  test("say what each figure would be in the optimum, and how far each window is from it", () =>
    openPage("reproduce", async (page) => {
      const { experiments } = JSON.parse(readFileSync(join(summaries, "reproduce.json"), "utf8"));
      const cases = experiments.flatMap(({ cases }) => cases);
      const known = cases.flatMap(({ statements }) => statements).filter(({ optimum }) => optimum !== null);
      const shown = await page.locator('section[id^="of-"] .statements td[data-label="optimum"]').allTextContents();
      assert.ok(known.length > 0 && shown.filter((text) => /^[\d.]+ [kM]b\/s$/.test(text)).length === known.length, shown.join());
      const far = page.locator(".figures").filter({ has: page.locator("th", { hasText: "flows within 5 %" }) });
      assert.equal(await far.count(), experiments.length);
      assert.equal(await far.locator("tbody tr").count(), cases.flatMap(({ optimum }) => optimum.windows).length);
      assert.equal(await far.locator("tbody td").last().textContent(), "50 %");
    }));

  test("lead to the report of a run", async () => {
    for (const name of PAGES) {
      await openPage(name, async (page) => {
        await page.evaluate(() => document.querySelectorAll("details").forEach((fold) => (fold.open = true)));
        await page.locator('.runs a[href$="report.html"]').first().click();
        await page.waitForFunction(() => window.weirReport !== undefined);
        assert.match(page.url(), /report\.html$/);
      });
    }
  });

  test("show a hostile title as text", async () => {
    for (const name of PAGES) {
      await openPage(
        name,
        async (page) => {
          assert.ok((await page.locator("main").textContent()).includes(HOSTILE));
          assert.equal(await page.evaluate(() => window.broken), undefined);
          assert.equal(await page.locator('img[src="x"]').count(), 0);
        },
        { dir: dirname(hostile) },
      );
    }
  });
});

describe("the matrix", () => {
  const PHONE = { viewport: { width: 375, height: 812 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };
  const openPage = (name, steps, { dir = join(summaries, "matrix"), ...options } = {}) =>
    open(steps, { file: join(dir, `${name}.html`), ready: () => document.getElementById("theme") !== null, ...options });
  const document_ = () => JSON.parse(readFileSync(join(summaries, "matrix", "compare.json"), "utf8"));
  const KEYS = { share: "share", jain: "jain", "class-jain": "jain_in_class", delay: "delay_over_propagation", lost: "lost", settle: "settle_s" };
  // A figure that no scheme has has no table.
  const known = () => {
    const rows = document_().scenarios.flatMap((scenario) => scenario.matrix);
    return Object.entries(KEYS).filter(([, name]) => rows.some((row) => row[name].measured !== null));
  };

  test("shows one figure at a time, a number in each cell as the document has it", () =>
    openPage("compare", async (page) => {
      const { schemes, scenarios, without_classes } = document_();
      const shown = () => page.locator(".measure:visible").evaluateAll((tables) => tables.map((table) => table.dataset.measure));
      assert.deepEqual(await shown(), ["share"]);
      for (const [at, [key, name]] of known().entries()) {
        await page.locator("#measures button").nth(at).click();
        assert.deepEqual(await shown(), [key]);
        const cells = await page.locator(`[data-measure="${key}"] tbody tr`).evaluateAll((rows) =>
          rows.map((row) => [row.querySelector("th").textContent, ...[...row.querySelectorAll("td:not(.sum)")].map((cell) => cell.textContent)]),
        );
        const marked = schemes.map((scheme) => (without_classes.includes(scheme) ? `${scheme}°` : scheme));
        assert.deepEqual(cells.map(([scheme]) => scheme.replace("°", "")), schemes);
        // Weighted figures say of each scheme whether it knows classes.
        if (key === "share") assert.deepEqual(cells.map(([scheme]) => scheme), marked);
        for (const [scheme, ...row] of cells) {
          assert.equal(row.length, scenarios.length);
          for (const [at, text] of row.entries()) {
            const { measured } = scenarios[at].matrix.find((one) => one.scheme === scheme.replace("°", ""))[name];
            if (measured === null) assert.equal(text, "–");
            else if (key === "share") assert.equal(text, (100 * measured.mean).toFixed(0));
            else if (key === "jain" || key === "class-jain") assert.equal(text, measured.mean.toFixed(2));
            else assert.match(text, /^[\d.<]+$/);
          }
        }
      }
    }));

  test("says of a cell what its number is: interval, the worst point, or why there is none", () =>
    openPage("compare", async (page) => {
      const detail = page.locator("#detail");
      const cell = (row, column) => page.locator(`.measure:visible tbody tr:nth-child(${row}) td:nth-child(${column})`);
      await cell(2, 4).hover();
      assert.match(await detail.textContent(), /^fixed° on one\/swept: weighted share of the optimum [\d.]+ ± [\d.]+ %$/);
      await cell(2, 6).locator("a").focus();
      assert.equal(await detail.textContent(), "fixed° on two/lossy: weighted share of the optimum not known: it cannot run here: it knows no loss");
    }));

  test("leads with what it shows, and to the pages of schemes and scenarios and back", () =>
    openPage("compare", async (page) => {
      const order = await page.locator("main section h2").allTextContents();
      assert.deepEqual(order, ["What it shows", "Schemes by scenarios"]);
      assert.match(await page.locator(".answer li").first().textContent(), /^Weighted share of the optimum: of \d scenarios the best, or as good: /);
      await page.locator(".measure:visible td:not(.sum) a").first().click();
      await page.waitForURL(/scenario-one-swept\.html$/);
      assert.equal(await page.locator("h1").textContent(), "one/swept");
      await page.locator("tbody th a").first().click();
      await page.waitForURL(/scheme-qsccp\.html$/);
      await page.locator(".runs a").first().click();
      await page.waitForURL(/compare\.html$/);
    }));

  test("can be told from its numbers alone and read in both themes", async () => {
    for (const colorScheme of ["light", "dark"]) {
      await openPage(
        "compare",
        async (page) => {
          // WCAG's contrast of each number with what is behind it.
          const contrasts = await page.locator(".measure:visible td:not(.sum)").evaluateAll((cells) => {
            const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
            const luminance = (colour) => {
              canvas.fillStyle = getComputedStyle(document.body).backgroundColor;
              canvas.fillRect(0, 0, 1, 1);
              canvas.fillStyle = colour;
              canvas.fillRect(0, 0, 1, 1);
              const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((c) => ((c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
              return 0.2126 * r + 0.7152 * g + 0.0722 * b;
            };
            const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            const levels = [0, 1, 2, 3, 4, 5, 6, 7, 8].map((level) => {
              cells[0].className = `q${level}`;
              const style = getComputedStyle(cells[0]);
              return contrast(luminance(style.color), luminance(style.backgroundColor));
            });
            return levels;
          });
          for (const contrast of contrasts) assert.ok(contrast >= 4.5, `${colorScheme}: ${contrasts}`);
        },
        { colorScheme },
      );
    }
  });

  test("has all of its figures without a script", () =>
    openPage("compare", async (page) => assert.equal(await page.locator(".matrix:visible").count(), known().length), {
      javaScriptEnabled: false,
      ready: () => true,
    }));

  test("fits a phone, with its pages", async () => {
    for (const name of ["compare", "scheme-qsccp", "scenario-one-swept"]) {
      await openPage(
        name,
        async (page) => assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth), 0),
        PHONE,
      );
    }
  });

  test("shows a hostile title as text", () =>
    openPage(
      "scenario-one-swept",
      async (page) => {
        assert.ok((await page.locator("main").textContent()).includes(HOSTILE));
        assert.equal(await page.evaluate(() => window.broken), undefined);
      },
      { dir: join(dirname(hostile), "matrix") },
    ));
});

describe("the page of a sweep", () => {
  const PHONE = { viewport: { width: 375, height: 812 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };
  const openPage = (steps, { dir = summaries, ready = () => window.weirSweep !== undefined, ...options } = {}) =>
    open(steps, { file: join(dir, "sweep.html"), ready, ...options });
  const document_ = () => JSON.parse(readFileSync(join(summaries, "sweep.json"), "utf8"));
  const choose = (page, label, option) => page.getByLabel(label, { exact: true }).selectOption({ label: option });
  /** Of each plot its points along the axis, and for each scheme the means and the ends of the intervals. */
  const plotted = (page) =>
    page.evaluate(() =>
      Object.fromEntries(
        [...window.weirSweep.plots].map(([name, { data }]) => {
          const [x, ...columns] = data.map((column) => [...column]);
          return [name, { x, lines: columns.filter((_, i) => i % 3 === 0), highs: columns.filter((_, i) => i % 3 === 1) }];
        }),
      ),
    );
  const near = (a, b) => assert.ok(Math.abs(a - b) <= 1e-9 * Math.abs(b), `${a} is not ${b}`);

  test("has a curve a scheme over the axis, with intervals, and a plot for each value of the other axis", () =>
    openPage(async (page) => {
      const { axes, schemes, rows } = document_();
      const plots = await plotted(page);
      assert.deepEqual(Object.keys(plots), axes[1].values.map((value) => `${axes[1].name} = ${value}`));
      let intervals = 0;
      for (const [name, { x, lines, highs }] of Object.entries(plots)) {
        assert.deepEqual(x, axes[0].positions);
        for (const [i, scheme] of schemes.entries()) {
          for (const [k, value] of axes[0].values.entries()) {
            const row = rows.find((row) => row.scheme === scheme && row.values[0] === value && name.endsWith(`= ${row.values[1]}`));
            const goodput = row.periods.at(-1)?.all.goodput_bps;
            if (!goodput) {
              assert.equal(lines[i][k], null, "a scheme that cannot run has no point");
              continue;
            }
            near(lines[i][k] * 1e6, goodput.mean);
            near(highs[i][k] * 1e6, goodput.mean + goodput.ci95);
            intervals += goodput.distinct > 1 ? 1 : 0;
            if (goodput.distinct === 1) assert.equal(highs[i][k], lines[i][k]);
          }
        }
      }
      assert.ok(intervals > 10);
    }));

  test("draws what is chosen: figure, class, part, axis, value of the other axis", () =>
    openPage(async (page) => {
      const { axes, rows } = document_();
      const first = async () => Object.values(await plotted(page))[0].lines[0][0];
      await choose(page, "Figure to plot", "Delay, mean");
      near(await first(), rows[0].periods.at(-1).all.delay_ms.mean.mean);
      await choose(page, "Flows or link", "class BE");
      near(await first(), rows[0].periods.at(-1).classes.find(({ name }) => name === "BE").delay_ms.mean.mean);
      await choose(page, "Part of the run", "Whole run");
      near(await first(), rows[0].periods[0].classes.find(({ name }) => name === "BE").delay_ms.mean.mean);
      await choose(page, "Axis of the plots", `over ${axes[1].name}`);
      assert.equal(Object.keys(await plotted(page)).length, axes[0].values.length);
      await choose(page, `Value of ${axes[0].name}`, `${axes[0].name} = 10 Mb/s`);
      const plots = await plotted(page);
      assert.deepEqual(Object.keys(plots), [`${axes[0].name} = 10 Mb/s`]);
      assert.deepEqual(Object.values(plots)[0].x, axes[1].positions);
      await choose(page, "Figure to plot", "Utilisation of a link");
      assert.match(await page.locator("#figures caption").textContent(), /^Utilisation of a link, .* → .*, whole run$/);
    }));

  test("saves each plot", () =>
    openPage(
      async (page) => {
        const plots = page.locator("#sweep figure");
        assert.equal(await page.locator("#sweep figure .save").count(), await plots.count());
        const [download] = await Promise.all([page.waitForEvent("download"), plots.first().getByRole("button", { name: "CSV" }).click()]);
        assert.match(readFileSync(await download.path(), "utf8"), /qsccp/);
      },
      { acceptDownloads: true },
    ));

  test("scales the axis and the values by factors", () =>
    openPage(async (page) => {
      const scales = () =>
        page.evaluate(() => [...window.weirSweep.plots.values()].map(({ scales: { x, y } }) => [x.distr, y.distr, y.min]));
      // The rates grow by factors.
      for (const [x, y, low] of await scales()) assert.deepEqual([x, y, low], [3, 1, 0]);
      await page.getByRole("button", { name: "x linear" }).click();
      await page.getByRole("button", { name: "y log" }).click();
      for (const [x, y, low] of await scales()) assert.ok(x === 1 && y === 3 && low > 0);
      await choose(page, "Figure to plot", "Delay, mean");
      await page.getByRole("button", { name: "y fitted" }).click();
      for (const [x, y, low] of await scales()) assert.ok(x === 1 && y === 1 && low > 0);
      // What can be zero has no factors.
      await choose(page, "Figure to plot", "Data lost");
      assert.equal(await page.getByRole("button", { name: "y log" }).count(), 0);
    }));

  test("reads values by keys, and hides a scheme", () =>
    openPage(async (page) => {
      const plot = page.locator(".plot").first();
      await plot.focus();
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("ArrowRight");
      assert.equal(await page.locator(".reading").textContent(), "link.R2-R3.rate = 5 Mb/s, link.R2-R3.delay = 5 ms");
      const texts = await page.locator(".schemes small").allTextContents();
      assert.match(texts[0], /^[\d.]+ ± [\d.]+ Mb\/s$/);
      assert.match(texts[2], /^[\d.]+ Mb\/s$/, "no ± where all seeds agree");
      await page.keyboard.press("Escape");
      assert.match(await page.locator(".reading").textContent(), /^Point at a plot/);
      await page.locator(".schemes button").first().click();
      assert.equal(await page.locator(".schemes button").first().getAttribute("aria-pressed"), "false");
      assert.deepEqual(
        await page.evaluate(() => [...window.weirSweep.plots.values()].map(({ series }) => [series[1].show, series[4].show])),
        [[false, true], [false, true]],
      );
    }));

  test("over names, schemes stand beside each other, and long names are shortened", () => {
    const dir = join(scratch, "names");
    mkdirSync(dir);
    const names = ["drop-tail", "codel", "a queue with a name that has no room under its points", "pie", "red"];
    const text = readFileSync(join(summaries, "sweep.html"), "utf8");
    const changed = text.replace(/(id="data">)(.*?)(<\/script>)/s, (_, before, json, after) => {
      const data = JSON.parse(json);
      data.axes[0] = { name: "queue", unit: null, values: names, positions: [] };
      return before + JSON.stringify(data).replaceAll("<", "\\u003c") + after;
    });
    writeFileSync(join(dir, "sweep.html"), changed);
    return openPage(
      async (page) => {
        const { x, lines } = Object.values(await plotted(page))[0];
        assert.equal(new Set(x).size, 5 * 3);
        for (const [i, line] of lines.entries()) {
          for (const [k, value] of line.entries()) assert.ok(k % 3 === i || value === null, "each scheme has its own places");
        }
        const under = await page.evaluate(() => {
          const plot = [...window.weirSweep.plots.values()][0];
          return plot.axes[0].values(plot);
        });
        assert.deepEqual([under[0], under[4]], ["drop-tail", "red"]);
        assert.match(under[2], /^a queue.*…$/);
        await page.locator(".plot").first().focus();
        for (const name of names) {
          await page.keyboard.press("ArrowRight");
          assert.ok((await page.locator(".reading").textContent()).startsWith(`queue = ${name}, `));
        }
      },
      { dir },
    );
  });

  test("tabulates what is plotted, with the number of distinct values, and says why a value is missing", () =>
    openPage(async (page) => {
      const { rows } = document_();
      const cells = await page.locator("#figures tbody tr").evaluateAll((rows) =>
        rows.map((row) => [...row.children].map((cell) => cell.textContent)),
      );
      assert.equal(cells.length, rows.length);
      for (const [i, [rate, delay, scheme, mean, seeds, distinct, note]] of cells.entries()) {
        assert.deepEqual([rate, delay, scheme], [...rows[i].values, rows[i].scheme]);
        const goodput = rows[i].periods.at(-1)?.all.goodput_bps;
        assert.deepEqual([seeds, distinct], goodput ? [String(goodput.n), String(goodput.distinct)] : ["–", "–"]);
        assert.equal(mean.includes("±"), goodput !== undefined && goodput.distinct > 1, mean);
        assert.equal(note, rows[i].left_out ? `cannot run here: ${rows[i].left_out}` : rows[i].failure ? `failed in 1 of 5 runs: ${rows[i].failure}` : "");
      }
      await page.locator("#figures thead button", { hasText: "distinct" }).click();
      assert.equal(await page.locator("#figures tbody tr").first().locator("td").nth(4).textContent(), "5");
    }));

  test("has its tables without a script", async () => {
    const tables = (page) => page.locator("table.figures").allInnerTexts();
    let scripted;
    await openPage(async (page) => (scripted = await tables(page)));
    await openPage(async (page) => assert.deepEqual(await tables(page), scripted), { javaScriptEnabled: false, ready: () => true });
    assert.equal(scripted.length, 2 * document_().rows[0].periods.length);
  });

  test("switches its theme, fits a phone, and shows a hostile title as text", async () => {
    await openPage(
      async (page) => {
        const axis = () => page.evaluate(() => [...window.weirSweep.plots.values()][0].axes[0].stroke());
        const dark = await axis();
        await page.locator("#theme").click();
        assert.notEqual(await axis(), dark);
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth), 0);
      },
      { ...PHONE, colorScheme: "dark" },
    );
    await openPage(
      async (page) => {
        assert.equal(await page.locator("h1").textContent(), HOSTILE);
        assert.equal(await page.evaluate(() => window.broken), undefined);
      },
      { dir: dirname(hostile) },
    );
  });
});
