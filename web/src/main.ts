// The report page: reads its data, lays out its sections, and joins them.

import "uplot/dist/uPlot.min.css";
import "./base.css";
import "./report.css";
import type cytoscape from "cytoscape";
import { type ClassRow, type DropRow, type Expectation, type FlowRow, type LinkRow, type NodeRow, type Page, type RequestRow, type Rows, type RunDocument, readPage, take, unpack } from "./data";
import { curveName, distributionBoard, hasScale, isSpread, QUANTITIES, scaleChoice, updateDistribution } from "./distributions";
import { choice, fill, h, keepFocus, openFolded, section, select, setOptions, setText } from "./dom";
import { follow } from "./follow";
import { count, large, millis, percent, rate, seconds } from "./format";
import { Board, common, crosshair, type Line, markList, type Panel, TimeRange, drawn } from "./plots";
import { file, fileName } from "./save";
import { type Column, type Contents, emptyTable } from "./tables";
import { classStyle, dash, objectStyle, startTheme, themeButton } from "./theme";
import { directions, network, rowsOnMedium } from "./topology";
import { controlPanels, controlValues, resetButton, trafficPanels, trafficValues } from "./traffic";

declare global {
  interface Window {
    /** What is drawn, for tests and for the curious: plots by name, the network, and what draws files. */
    weirReport: { plots: typeof drawn; range: TimeRange; readonly network: cytoscape.Core | null; file: typeof file };
  }
}

/** Lines that are shown without asking. */
const TOP = 8;
/** Lines that a plot takes at most. */
const MOST = 48;

const page = readPage();
const doc = page.document;
const totals = page.totals;
/** Applications of running forwarders see no links. */
const isReal = totals.links === 0;
const time = () => {
  const { step_s: step, points } = page.time;
  return { step, end: Math.max(step, points * step), times: Array.from({ length: points }, (_, k) => (k + 0.5) * step) };
};
let { step, end, times } = time();
const range = new TimeRange(0, end, step);

/** Whether there will be newer data. */
const isOn = () => page.progress !== undefined && !page.progress.is_over;

/** Who is called when the page has new data, before those who follow the part of the run. */
const dataListeners: (() => void)[] = [];

/** The part of the run that figures are of, for all of the page: "run", or the number of a window. */
const part = {
  chosen: doc.windows.length > 0 ? String(doc.windows.length - 1) : "run",
  listeners: [] as (() => void)[],
  get names(): [string, string][] {
    return [["run", "whole run"], ...doc.windows.map((w, i): [string, string] => [String(i), `${seconds(w.from_s)} to ${seconds(w.to_s)} s`])];
  },
  /** None if it is the whole run. */
  get window(): RunDocument["windows"][number] | undefined {
    return this.chosen === "run" ? undefined : doc.windows[Number(this.chosen)];
  },
  get rows(): Rows {
    return this.window ?? doc;
  },
  /** Its place in lists that have the whole run first. */
  get place(): number {
    return this.chosen === "run" ? 0 : Number(this.chosen) + 1;
  },
  choose(value: string): void {
    this.chosen = value;
    const { window } = this;
    range.readOver(window ? [window.from_s, window.to_s] : null);
    for (const listener of this.listeners) listener();
  },
};

/** A list of the parts of the run; null where there is, and will be, only one. */
function partChooser(): HTMLElement | null {
  if (part.names.length < 2 && !page.progress) return null;
  const list = select("Part of the run", part.names, part.chosen, (value) => part.choose(value));
  list.hidden = part.names.length < 2;
  dataListeners.push(() => {
    setOptions(list, part.names);
    list.hidden = part.names.length < 2;
  });
  part.listeners.push(() => (list.value = part.chosen));
  return list;
}

function mark(): void {
  common.marks = [
    ...doc.windows.map(({ from_s, to_s }) => ({ from: from_s, to: to_s, text: `${seconds(from_s)} to ${seconds(to_s)} s` })),
    ...(doc.changes ?? []).map(({ at_s, what }) => ({ from: at_s, text: what })),
  ];
}

mark();
common.source = `${page.title || doc.scenario}, ${doc.scheme}, seed ${doc.seed}`;
common.name = fileName(doc.scenario.replace(/\.toml$/, "").replace(/^.*\/(?=[^/]*\/[^/]*$)/, ""), doc.scheme);

/** What the run came to: a sentence and five numbers. */
function result(): HTMLElement {
  /** Why the figures of a run in the lab are not those of the network. */
  const doubts = h("ul", { class: "doubts", "aria-label": "Doubts" });
  const sentence = h("p", { class: "sentence" });
  const figures = h("dl", { class: "five" });
  const when = h("span", { class: "hint" }, "whole run");
  const show = () => {
    const headline = page.headlines[part.place]!;
    setText(sentence, isOn() ? `So far: ${headline.sentence}` : headline.sentence);
    when.hidden = part.names.length > 1;
    const all = doc.lab?.doubts ?? [];
    doubts.hidden = all.length === 0;
    fill(doubts, ...all.map((doubt) => h("li", {}, h("b", {}, "The results are not those of the network: "), `${doubt.replace(/\.$/, "")}.`)));
    fill(
      figures,
      ...headline.figures.map(({ name, value, note }) => h("div", {}, h("dt", {}, name), h("dd", {}, value), h("dd", { class: "note" }, note))),
    );
  };
  show();
  part.listeners.push(show);
  return section("result", "Result", [partChooser(), when], doubts, sentence, figures);
}

