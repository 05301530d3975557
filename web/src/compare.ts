// The page of a comparison: which scheme is better and its tables are in the page already. This draws the schemes beside each
// other: one figure against another, bars with each seed, distributions, and last the runs over time.

import "uplot/dist/uPlot.min.css";
import "./report.css";
import "./compare.css";
import "./summary";
import { type Curves, type TrafficColumns, unpack } from "./data";
import { curveName, distributionBoard, isSpread, QUANTITIES, scaleChoice } from "./distributions";
import { h, section, select } from "./dom";
import type { Figure } from "./figure";
import { count, inSentence, isNumber, large, millis, rateUnit, seconds, significant } from "./format";
import { Board, common, drawn, type Line, TimeRange } from "./plots";
import { fileName, saveButtons } from "./save";
import { bars, covariance, type Measured, scatter } from "./svgplot";
import { objectStyle, styleOf } from "./theme";
import { resetButton, trafficPanels } from "./traffic";

declare global {
  interface Window {
    /** What is drawn, for tests and for the curious: plots by name. */
    weirCompare: { plots: typeof drawn; range: TimeRange | null };
  }
}

type Quantity = "rate" | "ms" | "s" | "count" | "percent" | "plain";

/** A figure of all flows together, for each scheme. */
interface SchemesFigure {
  key: string;
  title: string;
  quantity: Quantity;
  is_more_better: boolean;
  of: { measured: { mean: number; ci95: number | null } | null; values: (number | null)[] }[];
  /** For each scheme whether it is the best, or as good. */
  is_best: boolean[];
}

/** What a line is about. */
interface Row {
  name: string;
  class: string;
  is_flow: boolean;
  /** The largest mean of all schemes. */
  goodput_bps: number;
}

/** The JSON that the crate weir-results puts beside it (overlay.rs). */
interface Page {
  title: string;
  scenario: string;
  seeds: number[];
  schemes: string[];
  /** For each scheme the number of its style. */
  styles: number[];
  /** The part of the runs that is shown first. */
  first: number;
  /** Their schemes have the marks of those that know no classes. */
  periods: { title: string; schemes: string[]; figures: SchemesFigure[] }[];
  /** A curve for each scheme. */
  distributions: Curves[];
  series: {
    time: { step_s: number; points: number; merged: number };
    seed: number;
    /** Classes, then flows. */
    rows: Row[];
    /** For each scheme, beside the rows. */
    of: TrafficColumns[][];
  } | null;
}

/** Flows that are shown under each scheme. */
const TOP = 8;

