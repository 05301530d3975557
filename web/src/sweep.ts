// The page of a sweep: its tables are in the page already; this draws a chosen figure over an axis, one curve a scheme, and
// tabulates it.

import "uplot/dist/uPlot.min.css";
import "./report.css";
import "./sweep.css";
import "./summary";
import uPlot from "uplot";
import { choice, h, section, select } from "./dom";
import { type Figure, figureUnit, type Layer } from "./figure";
import { count, grouped, inSentence, isNumber, rateUnit, significant, type Unit } from "./format";
import { drawn, swatch } from "./plots";
import { fileName, saveButtons } from "./save";
import { table } from "./tables";
import { css, ofPair, onTheme, styleOf } from "./theme";

declare global {
  interface Window {
    /** What is drawn, for tests and for the curious: plots by name. */
    weirSweep: { plots: typeof drawn };
  }
}

interface Axis {
  name: string;
  unit: string | null;
  values: string[];
  /** Empty where the values are no numbers of one kind. */
  positions: number[];
}

/** Mean, half of its interval, number of seeds, number of distinct values. */
type Value = [mean: number | null, ci95: number | null, n: number, distinct: number];

interface Row {
  /** For each axis the place of its value. */
  at: number[];
  scheme: number;
  trouble: string | null;
}

interface Metric {
  key: string;
  title: string;
  unit: string;
  /** For each thing and part of the runs the values, beside the rows. */
  figures: { of: string; parts: (Value | null)[][] }[];
}

/** The JSON that the crate weir-results puts beside it (sweep/page.rs). */
interface Page {
  axes: Axis[];
  schemes: string[];
  /** For each scheme the number of its style. */
  styles: number[];
  seeds: number;
  parts: string[];
  rows: Row[];
  metrics: Metric[];
  groups_left_out: number;
}

/** Plots beside each other at most. */
const MOST = 6;
const EACH = "each";

/** What the range of values is: from zero, as it fits, or by factors. */
type Range = "zero" | "fit" | "log";

const page = JSON.parse(document.getElementById("data")!.textContent!) as Page;
const colours = page.schemes.map((_, i) => styleOf(page.styles[i] ?? i).colour);
const dashes = page.schemes.map((_, i) => styleOf(page.styles[i] ?? i).dash);

// What is shown. Later parts of a run are those after its start.
const state = {
  metric: 0,
  of: "all flows",
  part: Math.max(0, page.parts.length - 1),
  x: 0,
  log: false,
  range: "zero" as Range,
  /** Of other axes the place of their only value that is shown. */
  only: new Map<number, number>(),
  hidden: new Set<number>(),
};

const metric = () => page.metrics[state.metric]!;
const figure = () => metric().figures.find((one) => one.of === state.of) ?? metric().figures[0]!;
const values = () => figure().parts[state.part] ?? [];
/** A value without an interval where all of its seeds agree. */
const interval = ([, ci95, , distinct]: Value) => (isNumber(ci95) && ci95 > 0 && distinct > 1 ? ci95 : 0);

/** Whether the axis takes one value for each value of the other, as axes that are varied together do. */
function follows(axis: number, other: number): boolean {
  const place = new Map<number, number>();
  return page.rows.every(({ at }) => {
    const before = place.get(at[other]!);
    place.set(at[other]!, at[axis]!);
    return before === undefined || before === at[axis];
  });
}

/** The axes of which each combination of values has a plot. */
function others(): number[] {
  return page.axes.map((_, i) => i).filter((i) => i !== state.x && !follows(i, state.x));
}

/** The places of values of the axis along a plot, in the order in which they are drawn. */
function along(): { places: number[]; positions: number[]; isNumeric: boolean } {
  const axis = page.axes[state.x]!;
  const places = axis.values.map((_, i) => i);
  if (axis.positions.length === 0) return { places, positions: places, isNumeric: false };
  places.sort((a, b) => axis.positions[a]! - axis.positions[b]!);
  return { places, positions: places.map((place) => axis.positions[place]!), isNumeric: true };
}

/** The unit in which all values of the figure are shown. */
function unit(): Unit {
  const largest = Math.max(0, ...values().map((value) => Math.abs(value?.[0] ?? 0)));
  switch (metric().unit) {
    case "bit/s":
      return rateUnit(largest);
    case "%":
      return { name: "%", scale: 100 };
    case "1":
      return { name: "", scale: 1 };
    default:
      return { name: metric().unit, scale: 1 };
  }
}