/** What the time of the run is, in words. */
const KIND_OF_TIME = doc.lab ? "on real forwarders" : isReal ? "on running forwarders" : "simulated";

function facts(): HTMLElement[] {
  const simulation: [string, string][] = [
    ["seed", String(doc.seed)],
    [KIND_OF_TIME, `${seconds(doc.simulated_s)} s`],
    ["took", `${seconds(doc.wall_s)} s`],
    ["packet-hops", large(doc.packet_hops) + (doc.wall_s > 0 ? ` (${large(doc.packet_hops / doc.wall_s)}/s)` : "")],
  ];
  const lab: [string, string][] = [
    [KIND_OF_TIME, `${seconds(doc.simulated_s)} s`],
    ["processors busy", `${Math.round(100 * (doc.lab?.busy ?? 0))} %`],
    ["packet-hops", large(doc.packet_hops)],
  ];
  const all: [string, string][] = [
    ["scenario", doc.scenario],
    ["scheme", doc.scheme],
    ...(doc.lab ? lab : isReal ? [[KIND_OF_TIME, `${seconds(doc.simulated_s)} s`] as [string, string]] : simulation),
  ];
  return all.map(([key, value]) => h("div", {}, h("dt", {}, key), h("dd", {}, value)));
}

/** How far the run is; only while it is on. */
const progress = {
  bar: h("i"),
  text: h("span"),
  /** Announced when it changes. */
  state: h("span", { class: "state", role: "status" }, "running"),
  element(): HTMLElement | null {
    if (!page.progress) return null;
    const track = h("div", { class: "track", role: "progressbar", "aria-label": "The part of the run", "aria-valuemin": 0 }, this.bar);
    const show = () => {
      const { now_s, until_s, is_over, report } = page.progress!;
      const text = `${seconds(now_s)} of ${seconds(until_s)} s ${KIND_OF_TIME}`;
      this.bar.style.width = `${(100 * now_s) / until_s}%`;
      track.setAttribute("aria-valuemax", String(until_s));
      track.setAttribute("aria-valuenow", String(now_s));
      track.setAttribute("aria-valuetext", text);
      setText(this.text, text);
      if (is_over) setText(this.state, `${now_s < until_s ? "ended early" : "complete"}${report ? `: the report is ${report}` : ""}`);
    };
    show();
    dataListeners.push(show);
    return h("div", { class: "progress" }, track, this.text, this.state);
  },
  lose(): void {
    const report = page.progress?.report;
    setText(this.state, `The run has ended or was stopped.${report ? ` If it ended, its report is ${report}.` : ""}`);
  },
};

function header(): HTMLElement {
  const list = h("dl", { class: "facts" }, ...facts());
  dataListeners.push(() => fill(list, ...facts()));
  return h(
    "header",
    {},
    h("div", { class: "top" }, h("span", { class: "brand" }, "Weir run report"), themeButton()),
    h("h1", {}, page.title || doc.scenario),
    page.source ? h("p", { class: "source" }, page.source) : null,
    doc.set.length > 0
      ? h("p", { class: "set" }, "with ", ...doc.set.flatMap((text) => [h("code", {}, `--set ${text}`), " "]))
      : null,
    list,
    progress.element(),
  );
}

/** Headings of what is stated, by the first word of the source. */
const STATED_BY: Record<string, string> = {
  paper: "Stated by the paper",
  files: "From the authors' files",
  theory: "Follows from theory",
  assumed: "Assumed here",
  "–": "Other",
};

function verdicts(): HTMLElement {
  const element = verdictSection(false);
  dataListeners.push(() => {
    const next = verdictSection(element.querySelector("details")?.open ?? false);
    keepFocus(element, () => element.querySelector("summary"), () => fill(element, ...next.childNodes));
  });
  return element;
}

