// What boards show of classes and flows: goodput, delay, loss, and what was sent again.

import { type FlowColumns, type TrafficColumns, unpack } from "./data";
import { h } from "./dom";
import { rateUnit, seconds } from "./format";
import type { Line, Panel, TimeRange } from "./plots";

/** The panels, and the unit for all goodputs: that of the largest mean. */
export function trafficPanels(rows: { goodput_bps: number | null }[], step: number): { panels: Panel[]; scale: number } {
  const unit = rateUnit(Math.max(0, ...rows.map((row) => row.goodput_bps ?? 0)));
  const per = ` in each ${seconds(step)} s`;
  return {
    scale: unit.scale,
    panels: [
      { id: "goodput", title: "Goodput", unit: unit.name, height: 210, fromZero: true },
      { id: "delay", title: "Delay", unit: "ms", height: 210, fromZero: false, weight: "goodput" },
      {
        id: "lost",
        title: "Lost",
        unit: "packets",
        per,
        height: 120,
        fromZero: true,
        counts: true,
        none: "No Data was lost.",
      },
      {
        id: "retransmitted",
        title: "Retransmitted",
        unit: "packets",
        per,
        height: 120,
        fromZero: true,
        counts: true,
        none: "No Interest was retransmitted.",
      },
    ],
  };
}

/** A line's values, one array a panel. */
export function trafficValues(columns: TrafficColumns | null | undefined, points: number, scale: number): Line["values"] {
  const values = (column: keyof TrafficColumns, by: number) => unpack(columns?.[column] ?? null, points, by);
  return [values("goodput_bps", scale), values("delay_ms", 1), values("lost", 1), values("retransmitted", 1)];
}

/** The further panels of flows: what a flow control steers by. Those that no flow has are left out. */
export function controlPanels(flows: (FlowColumns | null)[], unit: string): Panel[] {
  const has = (column: keyof FlowColumns) => flows.some((flow) => flow != null && flow[column] !== null);
  const panel = (column: keyof FlowColumns, title: string, unit: string): Panel[] =>
    has(column) ? [{ id: column, title, unit, height: 150, fromZero: true }] : [];
  return [
    ...panel("window", "Window", "packets"),
    ...panel("rate_bps", "Rate", unit),
    ...panel("pending", "Pending Interests", "packets"),
    ...panel("srtt_ms", "Smoothed round-trip time", "ms"),
  ];
}

/** A line's values in these panels. */
export function controlValues(columns: FlowColumns | null | undefined, panels: Panel[], points: number, scale: number): Line["values"] {
  return panels.map(({ id }) => unpack(columns?.[id as keyof FlowColumns] ?? null, points, id === "rate_bps" ? scale : 1));
}

export function resetButton(range: TimeRange): HTMLElement {
  const button = h("button", { type: "button", class: "reset", disabled: true, click: () => range.reset() }, "reset zoom");
  range.onChange(() => {
    button.disabled = range.whole;
  });
  return button;
}