const page = JSON.parse(document.getElementById("data")!.textContent!) as Page;
const style = (scheme: number) => page.styles[scheme] ?? scheme;
const lineOf = (scheme: number): Omit<Line, "values" | "id"> => {
  const { colour, dash } = styleOf(style(scheme));
  return { name: page.schemes[scheme]!, colour, dash, style: style(scheme) };
};
const seedsText = page.seeds.length === 1 ? `seed ${page.seeds[0]}` : `${page.seeds.length} seeds`;
common.name = fileName(page.scenario.replace(/^.*\//, "").replace(/\.toml$/, ""));

// ---- Figures of all flows together

interface Shown {
  unit: string;
  /** The unit in files, and what one of the page's unit is there. */
  inFiles: { unit: string; times: number };
  scale: number;
  text: (value: number) => string;
}

function unitOf(figure: SchemesFigure): Shown {
  const largest = Math.max(0, ...figure.of.map(({ measured }) => Math.abs(measured?.mean ?? 0)));
  const plain = (unit: string, text: (value: number) => string): Shown => ({ unit, inFiles: { unit, times: 1 }, scale: 1, text });
  switch (figure.quantity) {
    case "rate": {
      const { name, scale } = rateUnit(largest);
      return { unit: name, inFiles: { unit: "bit/s", times: 1 / scale }, scale, text: (value) => significant(value, 4) };
    }
    case "percent":
      return { unit: "%", inFiles: { unit: "%", times: 1 }, scale: 100, text: (value) => significant(value, 4) };
    case "ms":
      return plain("ms", millis);
    case "s":
      return plain("s", seconds);
    case "count":
      return plain("packets", count);
    case "plain":
      return plain("", (value) => significant(value, 4));
  }
}

function measuredOf(figure: SchemesFigure, schemes: string[]): { rows: Measured[]; shown: Shown } {
  const shown = unitOf(figure);
  const rows = figure.of.map(({ measured, values }, i): Measured => {
    const mean = measured ? measured.mean * shown.scale : null;
    const ci95 = measured && isNumber(measured.ci95) ? measured.ci95 * shown.scale : null;
    const interval = ci95 ? ` ± ${significant(ci95, 2)}` : "";
    const text = mean === null ? "no value" : `${shown.text(mean)}${interval}${shown.unit && ` ${shown.unit}`}`;
    const isBest = figure.is_best[i] ?? false;
    return { name: schemes[i]!, style: style(i), mean, ci95, values: values.map((v) => (v === null ? null : v * shown.scale)), text, isBest };
  });
  return { rows, shown };
}

function barsFigure(figure: SchemesFigure, period: string, schemes: string[]): Figure {
  const { rows, shown } = measuredOf(figure, schemes);
  const { unit, times } = shown.inFiles;
  return {
    source: `${page.title}, ${period}, ${seedsText}; intervals: 95 %`,
    panels: [
      {
        x: { label: "", unit: "", scale: "categories", categories: schemes },
        y: { label: inSentence(figure.title), unit, range: [0, null] },
        layers: rows.map((row, i) => {
          const ends = (side: number) => (row.mean === null || !row.ci95 ? null : (row.mean + side * row.ci95) * times);
          const seeds = row.values.flatMap((value, k) => (value === null ? [] : [{ x: i, y: value * times, seed: page.seeds[k] ?? k }]));
          return {
            name: row.name,
            style: row.style,
            shape: {
              kind: "bars" as const,
              x: [i],
              y: [row.mean === null ? null : row.mean * times],
              low: [ends(-1)],
              high: [ends(1)],
              slot: 0,
              slots: 1,
              seeds: page.seeds.length > 1 ? seeds : [],
            },
          };
        }),
      },
    ],
  };
}

/** The figures beside each other, over a chosen part of the runs. */
function figures(): HTMLElement | null {
  if (page.periods.every((period) => period.figures.length === 0)) return null;
  const place = h("div", { class: "bars-of-schemes" });
  const show = (at: number) => {
    const { title, schemes, figures } = page.periods[at]!;
    place.replaceChildren(
      ...figures.map((figure) => {
        const { rows, shown } = measuredOf(figure, schemes);
        const better = page.schemes.length > 1 ? (figure.is_more_better ? "more is better" : "less is better") : "";
        const unit = [shown.unit, better].filter((part) => part).join(", ");
        const tools = saveButtons(() => fileName(common.name, figure.key), () => barsFigure(figure, title, schemes));
        return bars(figure.title, unit, rows, tools);
      }),
    );
  };
  show(page.first);
  const hint = page.seeds.length > 1 ? "a dot a seed; lines with ends are 95 % intervals" : "one seed: there are no intervals";
  return section("bars", "Figure by figure", [periodChoice("Part of the runs of the bars", show), h("span", { class: "hint" }, hint)], place);
}

function periodChoice(label: string, show: (at: number) => void): HTMLElement | null {
  if (page.periods.length < 2) return null;
  const names = page.periods.map(({ title }, i): [string, string] => [String(i), title]);
  return select(label, names, String(page.first), (value) => show(Number(value)));
}

/** The pairs of figures that are plotted first: the first one that is known. */
const PAIRS: [x: string, y: string][] = [["delay", "goodput"], ["slowdown", "slowdown-p99"]];

/** Goodput against delay, or another pair of figures. */
function against(): HTMLElement | null {
  const keys = new Set(page.periods[page.first]!.figures.map(({ key }) => key));
  const first = PAIRS.find((pair) => pair.every((key) => keys.has(key)));
  if (!first || page.schemes.length < 2) return null;
  const place = h("div");
  const state = { at: page.first, x: first[0], y: first[1] };
  const tools = h("span", { class: "tools" });
  const pair = () => {
    const { schemes, figures } = page.periods[state.at]!;
    const [x, y] = [state.x, state.y].map((key) => figures.find((one) => one.key === key) ?? figures[0]!);
    return { x: x!, y: y!, schemes };
  };
  const points = () => {
    const { x, y, schemes } = pair();
    const [ofX, ofY] = [measuredOf(x, schemes), measuredOf(y, schemes)];
    const all = ofX.rows.flatMap((row, i) => {
      const other = ofY.rows[i]!;
      if (row.mean === null || other.mean === null) return [];
      const seeds = row.values.flatMap((value, k): [number, number][] => (isNumber(value) && isNumber(other.values[k]) ? [[value, other.values[k]!]] : []));
      return [{ name: row.name, style: row.style, x: row.mean, y: other.mean, seeds, text: `${other.text}, ${row.text}` }];
    });
    return { all, ofX, ofY };
  };
  const figure = (): Figure => {
    const { x, y } = pair();
    const { all, ofX, ofY } = points();
    const [tx, ty] = [ofX.shown.inFiles.times, ofY.shown.inFiles.times];
    return {
      source: `${page.title}, ${page.periods[state.at]!.title}, ${seedsText}; ellipses: one standard deviation of the seeds`,
      panels: [
        {
          x: { label: inSentence(x.title), unit: ofX.shown.inFiles.unit },
          y: { label: inSentence(y.title), unit: ofY.shown.inFiles.unit },
          layers: all.flatMap((point) => {
            const [xx, xy, yy] = covariance(point.seeds);
            const own = { name: point.name, style: point.style };
            const spread = { kind: "ellipse" as const, x: point.x * tx, y: point.y * ty, covariance: [xx * tx * tx, yy * ty * ty, xy * tx * ty] };
            const dot = { kind: "points" as const, x: [point.x * tx], y: [point.y * ty], named: true };
            return [...(point.seeds.length > 1 ? [{ ...own, shape: spread }] : []), { ...own, shape: dot }];
          }),
        },
      ],
    };
  };
  const show = () => {
    const { x, y } = pair();
    const { all, ofX, ofY } = points();
    const corner = `${y.is_more_better ? "up" : "down"} and ${x.is_more_better ? "right" : "left"} is better`;
    place.replaceChildren(
      h("div", { class: "plot-head" }, h("h3", {}, `${y.title} against ${inSentence(x.title)}`, h("span", { class: "unit" }, corner)), saveButtons(() => fileName(common.name, y.key, "against", x.key), figure)),
      scatter({ title: x.title, unit: ofX.shown.unit }, { title: y.title, unit: ofY.shown.unit }, all),
    );
  };
  const offer = () => {
    const names = page.periods[state.at]!.figures.map(({ key, title }): [string, string] => [key, title]);
    const parts = [
      select("Figure upwards", names, state.y, (value) => ((state.y = value), show())),
      select("Figure to the right", names, state.x, (value) => ((state.x = value), show())),
      periodChoice("Part of the runs of the plot", (at) => ((state.at = at), show())),
    ];
    tools.replaceChildren(...parts.filter((part) => part !== null));
  };
  offer();
  show();
  const hint = page.seeds.length > 1 ? "ellipses: one standard deviation of the seeds" : "";
  return section("against", "What each scheme trades", [tools, h("span", { class: "hint" }, hint)], place);
}

function distributions(): HTMLElement | null {
  if (page.distributions.length === 0) return null;
  const place = h("div");
  const scale = h("span", { class: "tools" });
  let board: Board | null = null;
  let chosen = 0;
  const show = (wantsLog: boolean | null) => {
    const curves = page.distributions[chosen]!;
    const isLog = wantsLog ?? isSpread(curves);
    board?.remove();
    board = distributionBoard(curves, isLog, (scheme) => ({ ...lineOf(scheme), note: large(curves.curves[scheme]!.count) }));
    const about = (QUANTITIES[curves.what] ?? [curves.what, ""])[1];
    scale.replaceChildren(...[scaleChoice(curves, isLog, show)].filter((one) => one !== null));
    place.replaceChildren(h("p", {}, about), board.element);
  };
  const names = page.distributions.map((one, i): [string, string] => {
    return [String(i), `${(QUANTITIES[one.what] ?? [one.what])[0]}, ${curveName(one.curves[0]!)}`];
  });
  show(null);
  const hint = h("span", { class: "hint" }, `whole run, ${page.seeds.length > 1 ? `all ${seedsText} together` : seedsText}`);
  const chooser = select("Quantity", names, "0", (value) => ((chosen = Number(value)), show(null)));
  return section("distributions", "Distributions", [chooser, scale, hint], place);
}

// ---- Over time

/** Steps that a page shows first: about as many, and of a length that reads well. */
const STEPS = 100;

/** The lengths of steps that are offered: that of the data, and round multiples of it. */
function stepLengths(step: number, points: number): { merged: number; text: string }[] {
  const round = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
  const merged = [1, ...round.map((s) => Math.round(s / step)).filter((n) => n > 1 && points / n >= 8)];
  return [...new Set(merged)].map((n) => ({ merged: n, text: `${seconds(n * step)} s` }));
}

/** A line of longer steps: means of rates, means of delays by rate, sums of counts. */
function merge(columns: TrafficColumns, points: number, scale: number, merged: number): Line["values"] {
  const goodput = unpack(columns.goodput_bps, points, scale);
  const delay = unpack(columns.delay_ms, points, 1);
  const steps = Array.from({ length: Math.ceil(points / merged) }, (_, k) => [k * merged, Math.min(points, (k + 1) * merged)] as const);
  const over = (values: (number | null)[], weight: (k: number) => number) =>
    steps.map(([from, to]) => {
      let [sum, total] = [0, 0];
      for (let k = from; k < to; k++) {
        const value = values[k];
        if (isNumber(value)) [sum, total] = [sum + value * weight(k), total + weight(k)];
      }
      return total > 0 ? sum / total : null;
    });
  const sums = (column: TrafficColumns["lost"]) => {
    const values = unpack(column, points, 1);
    return steps.map(([from, to]) => values.slice(from, to).reduce<number>((sum, value) => sum + (value ?? 0), 0));
  };
  return [over(goodput, () => 1), over(delay, (k) => Math.max(goodput[k] ?? 0, 1e-9)), sums(columns.lost), sums(columns.retransmitted)];
}

let range: TimeRange | null = null;

function overTime(): HTMLElement[] {
  const { series } = page;
  if (!series || series.time.points === 0) return [];
  const { step_s: step, points } = series.time;
  const lengths = stepLengths(step, points);
  const first = lengths.find(({ merged }) => points / merged <= STEPS) ?? lengths[lengths.length - 1]!;
  const own = (range = new TimeRange(0, Math.max(step, points * step), step));
  const state = { merged: first.merged, row: 0 };

  const schemesPlace = h("div");
  const flowsPlace = h("div");
  const all = series.rows.map((_, i) => i).filter((i) => series.rows[i]!.is_flow);
  const fastest = [...all].sort((a, b) => series.rows[b]!.goodput_bps - series.rows[a]!.goodput_bps || a - b);
  const chosen = fastest.slice(0, TOP).sort((a, b) => a - b);

  let boards = new Map<string, Board>();
  const show = () => {
    const { merged } = state;
    const long = step * merged;
    const times = Array.from({ length: Math.ceil(points / merged) }, (_, k) => (k + 0.5) * long);
    for (const board of boards.values()) board.remove();
    boards = new Map();
    const { panels, scale } = trafficPanels(series.rows, long);
    const schemes = new Board("schemes", times, panels, own);
    boards.set("schemes", schemes);
    schemesPlace.replaceChildren(schemes.element);
    schemes.show(
      page.schemes.map((scheme, i) => ({ ...lineOf(i), id: scheme, values: merge(series.of[i]![state.row]!, points, scale, merged) })),
    );
    const ofFlows = trafficPanels(chosen.map((i) => series.rows[i]!), long);
    flowsPlace.replaceChildren(
      ...(chosen.length < 2 ? [] : page.schemes).flatMap((scheme, at) => {
        const board = new Board(`flows-${scheme}`, times, ofFlows.panels.slice(0, 2), own);
        boards.set(scheme, board);
        board.show(
          chosen.map((i, place) => ({
            id: String(i),
            name: series.rows[i]!.name,
            note: series.rows[i]!.class,
            ...objectStyle(place),
            values: merge(series.of[at]![i]!, points, ofFlows.scale, merged).slice(0, 2),
          })),
        );
        return [h("h3", { class: "kind" }, scheme), board.element];
      }),
    );
  };
  common.source = `${page.title}, seed ${series.seed}`;
  const names = series.rows.map(({ name, is_flow }, i): [string, string] => [String(i), is_flow ? name : `class ${name}`]);
  const chooser = select("Class or flow to plot", names, "0", (value) => ((state.row = Number(value)), show()));
  const stepChooser = select(
    "Length of a step",
    lengths.map(({ merged, text }): [string, string] => [String(merged), `steps of ${text}`]),
    String(first.merged),
    (value) => ((state.merged = Number(value)), show()),
  );
  show();
  const others = page.seeds.length > 1 ? h("span", { class: "hint" }, "only the first seed's runs are kept over time") : null;
  const title =
    chosen.length < all.length
      ? `The same ${chosen.length} flows under each scheme: those with the highest goodput under any`
      : "The flows under each scheme";
  return [
    section("schemes", `Over time, seed ${series.seed}`, [h("span", { class: "tools" }, chooser, stepChooser), others, resetButton(own)], schemesPlace),
    ...(chosen.length < 2 ? [] : [section("flows", title, [resetButton(own)], flowsPlace)]),
  ];
}

const [comparison, scatterPlot] = [figures(), against()];
document.getElementById("contest")?.after(...[scatterPlot, comparison, distributions()].filter((part) => part !== null));
document.getElementById("plots")!.replaceWith(...overTime());
window.weirCompare = { plots: drawn, range };
