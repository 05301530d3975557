// Cumulative distributions: of one quantity, several curves.

import type { Curves } from "./data";
import { choice } from "./dom";
import { significant } from "./format";
import { Board, type Line, TimeRange } from "./plots";

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

/** The choice of a scale, where there is one. */
export function scaleChoice(curves: Curves, isLog: boolean, choose: (isLog: boolean) => void): HTMLElement | null {
  if (lowest(curves.at) === 0) return null;
  return choice("Scale of the axis", [["linear", "x linear"], ["log", "x log"]], isLog ? "log" : "linear", (value) => choose(value === "log"));
}

export function distributionBoard(curves: Curves, isLog: boolean, line: (place: number) => Omit<Line, "values" | "id">): Board {
  const { what, unit, at } = curves;
  const title = (QUANTITIES[what] ?? [what])[0];
  const named = unit === "1" ? "" : unit;
  const last = Math.max(at[at.length - 1] ?? 0, 1e-9);
  const first = isLog ? lowest(at) : 0;
  const board = new Board(
    "distribution",
    at,
    [{ id: what, title: "Part of the values", unit: "%", height: 240, fromZero: true, top: 100 }],
    new TimeRange(first, Math.max(last, first * 1.01), isLog ? first / 1000 : last / 1000),
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
  board.show(
    curves.curves.map((curve, place) => ({
      ...line(place),
      id: `${place} ${curve.kind} ${curve.of}`,
      values: [curve.parts.map((part) => part * 100)],
    })),
  );
  return board;
}

/** What a curve is of, in words. */
export function curveName({ kind, of }: { kind: string; of: string }): string {
  if (of === "") return "all links";
  return kind === "class" ? `class ${of}` : of.replace("->", " → ");
}
