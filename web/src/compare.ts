// The page of a comparison: its tables are in the page already; this draws what was measured over time.

import "uplot/dist/uPlot.min.css";
import "./report.css";
import "./summary";
import type { TrafficColumns } from "./data";
import { h, section, select } from "./dom";
import { Board, TimeRange, drawn } from "./plots";
import { dash, paletteColour } from "./theme";
import { resetButton, trafficPanels, trafficValues } from "./traffic";

declare global {
  interface Window {
    /** What is drawn, for tests and for the curious: plots by name. */
    weirCompare: { plots: typeof drawn; range: TimeRange };
  }
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
  time: { step_s: number; points: number; merged: number };
  seed: number;
  schemes: string[];
  /** Classes, then flows. */
  rows: Row[];
  /** For each scheme, beside the rows. */
  series: TrafficColumns[][];
}

/** Flows that are shown under each scheme. */
const TOP = 8;

const page = JSON.parse(document.getElementById("data")!.textContent!) as Page;
const { step_s: step, points } = page.time;
const times = Array.from({ length: points }, (_, k) => (k + 0.5) * step);
const range = new TimeRange(0, Math.max(step, points * step), step);

/** One class or flow under all schemes. */
function schemes(): HTMLElement {
  const { panels, scale } = trafficPanels(page.rows, step);
  const board = new Board("schemes", times, panels, range);
  const show = (row: number) =>
    board.show(
      page.schemes.map((scheme, i) => ({
        id: scheme,
        name: scheme,
        colour: paletteColour(i),
        dash: dash(Math.floor(i / 8)),
        values: trafficValues(page.series[i]![row], points, scale),
      })),
    );
  const names = page.rows.map(({ name, is_flow }, i): [string, string] => [String(i), is_flow ? name : `class ${name}`]);
  const chooser = select("Class or flow to plot", names, "0", (value) => show(Number(value)));
  show(0);
  return section(
    "schemes",
    `Over time, seed ${page.seed}`,
    [h("span", { class: "tools" }, chooser), resetButton(range)],
    board.element,
  );
}

/** The flows under each scheme, each scheme by itself. */
function flows(): HTMLElement | null {
  const all = page.rows.map((_, i) => i).filter((i) => page.rows[i]!.is_flow);
  const fastest = [...all].sort((a, b) => page.rows[b]!.goodput_bps - page.rows[a]!.goodput_bps || a - b);
  const chosen = fastest.slice(0, TOP).sort((a, b) => a - b);
  if (chosen.length < 2) return null;
  const { panels, scale } = trafficPanels(chosen.map((i) => page.rows[i]!), step);
  const boards = page.schemes.flatMap((scheme, at) => {
    const board = new Board(`flows-${scheme}`, times, panels.slice(0, 2), range);
    board.show(
      chosen.map((i, place) => ({
        id: String(i),
        name: page.rows[i]!.name,
        note: page.rows[i]!.class,
        colour: paletteColour(place),
        dash: [],
        values: trafficValues(page.series[at]![i], points, scale).slice(0, 2),
      })),
    );
    return [h("h3", { class: "kind" }, scheme), board.element];
  });
  const title =
    chosen.length < all.length
      ? `The same ${chosen.length} flows under each scheme: those with the highest goodput under any`
      : "The flows under each scheme";
  return section("flows", title, [resetButton(range)], ...boards);
}

document.getElementById("plots")!.replaceWith(...[schemes(), flows()].filter((part) => part !== null));
window.weirCompare = { plots: drawn, range };