const number = (value: number) => (Math.abs(value) >= 1e4 ? count(value) : significant(value, 4));

function said(value: Value | null | undefined, scale: number): string {
  if (!value || !isNumber(value[0])) return "–";
  const ci95 = interval(value);
  // Of rounding errors there is none to show.
  const shown = ci95 * scale >= 1e4 ? count(ci95 * scale) : significant(ci95 * scale, 2);
  return number(value[0] * scale) + (shown === "0" ? "" : ` ± ${shown}`);
}

// ---- Plots

interface Small {
  /** The places of the values of other axes. */
  fixed: [axis: number, place: number][];
  name: string;
  /** For each scheme the values beside the places along the axis. */
  lines: (Value | null)[][];
}

/** A plot for each combination of the values of other axes. */
function smalls(): Small[] {
  const axes = others();
  const { places } = along();
  const found = new Map<string, Small>();
  const now = values();
  page.rows.forEach((row, i) => {
    if (axes.some((axis) => state.only.has(axis) && state.only.get(axis) !== row.at[axis])) return;
    const fixed = axes.map((axis): [number, number] => [axis, row.at[axis]!]);
    const key = fixed.map(([, place]) => place).join();
    let small = found.get(key);
    if (!small) {
      const name = fixed.map(([axis, place]) => `${page.axes[axis]!.name} = ${page.axes[axis]!.values[place]}`).join(", ");
      small = { fixed, name, lines: page.schemes.map(() => places.map(() => null)) };
      found.set(key, small);
    }
    small.lines[row.scheme]![places.indexOf(row.at[state.x]!)] = now[i] ?? null;
  });
  return [...found.values()].sort((a, b) => {
    const differs = a.fixed.findIndex(([, place], i) => place !== b.fixed[i]![1]);
    return differs < 0 ? 0 : a.fixed[differs]![1] - b.fixed[differs]![1];
  });
}

/** The range of all values with their intervals: plots beside each other have one scale. */
function range(shown: Small[], scale: number): [number, number] {
  const some = shown
    .flatMap((small) => small.lines.filter((_, scheme) => !state.hidden.has(scheme)).flat())
    .filter((value): value is Value => value !== null && isNumber(value[0]));
  if (some.length === 0) return [0, 1];
  const high = Math.max(...some.map((value) => (value[0]! + interval(value)) * scale));
  const low = Math.min(...some.map((value) => (value[0]! - interval(value)) * scale));
  const means = some.map((value) => value[0]! * scale);
  // An interval may reach below zero, where there are no factors.
  if (state.range === "log") return [Math.max(low, Math.min(...means) / 10) / 1.1, high * 1.1];
  if (state.range === "zero" && low >= 0) return [0, high > 0 ? high * 1.06 : 1];
  const room = Math.max((high - low) * 0.08, Math.abs(high) * 0.002, 1e-9);
  // Nothing that is plotted is below zero, but an interval may be.
  return [low >= 0 ? Math.max(0, low - room) : low - room, high + room];
}

function xRange(positions: number[], isNumeric: boolean): [number, number] {
  const [first, last] = [positions[0] ?? 0, positions[positions.length - 1] ?? 0];
  if (!isNumeric || first === last) return [first - 0.5, last + 0.5];
  if (state.log) {
    const room = Math.pow(last / first, 0.04);
    return [first / room, last * room];
  }
  return [first - (last - first) * 0.04, last + (last - first) * 0.04];
}

/** About the width of a letter under an axis, px. */
const LETTER = 6.6;

/** What stands under the axis of a plot so wide: names, shortened to the room that each has, or the numbers that have room. */
function ticks(width: number): { x: number; text: string }[] {
  const { places, positions, isNumeric } = along();
  const texts = places.map((place) => page.axes[state.x]!.values[place]!);
  const [from, to] = xRange(positions, isNumeric);
  const room = width - 80;
  if (!isNumeric) {
    const most = Math.max(2, Math.floor(room / texts.length / LETTER) - 1);
    return positions.map((x, i) => ({ x, text: texts[i]!.length > most ? `${texts[i]!.slice(0, most - 1)}…` : texts[i]! }));
  }
  const part = (x: number) => (state.log ? Math.log(x / from) / Math.log(to / from) : (x - from) / (to - from));
  let end = -Infinity;
  return positions
    .map((x, i) => ({ x, text: texts[i]! }))
    .filter(({ x, text }) => {
      const half = (text.length * LETTER) / 2 + 4;
      const middle = part(x) * room;
      if (middle - half < end) return false;
      end = middle + half;
      return true;
    });
}

