// What the page is given: the JSON that the crate weir-results puts beside it (html.rs).

export interface Delay {
  mean: number | null;
  p50: number | null;
  p95: number | null;
  p99: number | null;
}

export interface ClassRow {
  class: string;
  goodput_bps: number | null;
  delay_ms: Delay;
  lost: number;
  retransmitted: number;
  timeouts: number;
  completion_s: number | null;
  /** Within the class, without weights; not of flows. */
  jain?: number | null;
}

export interface FlowRow extends ClassRow {
  consumer: string;
  prefix: string;
}

export interface LinkRow {
  from: string;
  to: string;
  rate_bps: number | null;
  utilisation: number | null;
  /** At its queue. */
  drops: number;
  /** At random, on the link. */
  lost: number;
  /** Because the link was down. */
  down: number;
  queue_ms: { mean: number | null; p99: number | null };
}

/** A node with a cache. */
export interface NodeRow {
  node: string;
  cache_hits: number;
  cache_misses: number;
  cache_insertions: number;
  cache_evictions: number;
  /** 0 to 1; null without look-ups. */
  cache_hit_ratio: number | null;
  pit_mean: number | null;
  pit_max: number;
}

/** Requests of a group for objects of some sizes. */
export interface RequestRow {
  group: string;
  size: string;
  came: number;
  completed: number;
  completion_ms: { mean: number | null; p99: number | null };
  slowdown: { mean: number | null; p99: number | null };
  ideal_slowdown: { mean: number | null; p99: number | null } | null;
}

/** Packets that were thrown away for one reason. */
export interface DropRow {
  reason: string;
  place: string;
  data: number;
  interests: number;
}

/** What theory says is best, whatever the scheme. */
export interface Optimum {
  objective: string;
  utilisation: number;
  /** Beside the rows of flows. */
  flows: {
    goodput_bps: number | null;
    /** The same if no consumers shared Data; null where that makes no difference. */
    unshared_goodput_bps: number | null;
  }[];
}

export interface Rows {
  flows: FlowRow[];
  classes: ClassRow[];
  links: LinkRow[];
  /** Those with a cache. */
  nodes: NodeRow[];
  /** Left out without random traffic. */
  requests?: RequestRow[];
  /** Of windows, or of the whole run where there are none. */
  optimum?: Optimum | null;
}

export interface Expectation {
  what: string;
  source: string;
  unit: string;
  stated: number | null;
  measured: number | null;
  tolerance: number | null;
  bound: "about" | "at_most" | "at_least" | "more_than" | "less_than";
  /** Left out where a number is stated. */
  than?: string[];
  /** Null where schemes are compared, which one run cannot tell. */
  holds: boolean | null;
}

export interface RunDocument extends Rows {
  scenario: string;
  scheme: string;
  seed: number;
  set: string[];
  simulated_s: number;
  wall_s: number;
  events: number;
  packet_hops: number;
  /** Of a run in the lab. */
  lab?: { busy: number; doubts: string[] };
  /** Over the whole run. */
  drops: DropRow[];
  /** The part of the Data, 0 to 1. */
  data_thrown_away: number | null;
  windows: (Rows & { from_s: number; to_s: number })[];
  /** What the scenario changes while it runs; left out if nothing. */
  changes?: { at_s: number; what: string }[];
  expectations: Expectation[];
}

/** What a part of the run came to. */
export interface Headline {
  when: string;
  figures: { name: string; value: string; note: string }[];
  sentence: string;
}

/** A series: a number where it never changes, null for none at all, or base64 of 32-bit floats. */
export type Column = number | null | string;

export interface TrafficColumns {
  goodput_bps: Column;
  delay_ms: Column;
  lost: Column;
  retransmitted: Column;
}

/** A flow has what its flow control steers by besides, at the ends of steps. */
export interface FlowColumns extends TrafficColumns {
  window: Column;
  rate_bps: Column;
  pending: Column;
  srtt_ms: Column;
}

export interface LinkColumns {
  utilisation: Column;
  queue_packets: Column;
  queue_ms: Column;
  drops: Column;
}

/** Cumulative distributions of one quantity over a part of the run. */
export interface Curves {
  what: string;
  unit: string;
  /** Values, in `unit`, common to all curves. */
  at: number[];
  /** Each with the part of the values up to each of `at`, 0 to 1. */
  curves: { kind: string; of: string; count: number; parts: number[] }[];
}

export interface Page {
  version: string;
  title: string;
  source: string;
  /** With the rows that are in the page. */
  document: RunDocument;
  /** How many there are, of which the page may have only some. */
  totals: { nodes: number; edges: number; flows: number; links: number; by_flow: boolean };
  verdicts: { kind: string; stated: string; measured: string; tolerance: string }[];
  /** Of the whole run, then of each window. */
  headlines: Headline[];
  time: { step_s: number; points: number; merged: number };
  /** Beside the rows of the document; null for what is not plotted. */
  flows: (FlowColumns | null)[];
  classes: TrafficColumns[];
  links: (LinkColumns | null)[];
  /** Of the whole run, then of each window; empty where a part has none. */
  distributions: Curves[][];
  nodes: { name: string; role: "consumer" | "router" | "producer" | "peer"; x: number; y: number }[];
  /** Among them the pairs of stations of each medium, which is its place among those. */
  edges: { from: string; to: string; rate_bps: number; delay_ms: number; medium: number | null }[];
  media: { name: string; stations: string[]; x: number; y: number }[];
  provenance: [string, string][];
  notes: string[];
  /** The progress of a run that goes on; left out of files. */
  progress?: Progress;
}

/** How far a run is. */
export interface Progress {
  /** The time that the data are up to, s. */
  now_s: number;
  /** The time at which the run ends, s. */
  until_s: number;
  /** Whether these data are the last. */
  is_over: boolean;
  /** The path of the report file that there will be at the end. */
  report: string | null;
}

export function readPage(): Page {
  const text = document.getElementById("data")?.textContent;
  if (!text) throw new Error("the page has no data");
  return JSON.parse(text) as Page;
}

/** Puts newer data into a page and its document. Both stay the same objects. */
export function take(page: Page, next: Page): void {
  const document = replace(page.document, next.document);
  replace(page, { ...next, document });
}

function replace<T extends object>(old: T, next: T): T {
  for (const key of Object.keys(old)) delete old[key as keyof T];
  return Object.assign(old, next);
}

/** The values of a series, scaled; a step without a value is null. */
export function unpack(column: Column, points: number, scale: number): (number | null)[] {
  if (typeof column !== "string") {
    return new Array<number | null>(points).fill(column === null ? null : column * scale);
  }
  const bytes = Uint8Array.from(atob(column), (c) => c.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const values: (number | null)[] = [];
  for (let at = 0; at + 4 <= bytes.length; at += 4) {
    const value = view.getFloat32(at, true);
    values.push(Number.isFinite(value) ? value * scale : null);
  }
  return values;
}
