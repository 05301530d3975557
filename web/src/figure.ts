// The description of a figure, which the crate weir-figure draws as a file: the shape is that of its model.rs.

export type Numbers = (number | null)[];

export interface FigureAxis {
  label: string;
  unit: string;
  scale?: "linear" | "log" | "categories";
  range?: [number | null, number | null];
  categories?: string[];
}

export type Shape =
  | { kind: "line"; x: Numbers; y: Numbers; markers?: "few" | "all" | "none" }
  | { kind: "steps"; x: Numbers; y: Numbers }
  | { kind: "band"; x: Numbers; low: Numbers; high: Numbers }
  | { kind: "points"; x: Numbers; y: Numbers; low?: Numbers; high?: Numbers; named?: boolean }
  | {
      kind: "bars";
      x: Numbers;
      y: Numbers;
      low?: Numbers;
      high?: Numbers;
      slot: number;
      slots: number;
      seeds?: { x: number | null; y: number | null; seed: number }[];
    }
  | { kind: "ellipse"; x: number; y: number; covariance: Numbers }
  | {
      kind: "network";
      nodes: { name: string; x: number; y: number; role: string }[];
      links: { from: number; to: number; value: number | null }[];
    };

export interface Layer {
  name: string;
  style: number;
  shape: Shape;
}

export interface FigureMark {
  from: number;
  to?: number;
  text?: string;
}

export interface FigurePanel {
  title?: string;
  x: FigureAxis;
  y: FigureAxis;
  layers: Layer[];
  marks?: FigureMark[];
  colours?: { label: string; unit: string; range: [number | null, number | null] };
}

export interface Figure {
  title?: string;
  source?: string;
  across?: number;
  panels: FigurePanel[];
  legend?: { name: string; style: number; sign: "line" | "marked-line" | "marker" | "box" }[];
}

/** A unit of the page as the unit of a figure, and what one of it is there: the drawing chooses prefixes of its own. */
export function figureUnit(unit: string): { unit: string; times: number } {
  const rate = { "Gb/s": 1e9, "Mb/s": 1e6, "kb/s": 1e3, "b/s": 1 }[unit];
  return rate === undefined ? { unit, times: 1 } : { unit: "bit/s", times: rate };
}

export function times(values: Numbers, factor: number): Numbers {
  return factor === 1 ? values : values.map((value) => (value === null ? null : value * factor));
}