/**
 * Where the values of each scheme are drawn, one place of the axis after the other. Schemes share the positions of numbers;
 * over a name they stand beside each other.
 */
function spread(): { xs: number[]; each: number; index: (place: number, scheme: number) => number } {
  const { positions, isNumeric } = along();
  const schemes = page.schemes.length;
  if (isNumeric) return { xs: positions, each: 1, index: (place) => place };
  const step = Math.min(0.12, 0.7 / schemes);
  const xs = positions.flatMap((x) => page.schemes.map((_, i) => x + (i - (schemes - 1) / 2) * step));
  return { xs, each: schemes, index: (place, scheme) => place * schemes + scheme };
}

let plots: { plot: uPlot; small: Small }[] = [];
const grid = h("div", { class: "smalls" });
const legend = h("div", { class: "schemes", role: "group", "aria-label": "Schemes" });
const reading = h("p", { class: "status reading", role: "status" });
const left = h("p", { class: "more" });

function draw(): void {
  for (const { plot } of plots) plot.destroy();
  drawn.clear();
  plots = [];
  const all = smalls();
  const shown = all.slice(0, MOST);
  const { name, scale } = unit();
  const [low, high] = range(shown, scale);
  grid.classList.toggle("single", shown.length === 1);
  const places = shown.map((small) => {
    const place = h("div", {
      class: "plot",
      tabindex: "0",
      role: "group",
      "aria-label": `${metric().title} over ${page.axes[state.x]!.name}${small.name && `, ${small.name}`}. Arrow keys read values.`,
    });
    return [small, place] as const;
  });
  grid.replaceChildren(
    ...places.map(([small, place]) =>
      h(
        "figure",
        {},
        h(
          "div",
          { class: "plot-head" },
          h("h3", {}, small.name || metric().title, name ? h("span", { class: "unit" }, name) : null),
          saveButtons(() => fileName(document.querySelector("h1")!.textContent!, metric().title, small.name), () => asFigure(small)),
        ),
        place,
      ),
    ),
  );
  for (const [small, place] of places) {
    const plot = new uPlot(options(small, name, scale, [low, high]), data(small, scale), place);
    place.addEventListener("keydown", (event) => key(event, plot));
    plots.push({ plot, small });
    drawn.set(small.name || "all", plot);
  }
  fit();
  left.textContent =
    all.length > shown.length ? `${shown.length} of ${all.length} plots are shown: choose values of the other axes.` : "";
  left.hidden = left.textContent === "";
  read(null, null);
}

/** What is shown of a plot, as a figure. */
function asFigure(small: Small): Figure {
  const { places, positions, isNumeric } = along();
  const { name, scale } = unit();
  const { unit: inFiles, times } = figureUnit(name);
  const axis = page.axes[state.x]!;
  const shown = page.schemes.map((_, scheme) => scheme).filter((scheme) => !state.hidden.has(scheme));
  const at = (scheme: number, side: number) =>
    small.lines[scheme]!.map((value) => (value && isNumber(value[0]) ? (value[0] + side * interval(value)) * scale * times : null));
  const style = (scheme: number) => page.styles[scheme] ?? scheme;
  const [low, high] = range([small], scale);
  const part = page.parts[state.part] ?? "";
  const unitOfAxis = axis.unit && axis.unit !== "1" ? axis.unit : "";
  return {
    source: `${document.querySelector("h1")!.textContent!}, ${figure().of}, ${part.toLowerCase()}${small.name && `, ${small.name}`}`,
    panels: [
      {
        x: isNumeric
          ? { label: axis.name, unit: unitOfAxis, scale: state.log ? "log" : "linear", range: xRange(positions, true) }
          : { label: axis.name, unit: "", scale: "categories", categories: places.map((place) => axis.values[place]!) },
        y: { label: inSentence(metric().title), unit: inFiles, scale: state.range === "log" ? "log" : "linear", range: [low * times, high * times] },
        layers: shown.flatMap((scheme): Layer[] => {
          const own = { name: page.schemes[scheme]!, style: style(scheme) };
          const [x, y, down, up] = [positions, at(scheme, 0), at(scheme, -1), at(scheme, 1)];
          if (!isNumeric) return [{ ...own, shape: { kind: "points", x, y, low: down, high: up } }];
          return [
            { ...own, shape: { kind: "band", x, low: down, high: up } },
            { ...own, shape: { kind: "line", x, y, markers: "all" } },
          ];
        }),
      },
    ],
    legend: shown.map((scheme) => ({ name: page.schemes[scheme]!, style: style(scheme), sign: isNumeric ? ("marked-line" as const) : ("marker" as const) })),
  };
}