function verdictSection(isUnfolded: boolean): HTMLElement {
  const rows = doc.expectations;
  const held = rows.filter((row) => row.holds).length;
  const checked = rows.filter((row) => row.holds !== null).length;
  const apart = ({ stated, measured, bound }: Expectation) => {
    if (bound !== "about" || stated === null || measured === null || stated === 0) return "";
    const part = ((measured - stated) / Math.abs(stated)) * 100;
    return `${part < 0 ? "−" : "+"}${Math.abs(part).toFixed(1)} %`;
  };
  const kinds = [...new Set(page.verdicts.map((verdict) => verdict.kind))];
  const list = (which: number[]) =>
    h(
      "ul",
      { class: "verdicts" },
      ...which.map((i) => {
        const [row, text] = [rows[i]!, page.verdicts[i]!];
        return h(
          "li",
          { class: row.holds === null ? "" : row.holds ? "holds" : "fails" },
          h("span", { class: "mark" }, row.holds === null ? "–" : row.holds ? "✓ holds" : "✗ fails"),
          h("span", { class: "what" }, row.what, " ", h("small", {}, row.source)),
          h("span", { class: "value" }, h("small", {}, "stated"), text.stated, h("small", {}, text.tolerance)),
          h("span", { class: "value" }, h("small", {}, "measured"), text.measured, h("small", {}, apart(row))),
        );
      }),
    );
  /** Under the one who states them. */
  const byKind = (isMeant: (row: Expectation) => boolean) =>
    kinds.flatMap((kind) => {
      const of = rows.map((_, i) => i).filter((i) => page.verdicts[i]!.kind === kind);
      const own = of.filter((i) => isMeant(rows[i]!));
      if (own.length === 0) return [];
      const holding = of.filter((i) => rows[i]!.holds).length;
      const told = of.filter((i) => rows[i]!.holds !== null).length;
      return [h("h3", { class: "kind" }, STATED_BY[kind] ?? kind, h("span", { class: "unit" }, `${holding} of ${told} hold`)), list(own)];
    });
  const others = rows.filter((row) => row.holds !== false).length;
  const untold = rows.length - checked;
  const folded = [held > 0 ? `${held} that hold` : "", untold > 0 ? `${untold} that one run cannot tell` : ""].filter((text) => text);
  return section(
    "expectations",
    "Expectations",
    [h("span", { class: held === checked ? "verdict holds" : "verdict fails" }, `${held} of ${checked} hold`), isOn() && h("span", { class: "hint" }, "so far")],
    ...byKind((row) => row.holds === false),
    others > 0 ? h("details", { open: isUnfolded }, h("summary", {}, folded.join(", ")), ...byKind((row) => row.holds !== false)) : null,
  );
}

/** Some figures of classes, flows or links over the whole run or a window, with a choice of which. */
function overWindows<Row>(id: string, title: string, contents: (rows: Rows) => Contents<Row>): HTMLElement {
  const { element, show } = emptyTable<Row>();
  const fill = () => show(contents(part.rows));
  fill();
  part.listeners.push(fill);
  return section(id, title, [partChooser()], element);
}

function rateColumn<Row extends { goodput_bps: number | null }>(): Column<Row> {
  return { title: "goodput", text: (r) => rate(r.goodput_bps), key: (r) => r.goodput_bps, number: true };
}

type Measured = Pick<FlowRow, "goodput_bps" | "delay_ms" | "lost" | "retransmitted" | "timeouts" | "completion_s">;

function measured<Row extends Measured>(rows: Row[]): Column<Row>[] {
  const delay = (title: string, get: (row: Row) => number | null): Column<Row> => ({
    title,
    unit: "ms",
    text: (row) => millis(get(row)),
    key: get,
    number: true,
  });
  const packets = (title: string, get: (row: Row) => number): Column<Row> => ({
    title,
    text: (row) => count(get(row)),
    key: get,
    number: true,
  });
  const columns = [
    rateColumn<Row>(),
    delay("delay mean", (row) => row.delay_ms.mean),
    delay("p50", (row) => row.delay_ms.p50),
    delay("p95", (row) => row.delay_ms.p95),
    delay("p99", (row) => row.delay_ms.p99),
    packets("lost", (row) => row.lost),
    packets("retransmitted", (row) => row.retransmitted),
    packets("timeouts", (row) => row.timeouts),
  ];
  if (rows.some((row) => row.completion_s !== null)) {
    columns.push({
      title: "completion",
      unit: "s",
      text: (row) => seconds(row.completion_s),
      key: (row) => row.completion_s,
      number: true,
    });
  }
  return columns;
}

function classTable(rows: Rows): Contents<ClassRow> {
  const jain: Column<ClassRow> = {
    title: "Jain in class",
    text: (row) => (row.jain == null ? "–" : row.jain.toFixed(4)),
    key: (row) => row.jain ?? null,
    number: true,
  };
  return {
    caption: "Each class",
    columns: [
      { title: "class", text: (row) => row.class, key: (row) => row.class },
      ...measured(rows.classes),
      ...(rows.classes.some((row) => row.jain != null) ? [jain] : []),
    ],
    rows: rows.classes,
  };
}

/** A flow, and its goodput in the optimum: where consumers of a prefix share each copy, and where they share none. */
type BestFlowRow = FlowRow & { best: number | null; unshared: number | null };

/** The part of the optimum that a flow has; none where it should get nothing. */
function reached({ goodput_bps, best }: BestFlowRow): number | null {
  return goodput_bps === null || !best ? null : goodput_bps / best;
}

