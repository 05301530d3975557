// Cumulative distributions: of one quantity, several curves.

import type { Curves } from "./data";
import { choice } from "./dom";
import { significant } from "./format";
import { Board, type Line, type Panel, TimeRange } from "./plots";

/** Names of what has distributions, and what the curves of each are. */
export const QUANTITIES: Record<string, [title: string, about: string]> = {
  delay: ["Delay", "From the first transmission of an Interest to its Data, each Data."],
  queueing: ["Queueing delay", "Each packet in front of a link."],
  completion: ["Completion", "From the start of a flow to its last Data, each flow that completed."],
  slowdown: ["Slowdown", "The completion over the time that the flow would take alone on an empty network, each flow that completed."],
};

/** The first value that can be drawn by factors. */
const lowest = (at: number[]) => at.find((value) => value > 0) ?? 0;

/** Whether values are spread so far that they are read better by factors. */
export function isSpread({ at }: Curves): boolean {
  return lowest(at) > 0 && at[at.length - 1]! / lowest(at) > 30;
}

/** Whether values can be drawn by factors. */
export function hasScale({ at }: Curves): boolean {
  return lowest(at) > 0;
}

/** The choice of a scale, where there is one. */
export function scaleChoice(curves: Curves, isLog: boolean, choose: (isLog: boolean) => void): HTMLElement | null {
  if (!hasScale(curves)) return null;
  return choice("Scale of the axis", [["linear", "x linear"], ["log", "x log"]], isLog ? "log" : "linear", (value) => choose(value === "log"));
}

/** How the curve at a place looks. */
type Look = (place: number) => Omit<Line, "values" | "id">;

/** The ends of the axis, and the smallest part of it that is shown. */
function extent({ at }: Curves, isLog: boolean): [start: number, end: number, step: number] {
  const last = Math.max(at[at.length - 1] ?? 0, 1e-9);
  const first = isLog ? lowest(at) : 0;
  return [first, Math.max(last, first * 1.01), isLog ? first / 1000 : last / 1000];
}

function lines({ curves }: Curves, look: Look): Line[] {
  return curves.map((curve, place) => ({
    ...look(place),
    id: `${place} ${curve.kind} ${curve.of}`,
    values: [curve.parts.map((part) => part * 100)],
  }));
}

function panels({ what }: Curves): Panel[] {
  return [{ id: what, title: "Part of the values", unit: "%", height: 240, fromZero: true, top: 100 }];
}

export function distributionBoard(curves: Curves, isLog: boolean, look: Look): Board {
  const { what, unit, at } = curves;
  const title = (QUANTITIES[what] ?? [what])[0];
  const named = unit === "1" ? "" : unit;
  const board = new Board(
    "distribution",
    at,
    panels(curves),
    new TimeRange(...extent(curves, isLog)),
    {
      label: named ? `${title.toLowerCase()}, ${named}` : title.toLowerCase(),
      quantity: title.toLowerCase(),
      unit: named,
      isLog,
      sync: "weir-distribution",
      idle: "the part of the values up to the crosshair",
      text: (value) => significant(value, 4) + (named && ` ${named}`),
    },
  );
  board.show(lines(curves, look));
  return board;
}

/** Puts other values of the same quantity, on the same scale, into its board. */
export function updateDistribution(board: Board, curves: Curves, isLog: boolean, look: Look): void {
  board.update(curves.at, panels(curves), lines(curves, look));
  board.range.grow(...extent(curves, isLog));
}

/** What a curve is of, in words. */
export function curveName({ kind, of }: { kind: string; of: string }): string {
  if (of === "") return "all links";
  return kind === "class" ? `class ${of}` : of.replace("->", " → ");
}