/** Means of each scheme, then the ends of its interval. */
function data(small: Small, scale: number): uPlot.AlignedData {
  const lowest = state.range === "log" ? 1e-300 : -Infinity;
  const { xs, index } = spread();
  const column = (line: (Value | null)[], scheme: number, side: number) => {
    const column = new Array<number | null>(xs.length).fill(null);
    line.forEach((value, place) => {
      if (!value || !isNumber(value[0])) return;
      column[index(place, scheme)] = Math.max(lowest, (value[0] + side * interval(value)) * scale);
    });
    return column;
  };
  const columns = small.lines.flatMap((line, scheme) => [0, 1, -1].map((side) => column(line, scheme, side)));
  return [xs, ...columns];
}

function options(small: Small, name: string, scale: number, [low, high]: [number, number]): uPlot.Options {
  const font = `11px ${css("--font")}`;
  const axis = {
    stroke: () => css("--ink-2"),
    font,
    labelFont: font,
    grid: { stroke: () => css("--grid"), width: 1 },
    ticks: { stroke: () => css("--grid"), width: 1, size: 4 },
  };
  const { positions, isNumeric } = along();
  const { each } = spread();
  const x = page.axes[state.x]!;
  const show = (scheme: number) => !state.hidden.has(scheme);
  return {
    width: 400,
    height: 260,
    padding: [8, 14, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, y: false, points: { size: 8 } },
    scales: {
      x: { time: false, distr: state.log && isNumeric ? 3 : 1, range: () => xRange(positions, isNumeric) },
      y: { distr: state.range === "log" ? 3 : 1, range: () => [low, high] },
    },
    axes: [
      {
        ...axis,
        label: x.name,
        labelSize: 18,
        labelGap: 0,
        size: 26,
        gap: 4,
        splits: (plot) => ticks(plot.width).map((tick) => tick.x),
        filter: (_plot, splits) => splits,
        values: (plot) => ticks(plot.width).map((tick) => tick.text),
      },
      {
        ...axis,
        label: name || metric().title,
        labelSize: 16,
        labelGap: 0,
        size: 52,
        gap: 4,
        values: (_plot, splits) =>
          splits.map((split) => (isNumber(split) ? grouped(String(parseFloat(split.toPrecision(6)))) : "")),
      },
    ],
    series: [
      {},
      ...page.schemes.flatMap((scheme, i): uPlot.Series[] => {
        const colour = () => ofPair(colours[i]!);
        const end: uPlot.Series = { show: show(i), width: 0, points: { show: false }, stroke: "transparent" };
        return [
          {
            label: scheme,
            show: show(i),
            stroke: colour,
            width: 1.75,
            // Between names there is nothing.
            paths: isNumeric ? uPlot.paths.linear!() : () => null,
            dash: dashes[i],
            spanGaps: true,
            points: { show: true, size: isNumeric ? 5 : 8, fill: colour, stroke: colour },
          },
          end,
          end,
        ];
      }),
    ],
    bands: isNumeric
      ? page.schemes.map((_, i) => ({ series: [3 * i + 2, 3 * i + 3] as [number, number], fill: () => faint(i) }))
      : [],
    hooks: {
      draw: [(plot) => whiskers(plot, small, scale)],
      setCursor: [
        (plot) => {
          const at = plot.cursor.idx;
          read(small, isNumber(at) && (plot.cursor.left ?? -1) >= 0 ? Math.floor(at / each) : null);
        },
      ],
    },
  };
}

const faint = (scheme: number) => `${ofPair(colours[scheme]!)}2e`;

/** The interval of each value, as a line with ends. */
function whiskers(plot: uPlot, small: Small, scale: number): void {
  const { ctx } = plot;
  const { xs, index } = spread();
  const pixel = devicePixelRatio;
  ctx.save();
  ctx.lineWidth = 1.25 * pixel;
  small.lines.forEach((line, scheme) => {
    if (state.hidden.has(scheme)) return;
    ctx.strokeStyle = ofPair(colours[scheme]!);
    ctx.beginPath();
    line.forEach((value, i) => {
      if (!value || !isNumber(value[0]) || interval(value) === 0) return;
      const x = plot.valToPos(xs[index(i, scheme)]!, "x", true);
      const ends = [-1, 1].map((side) => {
        const end = (value[0]! + side * interval(value)) * scale;
        return plot.valToPos(Math.max(end, plot.scales["y"]!.min!), "y", true);
      });
      ctx.moveTo(x, ends[0]!);
      ctx.lineTo(x, ends[1]!);
      for (const end of ends) {
        ctx.moveTo(x - 3 * pixel, end);
        ctx.lineTo(x + 3 * pixel, end);
      }
    });
    ctx.stroke();
  });
  ctx.restore();
}