function flowTable(rows: Rows): Contents<BestFlowRow> {
  const flows = rows.flows.map((row, i): BestFlowRow => {
    const best = rows.optimum?.flows[i];
    return { ...row, best: best?.goodput_bps ?? null, unshared: best?.unshared_goodput_bps ?? null };
  });
  const [goodput, ...others] = measured(flows);
  const optimum: Column<BestFlowRow>[] = [
    { title: "optimum", text: (row) => rate(row.best), key: (row) => row.best, number: true },
    { title: "of optimum", unit: "%", text: (row) => percent(reached(row)), key: reached, number: true },
  ];
  if (flows.some((row) => row.unshared !== null)) {
    optimum.push({ title: "unshared", text: (row) => rate(row.unshared), key: (row) => row.unshared, number: true });
  }
  return {
    caption: rows.optimum ? `Each flow, beside the ${rows.optimum.objective} optimum` : "Each flow",
    columns: [
      { title: "consumer", text: (row) => row.consumer, key: (row) => row.consumer },
      { title: "prefix", text: (row) => row.prefix, key: (row) => row.prefix },
      { title: "class", text: (row) => row.class, key: (row) => row.class },
      goodput!,
      ...(rows.optimum ? optimum : []),
      ...others,
    ],
    rows: flows,
    left: left(rows.flows.length, totals.flows, "flows", "the fastest of each class, the slowest, and those with the most losses"),
  };
}

function linkTable(rows: Rows): Contents<LinkRow> {
  const lost = { title: "lost at random", text: (row: LinkRow) => count(row.lost), key: (row: LinkRow) => row.lost, number: true };
  const down = { title: "dropped while down", text: (row: LinkRow) => count(row.down), key: (row: LinkRow) => row.down, number: true };
  return {
    caption: "Each direction of each link",
    columns: [
      { title: "link", text: (row) => `${row.from} → ${row.to}`, key: (row) => `${row.from} → ${row.to}` },
      { title: "rate", text: (row) => rate(row.rate_bps), key: (row) => row.rate_bps, number: true },
      { title: "utilisation", unit: "%", text: (row) => percent(row.utilisation), key: (row) => row.utilisation, number: true },
      { title: "queue mean", unit: "ms", text: (row) => millis(row.queue_ms.mean), key: (row) => row.queue_ms.mean, number: true },
      { title: "queue p99", unit: "ms", text: (row) => millis(row.queue_ms.p99), key: (row) => row.queue_ms.p99, number: true },
      { title: "queue drops", text: (row) => count(row.drops), key: (row) => row.drops, number: true },
      ...(rows.links.some((row) => row.lost > 0) ? [lost] : []),
      ...(rows.links.some((row) => row.down > 0) ? [down] : []),
    ],
    rows: rows.links,
    left: left(rows.links.length, totals.links, "directions of links", "the busiest, and those with the most drops and the longest queueing delays"),
  };
}

function cacheTable(rows: Rows): Contents<NodeRow> {
  const packets = (title: string, get: (row: NodeRow) => number | null): Column<NodeRow> => ({
    title,
    text: (row) => count(get(row)),
    key: get,
    number: true,
  });
  return {
    caption: "Each node with a cache",
    columns: [
      { title: "node", text: (row) => row.node, key: (row) => row.node },
      packets("hits", (row) => row.cache_hits),
      packets("misses", (row) => row.cache_misses),
      { title: "hit ratio", unit: "%", text: (row) => percent(row.cache_hit_ratio), key: (row) => row.cache_hit_ratio, number: true },
      packets("insertions", (row) => row.cache_insertions),
      packets("evictions", (row) => row.cache_evictions),
      packets("pending Interests, mean", (row) => row.pit_mean),
      packets("most", (row) => row.pit_max),
    ],
    rows: rows.nodes,
  };
}

function requestTable(rows: Rows): Contents<RequestRow> {
  type Get = (row: RequestRow) => number | null | undefined;
  const number = (title: string, unit: string, get: Get): Column<RequestRow> => ({
    title,
    unit,
    text: (row) => (get(row) == null ? "–" : unit === "ms" ? millis(get(row)!) : get(row)!.toFixed(2)),
    key: (row) => get(row) ?? null,
    number: true,
  });
  const amount = (title: string, get: (row: RequestRow) => number): Column<RequestRow> => ({
    title,
    text: (row) => count(get(row)),
    key: get,
    number: true,
  });
  return {
    caption: "Requests that came, by size",
    columns: [
      { title: "group", text: (row) => row.group, key: (row) => row.group },
      { title: "Data", text: (row) => row.size, key: (row) => row.size },
      amount("came", (row) => row.came),
      amount("complete", (row) => row.completed),
      number("completion mean", "ms", (row) => row.completion_ms.mean),
      number("p99", "ms", (row) => row.completion_ms.p99),
      number("slowdown mean", "", (row) => row.slowdown.mean),
      number("slowdown p99", "", (row) => row.slowdown.p99),
      number("ideal mean", "", (row) => row.ideal_slowdown?.mean),
      number("ideal p99", "", (row) => row.ideal_slowdown?.p99),
    ],
    rows: rows.requests ?? [],
  };
}

