// The report page: reads its data, lays out its sections, and joins them.

import "uplot/dist/uPlot.min.css";
import "./base.css";
import "./report.css";
import type cytoscape from "cytoscape";
import { type ClassRow, type DropRow, type Expectation, type FlowRow, type LinkRow, type NodeRow, type RequestRow, type Rows, readPage, unpack } from "./data";
import { curveName, distributionBoard, isSpread, QUANTITIES, scaleChoice } from "./distributions";
import { choice, h, openFolded, section, select } from "./dom";
import { count, large, millis, percent, rate, seconds } from "./format";
import { Board, common, type Line, markList, type Panel, TimeRange, drawn } from "./plots";
import { file, fileName } from "./save";
import { type Column, table } from "./tables";
import { classColour, dash, paletteColour, startTheme, themeButton } from "./theme";
import { directions, network, rowsOnMedium } from "./topology";
import { controlPanels, controlValues, resetButton, trafficPanels, trafficValues } from "./traffic";

declare global {
  interface Window {
    /** What is drawn, for tests and for the curious: plots by name, the network, and what draws files. */
    weirReport: { plots: typeof drawn; range: TimeRange; network: cytoscape.Core | null; file: typeof file };
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
const step = page.time.step_s;
const times = Array.from({ length: page.time.points }, (_, k) => (k + 0.5) * step);
const range = new TimeRange(0, Math.max(step, page.time.points * step), step);

/** The part of the run that figures are of, for all of the page: "run", or the number of a window. */
const part = {
  chosen: doc.windows.length > 0 ? String(doc.windows.length - 1) : "run",
  names: [
    ["run", "whole run"],
    ...doc.windows.map((w, i): [string, string] => [String(i), `${seconds(w.from_s)} to ${seconds(w.to_s)} s`]),
  ] as [string, string][],
  listeners: [] as (() => void)[],
  get rows(): Rows {
    return this.chosen === "run" ? doc : doc.windows[Number(this.chosen)]!;
  },
  /** Its place in lists that have the whole run first. */
  get place(): number {
    return this.chosen === "run" ? 0 : Number(this.chosen) + 1;
  },
  choose(value: string): void {
    this.chosen = value;
    const window = value === "run" ? undefined : doc.windows[Number(value)];
    range.readOver(window ? [window.from_s, window.to_s] : null);
    for (const listener of this.listeners) listener();
  },
};

/** A list of the parts of the run; null where there is only one. */
function partChooser(): HTMLElement | null {
  if (part.names.length < 2) return null;
  const list = select("Part of the run", part.names, part.chosen, (value) => part.choose(value));
  part.listeners.push(() => (list.value = part.chosen));
  return list;
}

common.marks = [
  ...doc.windows.map(({ from_s, to_s }) => ({ from: from_s, to: to_s, text: `${seconds(from_s)} to ${seconds(to_s)} s` })),
  ...(doc.changes ?? []).map(({ at_s, what }) => ({ from: at_s, text: what })),
];
common.source = `${page.title || doc.scenario}, ${doc.scheme}, seed ${doc.seed}`;
common.name = fileName(doc.scenario.replace(/\.toml$/, "").replace(/^.*\/(?=[^/]*\/[^/]*$)/, ""), doc.scheme);

/** What the run came to: a sentence and five numbers. */
function result(): HTMLElement {
  const sentence = h("p", { class: "sentence" });
  const figures = h("dl", { class: "five" });
  const show = () => {
    const headline = page.headlines[part.place]!;
    sentence.textContent = headline.sentence;
    figures.replaceChildren(
      ...headline.figures.map(({ name, value, note }) => h("div", {}, h("dt", {}, name), h("dd", {}, value), h("dd", { class: "note" }, note))),
    );
  };
  show();
  part.listeners.push(show);
  const when = part.names.length > 1 ? null : h("span", { class: "hint" }, "whole run");
  return section("result", "Result", [partChooser(), when], sentence, figures);
}

function header(): HTMLElement {
  const simulation: [string, string][] = [
    ["seed", String(doc.seed)],
    ["simulated", `${seconds(doc.simulated_s)} s`],
    ["took", `${seconds(doc.wall_s)} s`],
    ["packet-hops", large(doc.packet_hops) + (doc.wall_s > 0 ? ` (${large(doc.packet_hops / doc.wall_s)}/s)` : "")],
  ];
  const lab: [string, string][] = [
    ["on real forwarders", `${seconds(doc.simulated_s)} s`],
    ["processors busy", `${Math.round(100 * (doc.lab?.busy ?? 0))} %`],
    ["packet-hops", large(doc.packet_hops)],
  ];
  const facts: [string, string][] = [
    ["scenario", doc.scenario],
    ["scheme", doc.scheme],
    ...(doc.lab ? lab : isReal ? [["on running forwarders", `${seconds(doc.simulated_s)} s`] as [string, string]] : simulation),
  ];
  return h(
    "header",
    {},
    h("div", { class: "top" }, h("span", { class: "brand" }, "Weir run report"), themeButton()),
    h("h1", {}, page.title || doc.scenario),
    page.source ? h("p", { class: "source" }, page.source) : null,
    doc.set.length > 0
      ? h("p", { class: "set" }, "with ", ...doc.set.flatMap((text) => [h("code", {}, `--set ${text}`), " "]))
      : null,
    h("dl", { class: "facts" }, ...facts.map(([key, value]) => h("div", {}, h("dt", {}, key), h("dd", {}, value)))),
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

function verdicts(): HTMLElement | null {
  const rows = doc.expectations;
  if (rows.length === 0) return null;
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
    [h("span", { class: held === checked ? "verdict holds" : "verdict fails" }, `${held} of ${checked} hold`)],
    ...byKind((row) => row.holds === false),
    others > 0 ? h("details", {}, h("summary", {}, folded.join(", ")), ...byKind((row) => row.holds !== false)) : null,
  );
}

/** Some figures of classes, flows or links over the whole run or a window, with a choice of which. */
function overWindows(id: string, title: string, content: (rows: Rows) => HTMLElement): HTMLElement {
  const place = h("div");
  const show = () => place.replaceChildren(content(part.rows));
  show();
  part.listeners.push(show);
  return section(id, title, [partChooser()], place);
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

function classTable(rows: Rows): HTMLElement {
  const jain: Column<ClassRow> = {
    title: "Jain in class",
    text: (row) => (row.jain == null ? "–" : row.jain.toFixed(4)),
    key: (row) => row.jain ?? null,
    number: true,
  };
  return table(
    "Each class",
    [
      { title: "class", text: (row) => row.class, key: (row) => row.class },
      ...measured(rows.classes),
      ...(rows.classes.some((row) => row.jain != null) ? [jain] : []),
    ],
    rows.classes,
  );
}

/** A flow, and its goodput in the optimum: where consumers of a prefix share each copy, and where they share none. */
type BestFlowRow = FlowRow & { best: number | null; unshared: number | null };

/** The part of the optimum that a flow has; none where it should get nothing. */
function reached({ goodput_bps, best }: BestFlowRow): number | null {
  return goodput_bps === null || !best ? null : goodput_bps / best;
}

function flowTable(rows: Rows): HTMLElement {
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
  return table<BestFlowRow>(
    rows.optimum ? `Each flow, beside the ${rows.optimum.objective} optimum` : "Each flow",
    [
      { title: "consumer", text: (row) => row.consumer, key: (row) => row.consumer },
      { title: "prefix", text: (row) => row.prefix, key: (row) => row.prefix },
      { title: "class", text: (row) => row.class, key: (row) => row.class },
      goodput!,
      ...(rows.optimum ? optimum : []),
      ...others,
    ],
    flows,
    left(rows.flows.length, totals.flows, "flows", "the fastest of each class, the slowest, and those with the most losses"),
  );
}

function linkTable(rows: Rows): HTMLElement {
  const lost = { title: "lost at random", text: (row: LinkRow) => count(row.lost), key: (row: LinkRow) => row.lost, number: true };
  const down = { title: "dropped while down", text: (row: LinkRow) => count(row.down), key: (row: LinkRow) => row.down, number: true };
  return table<LinkRow>(
    "Each direction of each link",
    [
      { title: "link", text: (row) => `${row.from} → ${row.to}`, key: (row) => `${row.from} → ${row.to}` },
      { title: "rate", text: (row) => rate(row.rate_bps), key: (row) => row.rate_bps, number: true },
      { title: "utilisation", unit: "%", text: (row) => percent(row.utilisation), key: (row) => row.utilisation, number: true },
      { title: "queue mean", unit: "ms", text: (row) => millis(row.queue_ms.mean), key: (row) => row.queue_ms.mean, number: true },
      { title: "queue p99", unit: "ms", text: (row) => millis(row.queue_ms.p99), key: (row) => row.queue_ms.p99, number: true },
      { title: "queue drops", text: (row) => count(row.drops), key: (row) => row.drops, number: true },
      ...(rows.links.some((row) => row.lost > 0) ? [lost] : []),
      ...(rows.links.some((row) => row.down > 0) ? [down] : []),
    ],
    rows.links,
    left(rows.links.length, totals.links, "directions of links", "the busiest, and those with the most drops and the longest queueing delays"),
  );
}

function cacheTable(rows: Rows): HTMLElement {
  const packets = (title: string, get: (row: NodeRow) => number | null): Column<NodeRow> => ({
    title,
    text: (row) => count(get(row)),
    key: get,
    number: true,
  });
  return table<NodeRow>(
    "Each node with a cache",
    [
      { title: "node", text: (row) => row.node, key: (row) => row.node },
      packets("hits", (row) => row.cache_hits),
      packets("misses", (row) => row.cache_misses),
      { title: "hit ratio", unit: "%", text: (row) => percent(row.cache_hit_ratio), key: (row) => row.cache_hit_ratio, number: true },
      packets("insertions", (row) => row.cache_insertions),
      packets("evictions", (row) => row.cache_evictions),
      packets("pending Interests, mean", (row) => row.pit_mean),
      packets("most", (row) => row.pit_max),
    ],
    rows.nodes,
  );
}

function requestTable(rows: Rows): HTMLElement {
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
  return table<RequestRow>(
    "Requests that came, by size",
    [
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
    rows.requests ?? [],
  );
}

/** What a table leaves out. */
function left(shown: number, all: number, what: string, which: string): string {
  return shown < all ? `${count(shown)} of ${count(all)} ${what} are in this page: ${which}. The document, run.json, has all.` : "";
}

function traffic(): HTMLElement {
  const classes = doc.classes.map((row) => row.class);
  const forClasses = trafficPanels(doc.classes, step);
  const forFlows = trafficPanels(doc.flows, step);
  const control = controlPanels(page.flows, forFlows.panels[0]!.unit);
  const boards = {
    classes: new Board("classes", times, forClasses.panels, range),
    flows: new Board("flows", times, [...forFlows.panels, ...control], range),
  };
  boards.classes.show(
    doc.classes.map((row, i) => ({
      id: row.class,
      name: row.class,
      colour: classColour(row.class, i),
      dash: [],
      values: trafficValues(page.classes[i], page.time.points, forClasses.scale),
    })),
  );

  const flowName = (i: number) => `${doc.flows[i]!.consumer} ${doc.flows[i]!.prefix}`;
  const isPlotted = (i: number) => Boolean(page.flows[i]);
  const by = (order: (row: FlowRow) => number) =>
    doc.flows.map((_, i) => i).filter(isPlotted).sort((a, b) => order(doc.flows[b]!) - order(doc.flows[a]!) || a - b);
  // Over a run in which flows end, goodput says how much a flow fetched and not how fast.
  const ends = doc.flows.some((row) => row.completion_s !== null);
  const fastest = by((row) => (ends ? -(row.completion_s ?? Infinity) : (row.goodput_bps ?? 0)));
  const [quick, slow] = ends ? ["first to complete", "last to complete"] : ["fastest", "slowest"];
  const all = doc.flows.map((_, i) => i).filter(isPlotted);
  const inOrder = (flows: number[]) => [...flows].sort((a, b) => a - b);
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
  let set = firstSet;
  let filter = "";
  const status = h("span", { class: "status", role: "status" });
  const showFlows = () => {
    let flows = sets.get(set)?.[1]() ?? [];
    if (filter) {
      const fitting = fastest.filter((i) => flowName(i).toLowerCase().includes(filter));
      flows = inOrder(fitting.slice(0, MOST));
      status.textContent = fitting.length > MOST ? `${MOST} ${quick} of ${fitting.length}` : `${fitting.length} flows`;
    } else {
      status.textContent = "";
    }
    boards.flows.show(flowLines(flows, forFlows.scale, flowName, control));
  };
  const chooser = select(
    "Flows to plot",
    [...sets].map(([value, [text]]): [string, string] => [value, text]),
    firstSet,
    (value) => {
      set = value;
      search.value = filter = "";
      showFlows();
    },
  );
  const search = h("input", { type: "search", placeholder: "consumer or prefix", "aria-label": "Filter flows by consumer or prefix" });
  search.addEventListener("input", () => {
    filter = search.value.trim().toLowerCase();
    showFlows();
  });
  const some = all.length < totals.flows ? `This page plots ${count(all.length)} of ${count(totals.flows)} flows. flows.parquet has all.` : "";
  const flowTools = h("span", { class: "tools" }, chooser, search, status, some ? h("span", { class: "status" }, some) : null);
  let shown = false;
  const showView = (view: "classes" | "flows") => {
    boards.classes.element.hidden = view !== "classes";
    boards.flows.element.hidden = view !== "flows";
    flowTools.hidden = view !== "flows";
    // Drawn when it is first asked for.
    if (view === "flows" && !shown) {
      shown = true;
      showFlows();
    }
  };
  const first = classes.length > 1 || all.length === 0 ? "classes" : "flows";
  const views =
    all.length > 0 || totals.flows === 0
      ? choice("Lines", [["classes", "by class"], ["flows", "by flow"]], first, showView)
      : h("span", { class: "status" }, `by class. The time series of the ${count(totals.flows)} flows were not recorded.`);
  showView(first);
  return section(
    "traffic",
    "Goodput, delay and loss",
    [views, flowTools, resetButton(range)],
    markList(),
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
      colour: several ? classColour(own, classes.indexOf(own)) : paletteColour(place),
      dash: several ? dash(inClass) : dash(Math.floor(place / 8)),
      values: [
        ...trafficValues(page.flows[i], page.time.points, scale),
        ...controlValues(page.flows[i], control, page.time.points, scale),
      ],
    };
  });
}

let graph: (() => cytoscape.Core) | null = null;

function links(): HTMLElement {
  const rows = doc.links;
  const board = new Board(
    "links",
    times,
    [
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
    ],
    range,
  );
  const name = (i: number) => `${rows[i]!.from} → ${rows[i]!.to}`;
  const plotted = rows.map((_, i) => i).filter((i) => page.links[i]);
  const busiest = [...plotted].sort((a, b) => (rows[b]!.utilisation ?? 0) - (rows[a]!.utilisation ?? 0) || a - b);
  const status = h("span", { class: "status", role: "status" });
  const show = (wanted: number[]) => {
    const chosen = wanted.filter((i) => page.links[i]);
    const without = wanted.length - chosen.length;
    status.textContent = without === 0 ? "" : `${without} of these links ${without === 1 ? "is" : "are"} not plotted here: see links.parquet`;
    board.show(
      chosen.slice(0, MOST).map((i, place) => {
        const columns = page.links[i];
        const values = (column: "utilisation" | "queue_packets" | "queue_ms" | "drops", by: number) =>
          unpack(columns?.[column] ?? null, page.time.points, by);
        return {
          id: String(i),
          name: name(i),
          note: rate(rows[i]!.rate_bps),
          colour: paletteColour(place),
          dash: dash(Math.floor(place / 8)),
          values: [values("utilisation", 100), values("queue_packets", 1), values("queue_ms", 1), values("drops", 1)],
        };
      }),
    );
  };
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
  const chooser = select(
    "Links to plot",
    [...sets].map(([value, [text]]): [string, string] => [value, text]),
    "busiest",
    (value) => show(sets.get(value)![1]),
  );
  const picked = (chosen: number[]) => {
    const key = [...sets].find(([, [, both]]) => both.join() === chosen.join())?.[0];
    chooser.value = key ?? "";
    show(chosen);
    // The page moves only if nothing of what was chosen is to be seen otherwise.
    if (!board.inView) board.reveal();
  };
  show(busiest.slice(0, 4));
  const parts: (HTMLElement | null)[] = [];
  if (page.nodes.length > 0) {
    const drawing = network(page, picked, { part, board, times });
    graph = drawing.start;
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
function distributions(): HTMLElement | null {
  if (page.distributions.every((curves) => curves.length === 0)) return null;
  const place = h("div");
  const tools = h("span", { class: "tools" });
  const hint = h("span", { class: "hint" });
  let chosen = "";
  let wantsLog: boolean | null = null;
  let board: Board | null = null;
  const show = () => {
    // A part without distributions of its own has those of the whole run.
    const own = page.distributions[part.place] ?? [];
    const all = own.length > 0 ? own : page.distributions[0]!;
    if (!all.some(({ what }) => what === chosen)) chosen = all[0]?.what ?? "";
    const curves = all.find(({ what }) => what === chosen);
    if (!curves) return;
    board?.remove();
    const isLog = wantsLog ?? isSpread(curves);
    board = distributionBoard(curves, isLog, (place) => {
      const curve = curves.curves[place]!;
      const isClass = curve.kind === "class";
      return {
        name: isClass ? curve.of : curveName(curve),
        note: `${curve.kind === "links" ? "" : `${curve.kind}, `}${large(curve.count)}`,
        colour: isClass ? classColour(curve.of, place) : paletteColour(place),
        dash: dash(isClass ? 0 : Math.floor(place / 8)),
      };
    });
    const names = all.map(({ what }): [string, string] => [what, (QUANTITIES[what] ?? [what])[0]]);
    const choices = [
      names.length > 1 ? select("Quantity", names, chosen, (value) => ((chosen = value), (wantsLog = null), show())) : null,
      scaleChoice(curves, isLog, (value) => ((wantsLog = value), show())),
    ];
    tools.replaceChildren(...choices.filter((one) => one !== null));
    const of = own.length > 0 ? part.names[part.place]![1] : part.names[0]![1];
    hint.textContent = `${of}; run.json has the histograms`;
    place.replaceChildren(h("p", {}, (QUANTITIES[chosen] ?? [chosen, ""])[1]), board.element);
  };
  show();
  part.listeners.push(show);
  return section("distributions", "Distributions", [tools, hint], place);
}

function drops(): HTMLElement | null {
  const rows = doc.drops;
  // Real forwarders do not say why.
  if (rows.length === 0 && isReal) return null;
  if (rows.length === 0) return section("drops", "Thrown away, by reason", [], h("p", {}, "Nothing was thrown away."));
  const packets = (row: DropRow) => row.data + row.interests;
  const most = Math.max(...rows.map(packets));
  const counts = (row: DropRow) =>
    [row.data > 0 ? `${count(row.data)} Data` : "", row.interests > 0 ? `${count(row.interests)} Interests` : ""].filter((part) => part).join(", ");
  return section(
    "drops",
    "Thrown away, by reason",
    [],
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
  );
}

function provenance(): HTMLElement {
  const rows = page.provenance;
  const shown =
    page.time.merged > 1
      ? `A step in the plots is ${seconds(step)} s long and summarises ${page.time.merged} measured steps. Rates, utilisations and ` +
        "queue lengths are means, counts are sums, and delays are means weighted by rate. The Parquet tables have every measured step."
      : `Plots show every measured step, ${seconds(step)} s each.`;
  return section(
    "provenance",
    "Where the numbers come from",
    [],
    ...page.notes.map((note) => h("p", {}, note)),
    h("p", {}, shown),
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

startTheme();
openFolded();
part.choose(part.chosen);
const root = document.getElementById("report")!;
root.replaceChildren(
  header(),
  result(),
  ...[verdicts()].filter((part) => part !== null),
  ...(times.length > 0 ? [traffic(), ...(isReal ? [] : [links()])] : []),
  ...[distributions()].filter((part) => part !== null),
  overWindows("classes", "Classes", classTable),
  overWindows("flows", "Flows", flowTable),
  ...(isReal ? [] : [overWindows("link-figures", "Links", linkTable)]),
  ...((doc.requests?.length ?? 0) > 0 ? [overWindows("requests", "Requests", requestTable)] : []),
  ...(doc.nodes.length > 0 ? [overWindows("caches", "Caches", cacheTable)] : []),
  ...[drops()].filter((part) => part !== null),
  provenance(),
  h("footer", {}, `weir ${page.version}`),
);
window.weirReport = { plots: drawn, range, network: graph === null ? null : (graph as () => cytoscape.Core)(), file };