function fit(): void {
  // Columns that nothing is in have no width.
  const columns = getComputedStyle(grid).gridTemplateColumns.split(" ").filter((width) => parseFloat(width) > 0).length;
  const width = Math.max(200, Math.floor((grid.clientWidth - 16 * (columns - 1)) / columns));
  const height = grid.classList.contains("single") ? 340 : 240;
  for (const { plot } of plots) {
    if (plot.width !== width || plot.height !== height) plot.setSize({ width, height });
  }
}

function key(event: KeyboardEvent, plot: uPlot): void {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (step === undefined && event.key !== "Escape") return;
  event.preventDefault();
  if (step === undefined) {
    plot.setCursor({ left: -10, top: -10 });
    return;
  }
  const { positions } = along();
  const shown = (plot.cursor.left ?? -1) >= 0 ? plot.cursor.idx : null;
  const now = isNumber(shown) ? Math.floor(shown / spread().each) : step > 0 ? -1 : positions.length;
  const next = Math.min(positions.length - 1, Math.max(0, now + step));
  plot.setCursor({ left: plot.valToPos(positions[next]!, "x"), top: plot.over.clientHeight / 2 });
}

// ---- Schemes and readings

const readings = page.schemes.map(() => h("small"));
const buttons = page.schemes.map((name, i) => {
  const button = h(
    "button",
    { type: "button", class: "line", "aria-pressed": "true", title: "Show or hide this scheme" },
    swatch(),
    h("span", {}, h("span", {}, name), " ", readings[i]!),
  );
  button.addEventListener("click", () => {
    if (!state.hidden.delete(i)) state.hidden.add(i);
    button.setAttribute("aria-pressed", String(!state.hidden.has(i)));
    draw();
  });
  return button;
});
legend.append(...buttons);

function paintSwatches(): void {
  buttons.forEach((button, i) => {
    const line = button.querySelector("svg line")!;
    line.setAttribute("stroke", ofPair(colours[i]!));
    line.setAttribute("stroke-dasharray", dashes[i]!.join(" "));
  });
}

/** Says the values under the crosshair. */
function read(small: Small | null, at: number | null): void {
  const { name, scale } = unit();
  const { places } = along();
  const axis = page.axes[state.x]!;
  readings.forEach((cell, scheme) => {
    cell.textContent = small && at !== null ? `${said(small.lines[scheme]![at], scale)} ${name}` : "";
  });
  reading.textContent =
    small && at !== null
      ? `${axis.name} = ${axis.values[places[at]!]}${small.name && `, ${small.name}`}`
      : "Point at a plot, or use the arrow keys in it, to read its values.";
}

// ---- The table

const figures = h("div", { id: "figures" });

function tabulate(): void {
  const { name, scale } = unit();
  const now = values();
  const rows = page.rows.map((row, i) => ({ ...row, value: now[i] ?? null }));
  type Shown = (typeof rows)[number];
  const part = page.parts[state.part] ?? "";
  const trouble = rows.some((row) => row.trouble !== null);
  figures.replaceChildren(
    table<Shown>(
      `${metric().title}, ${figure().of}, ${part.toLowerCase()}`,
      [
        ...page.axes.map((axis, i) => ({
          title: axis.name,
          text: (row: Shown) => axis.values[row.at[i]!]!,
          key: (row: Shown) => axis.positions[row.at[i]!] ?? axis.values[row.at[i]!]!,
        })),
        { title: "scheme", text: (row) => page.schemes[row.scheme]!, key: (row) => row.scheme },
        { title: "mean", unit: name, text: (row) => said(row.value, scale), key: (row) => row.value?.[0] ?? null, number: true },
        { title: "seeds", text: (row) => count(row.value?.[2]), key: (row) => row.value?.[2] ?? null, number: true },
        { title: "distinct", text: (row) => count(row.value?.[3]), key: (row) => row.value?.[3] ?? null, number: true },
        ...(trouble ? [{ title: "note", text: (row: Shown) => row.trouble ?? "", key: (row: Shown) => row.trouble }] : []),
      ],
      rows,
    ),
  );
}