/** What a table leaves out. */
function left(shown: number, all: number, what: string, which: string): string {
  return shown < all ? `${count(shown)} of ${count(all)} ${what} are in this page: ${which}. The document, run.json, has all.` : "";
}

function traffic(): HTMLElement {
  const classes = doc.classes.map((row) => row.class);
  const flowName = (i: number) => `${doc.flows[i]!.consumer} ${doc.flows[i]!.prefix}`;
  const inOrder = (flows: number[]) => [...flows].sort((a, b) => a - b);
  const ranking = () => {
    const all = doc.flows.map((_, i) => i).filter((i) => Boolean(page.flows[i]));
    const by = (order: (row: FlowRow) => number) => [...all].sort((a, b) => order(doc.flows[b]!) - order(doc.flows[a]!) || a - b);
    // Over a run in which flows end, goodput says how much a flow fetched and not how fast.
    const ends = doc.flows.some((row) => row.completion_s !== null);
    const fastest = by((row) => (ends ? -(row.completion_s ?? Infinity) : (row.goodput_bps ?? 0)));
    const [quick, slow] = ends ? ["first to complete", "last to complete"] : ["fastest", "slowest"];
    const sets = new Map<string, [text: string, flows: () => number[]]>();
    if (totals.flows === all.length && all.length <= MOST) sets.set("all", [`all ${all.length} flows`, () => all]);
    if (classes.length > 1) {
      const each = Math.max(1, Math.floor(TOP / classes.length));
      sets.set("each", [
        `${each} ${quick} of each class`,
        () => inOrder(classes.flatMap((name) => fastest.filter((i) => doc.flows[i]!.class === name).slice(0, each))),
      ]);
    }
    if (all.length > TOP) {
      sets.set("fastest", [`${TOP} ${quick}`, () => fastest.slice(0, TOP)]);
      sets.set("slowest", [`${TOP} ${slow}`, () => fastest.slice(-TOP).reverse()]);
      sets.set("lossy", [`${TOP} with most loss`, () => by((row) => row.lost).slice(0, TOP)]);
    }
    for (const name of classes) {
      const members = fastest.filter((i) => doc.flows[i]!.class === name);
      if (members.length === 0) continue;
      const text = members.length > MOST ? `class ${name}, ${MOST} ${quick} of ${members.length}` : `class ${name} (${members.length})`;
      sets.set(`class ${name}`, [text, () => inOrder(members.slice(0, MOST))]);
    }
    const firstSet = sets.has("all") && all.length <= TOP ? "all" : sets.has("each") ? "each" : "fastest";
    const texts = [...sets].map(([value, [text]]): [string, string] => [value, text]);
    return { all, fastest, quick, sets, firstSet, texts };
  };
  const panelsNow = () => {
    const { panels, scale } = trafficPanels(doc.flows, step);
    const control = controlPanels(page.flows, panels[0]!.unit);
    return { panels: [...panels, ...control], control, scale };
  };
  let [ranked, ofFlows] = [ranking(), panelsNow()];
  const boards = {
    classes: new Board("classes", times, [], range),
    flows: new Board("flows", times, ofFlows.panels, range),
  };
  const showClasses = () => {
    const { panels, scale } = trafficPanels(doc.classes, step);
    boards.classes.update(
      times,
      panels,
      doc.classes.map((row, i) => ({
        id: row.class,
        name: row.class,
        ...classStyle(row.class, i),
        values: trafficValues(page.classes[i], page.time.points, scale),
      })),
    );
  };
  showClasses();

  const { all } = ranked;
  let set = ranked.firstSet;
  let filter = "";
  const status = h("span", { class: "status", role: "status" });
  const chosenFlows = () => {
    const { fastest, quick, sets } = ranked;
    let flows = sets.get(set)?.[1]() ?? [];
    let fits = "";
    if (filter) {
      const fitting = fastest.filter((i) => flowName(i).toLowerCase().includes(filter));
      flows = inOrder(fitting.slice(0, MOST));
      fits = fitting.length > MOST ? `${MOST} ${quick} of ${fitting.length}` : `${fitting.length} flows`;
    }
    setText(status, fits);
    return flowLines(flows, ofFlows.scale, flowName, ofFlows.control);
  };
  const showFlows = () => boards.flows.show(chosenFlows());
  const chooser = select("Flows to plot", ranked.texts, set, (value) => {
    set = value;
    search.value = filter = "";
    showFlows();
  });
  const search = h("input", { type: "search", placeholder: "consumer or prefix", "aria-label": "Filter flows by consumer or prefix" });
  search.addEventListener("input", () => {
    filter = search.value.trim().toLowerCase();
    showFlows();
  });
  const some = h("span", { class: "status" });
  const saySome = () => {
    const all = ranked.all.length;
    some.hidden = all >= totals.flows;
    setText(some, `This page plots ${count(all)} of ${count(totals.flows)} flows. flows.parquet has all.`);
  };
  saySome();
  const flowTools = h("span", { class: "tools" }, chooser, search, status, some);
  let shown = false;
  const showView = (view: "classes" | "flows") => {
    boards.classes.element.hidden = view !== "classes";
    boards.flows.element.hidden = view !== "flows";
    flowTools.hidden = view !== "flows";
    pointed = boards[view];
    // Drawn when it is first asked for.
    if (view === "flows" && !shown) {
      shown = true;
      boards.flows.update(times, ofFlows.panels, chosenFlows());
    }
  };
  const first = classes.length > 1 || all.length === 0 ? "classes" : "flows";
  const views =
    all.length > 0 || totals.flows === 0
      ? choice("Lines", [["classes", "by class"], ["flows", "by flow"]], first, showView)
      : h("span", { class: "status" }, `by class. The time series of the ${count(totals.flows)} flows were not recorded.`);
  showView(first);
  const marks = h("div", {}, markList());
  dataListeners.push(() => {
    [ranked, ofFlows] = [ranking(), panelsNow()];
    setOptions(chooser, ranked.texts);
    if (!ranked.sets.has(set)) chooser.value = set = ranked.firstSet;
    saySome();
    fill(marks, markList());
    showClasses();
    if (shown) boards.flows.update(times, ofFlows.panels, chosenFlows());
  });
  return section(
    "traffic",
    "Goodput, delay and loss",
    [views, flowTools, resetButton(range)],
    marks,
    boards.classes.element,
    boards.flows.element,
  );
}

/**
 * Flows of several classes have the colour of their class and differ in their dashes; flows of one
 * class have colours of their own.
 */
function flowLines(flows: number[], scale: number, name: (flow: number) => string, control: Panel[]): Line[] {
  const classes = doc.classes.map((row) => row.class);
  const several = new Set(flows.map((i) => doc.flows[i]!.class)).size > 1;
  const before = new Map<string, number>();
  return flows.map((i, place) => {
    const own = doc.flows[i]!.class;
    const inClass = before.get(own) ?? 0;
    before.set(own, inClass + 1);
    return {
      id: String(i),
      name: name(i),
      note: own,
      ...objectStyle(place),
      ...(several ? { colour: classStyle(own, classes.indexOf(own)).colour, dash: dash(inClass) } : {}),
      values: [
        ...trafficValues(page.flows[i], page.time.points, scale),
        ...controlValues(page.flows[i], control, page.time.points, scale),
      ],
    };
  });
}

/** A board whose crosshair all plots over time follow. */
let pointed: Board | null = null;
let startGraph: (() => cytoscape.Core) | null = null;
let graph: cytoscape.Core | null = null;

function links(): HTMLElement {
  const panelsNow = (): Panel[] => [
    { id: "utilisation", title: "Utilisation", unit: "%", height: 150, fromZero: true, top: 100 },
    { id: "queue", title: "Queue length", unit: "packets", height: 150, fromZero: true },
    { id: "queueing", title: "Queueing delay", unit: "ms", height: 150, fromZero: true },
    {
      id: "drops",
      title: "Drops",
      unit: "packets",
      per: ` in each ${seconds(step)} s`,
      height: 120,
      fromZero: true,
      counts: true,
      none: "These links dropped no packets.",
    },
  ];
  const board = new Board("links", times, panelsNow(), range);
  const status = h("span", { class: "status", role: "status" });
  const linesOf = (wanted: number[]): Line[] => {
    const chosen = wanted.filter((i) => page.links[i]);
    const without = wanted.length - chosen.length;
    setText(status, without === 0 ? "" : `${without} of these links ${without === 1 ? "is" : "are"} not plotted here: see links.parquet`);
    return chosen.slice(0, MOST).map((i, place) => {
      const [row, columns] = [doc.links[i]!, page.links[i]];
      const values = (column: "utilisation" | "queue_packets" | "queue_ms" | "drops", by: number) =>
        unpack(columns?.[column] ?? null, page.time.points, by);
      return {
        id: String(i),
        name: `${row.from} → ${row.to}`,
        note: rate(row.rate_bps),
        ...objectStyle(place),
        values: [values("utilisation", 100), values("queue_packets", 1), values("queue_ms", 1), values("drops", 1)],
      };
    });
  };
  const setsNow = () => {
    const rows = doc.links;
    const plotted = rows.map((_, i) => i).filter((i) => page.links[i]);
    const busiest = [...plotted].sort((a, b) => (rows[b]!.utilisation ?? 0) - (rows[a]!.utilisation ?? 0) || a - b);
    const sets = new Map<string, [text: string, links: number[]]>();
    sets.set("busiest", ["4 busiest", busiest.slice(0, 4)]);
    const dropping = busiest.filter((i) => rows[i]!.drops > 0);
    if (dropping.length > 0) {
      const most = [...dropping].sort((a, b) => rows[b]!.drops - rows[a]!.drops || a - b).slice(0, TOP);
      sets.set("drops", [most.length < dropping.length ? `${most.length} with most drops` : `with drops (${most.length})`, most]);
    }
    if (plotted.length > TOP) {
      const waits = (i: number) => rows[i]!.queue_ms.p99 ?? 0;
      sets.set("waits", [`${TOP} with longest waits`, [...plotted].sort((a, b) => waits(b) - waits(a) || a - b).slice(0, TOP)]);
    }
    directions(page).forEach((both, i) => {
      const edge = page.edges[i]!;
      const medium = edge.medium === null ? "" : ` (${page.media[edge.medium]!.name})`;
      if (both.length > 0) sets.set(`edge ${i}`, [`${edge.from} – ${edge.to}${medium}`, both]);
    });
    page.media.forEach(({ name }, i) => sets.set(`medium ${i}`, [`${name}, all stations`, rowsOnMedium(page, i)]));
    return sets;
  };
  const options = () => [...sets].map(([value, [text]]): [string, string] => [value, text]);
  let sets = setsNow();
  /** The links that are plotted: of a set, or those that were picked in the drawing. */
  let wanted = () => sets.get("busiest")![1];
  const show = () => board.show(linesOf(wanted()));
  const ofSet = (key: string) => () => sets.get(key)?.[1] ?? [];
  const chooser = select("Links to plot", options(), "busiest", (value) => {
    wanted = ofSet(value);
    show();
  });
  const picked = (chosen: number[]) => {
    const key = [...sets].find(([, [, both]]) => both.join() === chosen.join())?.[0];
    chooser.value = key ?? "";
    wanted = key === undefined ? () => chosen : ofSet(key);
    show();
    // The page moves only if nothing of what was chosen is to be seen otherwise.
    if (!board.inView) board.reveal();
  };
  show();
  dataListeners.push(() => {
    sets = setsNow();
    setOptions(chooser, options());
    board.update(times, panelsNow(), linesOf(wanted()));
  });
  const parts: (HTMLElement | null)[] = [];
  if (page.nodes.length > 0) {
    const drawing = network(page, picked, { part, board, dataListeners });
    startGraph = drawing.start;
    parts.push(drawing.element);
  } else if (totals.nodes > 0) {
    const size = `${count(totals.nodes)} nodes and ${count(totals.edges)} links`;
    parts.push(h("p", { class: "none" }, `The network has ${size}, too many to draw here. links.parquet has each link over time.`));
  }
  const hint = page.nodes.length > 0 ? "choose a link here or in the drawing" : "";
  return section(
    "links",
    "Network and links",
    [h("span", { class: "tools" }, chooser, status), h("span", { class: "hint" }, hint), resetButton(range)],
    ...parts,
    board.element,
  );
}