// ---- What is chosen

const tools = h("span", { class: "tools" });

function chooseAxisDefaults(): void {
  const axis = page.axes[state.x]!;
  const positive = axis.positions.length > 2 && axis.positions.every((x) => x > 0);
  // Values that grow by factors are drawn by factors.
  const sorted = [...axis.positions].sort((a, b) => a - b);
  const ratio = positive ? sorted[sorted.length - 1]! / sorted[0]! : 1;
  const gaps = sorted.slice(1).map((x, i) => x - sorted[i]!);
  state.log = positive && ratio >= 8 && Math.max(...gaps) > 3 * Math.min(...gaps);
  state.only.clear();
}

function show(): void {
  offer();
  draw();
  tabulate();
}

/** The choices that what is shown now allows. */
function offer(): void {
  const focused = document.activeElement?.getAttribute("aria-label");
  const list = (names: string[]): [string, string][] => names.map((name, i) => [String(i), name]);
  state.of = figure().of;
  const parts: (HTMLElement | null)[] = [
    select("Figure to plot", list(page.metrics.map((one) => one.title)), String(state.metric), (value) => {
      state.metric = Number(value);
      state.range = metric().key.endsWith("jain") ? "fit" : "zero";
      show();
    }),
    metric().figures.length > 1
      ? select("Flows or link", metric().figures.map((one): [string, string] => [one.of, one.of]), state.of, (value) => {
          state.of = value;
          show();
        })
      : null,
    page.parts.length > 1
      ? select("Part of the run", list(page.parts), String(state.part), (value) => {
          state.part = Number(value);
          show();
        })
      : null,
  ];
  if (page.axes.length > 1) {
    const names = page.axes.map((axis) => `over ${axis.name}`);
    parts.push(
      select("Axis of the plots", list(names), String(state.x), (value) => {
        state.x = Number(value);
        chooseAxisDefaults();
        show();
      }),
    );
  }
  for (const axis of others()) {
    const { name, values } = page.axes[axis]!;
    const each: [string, string][] = [[EACH, `each ${name}`], ...list(values.map((value) => `${name} = ${value}`))];
    parts.push(
      select(`Value of ${name}`, each, String(state.only.get(axis) ?? EACH), (value) => {
        if (value === EACH) state.only.delete(axis);
        else state.only.set(axis, Number(value));
        show();
      }),
    );
  }
  const { positions } = page.axes[state.x]!;
  if (positions.length > 1 && positions.every((x) => x > 0)) {
    parts.push(
      choice("Scale of the axis", [["linear", "x linear"], ["log", "x log"]], state.log ? "log" : "linear", (value) => {
        state.log = value === "log";
        draw();
      }),
    );
  }
  const ranges: [Range, string][] = [["zero", "y from 0"], ["fit", "y fitted"]];
  if (values().every((value) => !value || !isNumber(value[0]) || value[0] > 0)) ranges.push(["log", "y log"]);
  else if (state.range === "log") state.range = "zero";
  parts.push(
    choice("Range of values", ranges, state.range, (value) => {
      state.range = value;
      draw();
    }),
  );
  tools.replaceChildren(...parts.filter((part) => part !== null));
  if (focused) tools.querySelector<HTMLElement>(`[aria-label="${CSS.escape(focused)}"]`)?.focus();
}

const place = document.getElementById("plots")!;
if (page.metrics.length > 0) {
  const hint =
    page.seeds > 1
      ? "Means over the seeds; bands and bars are 95 % confidence intervals. Where all seeds agree there is none. Distinct is the number of different values among the seeds: where it is 1, more seeds tell nothing more."
      : "One seed: there are no intervals.";
  const groups =
    page.groups_left_out > 0 ? ` ${count(page.groups_left_out)} groups of flows are not in this page: see sweep.json.` : "";
  place.replaceWith(
    section("sweep", "Over the axes", [tools], legend, reading, grid, left, h("p", { class: "said" }, hint + groups), figures),
  );
  new ResizeObserver(fit).observe(grid);
  onTheme(() => {
    paintSwatches();
    for (const { plot } of plots) plot.redraw();
  });
  paintSwatches();
  chooseAxisDefaults();
  show();
} else {
  place.replaceWith(section("sweep", "Over the axes", [], h("p", { class: "none" }, "No run completed: there is nothing to plot.")));
}
window.weirSweep = { plots: drawn };