/** Cumulative distributions, one quantity at a time. */
function distributions(): HTMLElement {
  const place = h("div");
  const tools = h("span", { class: "tools" });
  const hint = h("span", { class: "hint" });
  let chosen = "";
  let wantsLog: boolean | null = null;
  let board: Board | null = null;
  /** What the board was made for. */
  let made = "";
  const show = () => {
    // A part without distributions of its own has those of the whole run.
    const own = page.distributions[part.place] ?? [];
    const all = own.length > 0 ? own : page.distributions[0]!;
    if (!all.some(({ what }) => what === chosen)) chosen = all[0]?.what ?? "";
    const curves = all.find(({ what }) => what === chosen);
    if (!curves) return;
    const of = own.length > 0 ? part.names[part.place]![1] : part.names[0]![1];
    setText(hint, `${of}; run.json has the histograms`);
    const isLog = wantsLog ?? isSpread(curves);
    const look = (place: number) => {
      const curve = curves.curves[place]!;
      const isClass = curve.kind === "class";
      return {
        name: isClass ? curve.of : curveName(curve),
        note: `${curve.kind === "links" ? "" : `${curve.kind}, `}${large(curve.count)}`,
        ...(isClass ? classStyle(curve.of, place) : objectStyle(place)),
      };
    };
    const names = all.map(({ what }): [string, string] => [what, (QUANTITIES[what] ?? [what])[0]]);
    const wanted = JSON.stringify([chosen, names, isLog, hasScale(curves)]);
    if (board && made === wanted) return updateDistribution(board, curves, isLog, look);
    made = wanted;
    board?.remove();
    board = distributionBoard(curves, isLog, look);
    const choices = [
      names.length > 1 ? select("Quantity", names, chosen, (value) => ((chosen = value), (wantsLog = null), show())) : null,
      scaleChoice(curves, isLog, (value) => ((wantsLog = value), show())),
    ];
    tools.replaceChildren(...choices.filter((one) => one !== null));
    place.replaceChildren(h("p", {}, (QUANTITIES[chosen] ?? [chosen, ""])[1]), board.element);
  };
  show();
  part.listeners.push(show);
  return section("distributions", "Distributions", [tools, hint], place);
}

function drops(): HTMLElement {
  const place = h("div");
  const show = () => fill(place, ...dropRows());
  show();
  dataListeners.push(show);
  return section("drops", "Thrown away, by reason", [], place);
}

function dropRows(): HTMLElement[] {
  const rows = doc.drops;
  if (rows.length === 0) return [h("p", {}, "Nothing was thrown away.")];
  const packets = (row: DropRow) => row.data + row.interests;
  const most = Math.max(...rows.map(packets));
  const counts = (row: DropRow) =>
    [row.data > 0 ? `${count(row.data)} Data` : "", row.interests > 0 ? `${count(row.interests)} Interests` : ""].filter((part) => part).join(", ");
  return [
    h("p", {}, `${percent(doc.data_thrown_away)} % of the Data was thrown away, of those delivered and those thrown away.`),
    h(
      "dl",
      { class: "bars" },
      ...rows.map((row) => {
        const bar = h("i");
        bar.style.width = `${(packets(row) / most) * 100}%`;
        return h("div", {}, h("dt", {}, `${row.reason} (${row.place})`), h("dd", {}, h("span", {}, counts(row)), h("span", { class: "track" }, bar)));
      }),
    ),
  ];
}

function provenance(): HTMLElement {
  const rows = page.provenance;
  const shown = () =>
    page.time.merged > 1
      ? `A step in the plots is ${seconds(step)} s long and summarises ${page.time.merged} measured steps. Rates, utilisations and ` +
        "queue lengths are means, counts are sums, and delays are means weighted by rate. The Parquet tables have every measured step."
      : `Plots show every measured step, ${seconds(step)} s each.`;
  const notes = h("div");
  const show = () => fill(notes, ...[...page.notes, shown()].map((note) => h("p", {}, note)));
  show();
  dataListeners.push(show);
  return section(
    "provenance",
    "Where the numbers come from",
    [],
    notes,
    h(
      "p",
      {},
      "Goodput is the Data content delivered to applications, as a mean over the whole run or window, even if a flow completes earlier. Delay is the time from the first transmission of an Interest to its Data. ",
      isReal || doc.lab
        ? "Lost counts Interests that got no Data, wherever the Interest or the Data was dropped."
        : "Lost counts Data packets dropped in the network.",
    ),
    rows.some(([key]) => key.includes("{"))
      ? h("p", {}, "A row can stand for several nodes, links or flows with the same value. ", h("code", {}, `weir list ${doc.scenario} --all`), " lists each of them.")
      : null,
    rows.length > 0
      ? h("dl", { class: "provenance" }, ...rows.flatMap(([key, text]) => [h("dt", {}, key), h("dd", {}, text)]))
      : null,
  );
}

/** The sections in their order. Each is in the page as soon as there is something for it. */
const sections: { isThere: () => boolean; make: () => HTMLElement; element?: HTMLElement }[] = [
  { isThere: () => true, make: result },
  { isThere: () => doc.expectations.length > 0, make: verdicts },
  { isThere: () => times.length > 0, make: traffic },
  { isThere: () => times.length > 0 && !isReal, make: links },
  { isThere: () => page.distributions.some((curves) => curves.length > 0), make: distributions },
  { isThere: () => true, make: () => overWindows("classes", "Classes", classTable) },
  { isThere: () => true, make: () => overWindows("flows", "Flows", flowTable) },
  { isThere: () => !isReal, make: () => overWindows("link-figures", "Links", linkTable) },
  { isThere: () => (doc.requests?.length ?? 0) > 0, make: () => overWindows("requests", "Requests", requestTable) },
  { isThere: () => doc.nodes.length > 0, make: () => overWindows("caches", "Caches", cacheTable) },
  // Real forwarders do not say why.
  { isThere: () => doc.drops.length > 0 || !isReal, make: drops },
  { isThere: () => true, make: provenance },
];

function addSections(): void {
  let before: Element = head;
  for (const one of sections) {
    if (!one.element && one.isThere()) {
      one.element = one.make();
      before.after(one.element);
    }
    before = one.element ?? before;
  }
  graph ??= startGraph?.() ?? null;
}

/** Shows newer data in place. What the reader has chosen stays. */
function grow(next: Page): void {
  const at = crosshair.step === null ? null : times[crosshair.step]!;
  take(page, next);
  ({ step, end, times } = time());
  mark();
  for (const listener of dataListeners) listener();
  range.grow(0, end, step);
  part.choose(part.chosen);
  addSections();
  // Plots are drawn in the order in which they were asked to, and this is asked last.
  if (at !== null) queueMicrotask(() => pointed?.point(Math.floor(at / step)));
}

startTheme();
openFolded();
part.choose(part.chosen);
const head = header();
document.getElementById("report")!.replaceChildren(head, h("footer", {}, `weir ${page.version}`));
addSections();
window.weirReport = {
  plots: drawn,
  range,
  get network() {
    return graph;
  },
  file,
};
if (isOn()) {
  follow(page.progress!.now_s, grow, () => progress.lose()).catch((error) => {
    progress.lose();
    throw error;
  });
}
