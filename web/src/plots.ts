// Plots over time. A board is a stack of panels (goodput, delay, …) that share the same lines and
// one table of readings; all boards share the crosshair and the range of time.

import uPlot from "uplot";
import { fadeEdges, h, keepFocus, setText } from "./dom";
import { type Figure, type FigureMark, figureUnit, times as scaled } from "./figure";
import { count, grouped, isNumber, seconds, significant, steps } from "./format";
import { fileName, saveButtons } from "./save";
import { css, ofPair, onTheme } from "./theme";

type Values = (number | null)[];

/** One line, drawn in every panel of its board. */
export interface Line {
  id: string;
  name: string;
  note?: string;
  colour: readonly [string, string];
  dash: number[];
  /** The number of its style in files. */
  style: number;
  /** Its values, one array a panel. */
  values: Values[];
}

/** One plot of a board. */
export interface Panel {
  id: string;
  title: string;
  unit: string;
  /** What stands behind the unit in the title. */
  per?: string;
  /** Height of the plot, px. */
  height: number;
  /** Whether the scale begins at zero. */
  fromZero: boolean;
  /** Upper end of the scale, if fixed. */
  top?: number;
  /** Counts are drawn in steps and read as sums; all else as lines and means. */
  counts?: boolean;
  /** Of a mean over packets: the panel whose values are as many in each step. Its mean over a range is over all of these. */
  weight?: string;
  /** Stands in place of the plot where every line is zero. */
  none?: string;
}

const SYNC = "weir";

/** What boards are drawn over, if not time. */
export interface Abscissa {
  /** Its label, with its unit. */
  label: string;
  /** The same for files. */
  quantity: string;
  unit: string;
  /** Boards with the same one share the crosshair. */
  sync: string;
  /** Whether it is drawn by factors. */
  isLog: boolean;
  /** What the table of readings says while there is no crosshair. */
  idle: string;
  /** A value of it in words. */
  text: (value: number) => string;
}

/** What plots over time mark: measuring windows, and changes of the scenario. */
export interface Mark {
  from: number;
  /** The end of a window. */
  to?: number;
  text: string;
}

/** What is known of all plots of a page. */
export const common: { marks: Mark[]; source: string; name: string } = { marks: [], source: "", name: "plot" };

/** The step under the crosshair, which all plots over time share. */
export const crosshair: { step: number | null; listeners: ((step: number | null) => void)[] } = { step: null, listeners: [] };

/** The range of time that all plots show, and who follows it. */
export class TimeRange {
  from: number;
  to: number;
  /** What is read while everything is shown: a measuring window. */
  private part: [number, number] | null = null;
  private readonly listeners: (() => void)[] = [];

  constructor(
    public start: number,
    public end: number,
    public step: number,
  ) {
    this.from = start;
    this.to = end;
  }

  /** Takes other ends: of a run that goes on. If the plots show everything, they still do; a part of it stays. */
  grow(start: number, end: number, step: number): void {
    const { whole } = this;
    [this.start, this.end, this.step] = [start, end, step];
    if (whole) [this.from, this.to] = [start, end];
    for (const listener of this.listeners) listener();
  }

  get whole(): boolean {
    return this.from <= this.start && this.to >= this.end;
  }

  set(from: number, to: number): void {
    from = Math.max(this.start, from);
    to = Math.min(this.end, to);
    if (to - from < this.step) {
      const middle = (from + to) / 2;
      from = Math.max(this.start, middle - this.step);
      to = Math.min(this.end, middle + this.step);
    }
    if (from === this.from && to === this.to) return;
    this.from = from;
    this.to = to;
    for (const listener of this.listeners) listener();
  }

  reset(): void {
    this.set(this.start, this.end);
  }

  /** The range that means are over. */
  get read(): [number, number] {
    return this.whole && this.part ? this.part : [this.from, this.to];
  }

  readOver(part: [number, number] | null): void {
    this.part = part;
    for (const listener of this.listeners) listener();
  }

  /** Shows `factor` times as much around the time `at`. */
  zoom(factor: number, at: number): void {
    this.set(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }
}

/** Everything that is drawn now, by name, for tests and for the curious. */
export const drawn = new Map<string, uPlot>();

export class Board {
  readonly element: HTMLElement;
  private readonly stack = h("div", { class: "stack" });
  private readonly readings = h("div", { class: "readings" });
  private readonly hidden = new Set<string>();
  private readonly resized: ResizeObserver;
  private readonly unthemed: () => void;
  private lines: Line[] = [];
  private notes: (HTMLElement | null)[] = [];
  private shown: { panel: Panel; index: number; plot: uPlot }[] = [];
  private cells: HTMLElement[][] = [];
  private caption = h("caption");
  private cursor: number | null = null;

  constructor(
    readonly name: string,
    private times: number[],
    private panels: Panel[],
    readonly range: TimeRange,
    private readonly over?: Abscissa,
  ) {
    this.element = h("div", { class: "board", id: `board-${name}` }, this.stack, this.readings);
    this.resized = new ResizeObserver(() => this.fit());
    this.resized.observe(this.stack);
    range.onChange(() => {
      for (const { plot } of this.shown) plot.setScale("x", { min: range.from, max: range.to });
      this.read();
    });
    this.unthemed = onTheme(() => {
      for (const { plot } of this.shown) plot.redraw();
      this.paintSwatches();
    });
  }

  /** Draws these lines in place of those before. */
  show(lines: Line[]): void {
    for (const { panel, plot } of this.shown) {
      drawn.delete(`${this.name}.${panel.id}`);
      plot.destroy();
    }
    this.lines = lines;
    this.cursor = null;
    this.stack.replaceChildren();
    this.shown = [];
    for (const [index, panel] of this.panels.entries()) {
      if (isIdle(panel, index, lines)) {
        this.stack.append(h("p", { class: "none" }, panel.none));
        continue;
      }
      this.addPanel(panel, index);
    }
    this.tabulate();
    this.read();
  }

  /**
   * Puts new data into the plots. Lines that stay keep their order and their look; the plots are the same unless lines or panels
   * change. The range has to follow.
   */
  update(times: number[], panels: Panel[], lines: Line[]): void {
    const next = new Map(lines.map((line) => [line.id, line]));
    const stay = lines.length === this.lines.length && this.lines.every(({ id, name }) => next.get(id)?.name === name);
    if (stay) lines = this.lines.map(({ id, style, colour, dash }) => ({ ...next.get(id)!, style, colour, dash }));
    const isDrawn = (index: number) => this.shown.some((one) => one.index === index);
    const samePanels =
      JSON.stringify(panels) === JSON.stringify(this.panels) &&
      panels.every((panel, index) => isDrawn(index) !== isIdle(panel, index, lines));
    [this.times, this.panels] = [times, panels];
    if (!stay || !samePanels) return this.replace(lines);
    this.lines = lines;
    for (const { index, plot } of this.shown) {
      plot.setData(this.data(index), false);
      plot.setScale("x", { min: this.range.from, max: this.range.to });
    }
    lines.forEach(({ note }, i) => {
      const text = this.notes[i];
      if (text) setText(text, note ?? "");
    });
    this.read();
  }

  /** Draws other lines or panels; the page does not move, and what was chosen stays. */
  private replace(lines: Line[]): void {
    const scrolled = this.readings.firstElementChild?.scrollTop ?? 0;
    this.stack.style.minHeight = `${this.stack.offsetHeight}px`;
    const focused = ({ dataset: { line, panel } }: HTMLElement) => {
      const all = [...this.element.querySelectorAll<HTMLElement>("[data-line], [data-panel]")];
      return all.find(({ dataset }) => dataset["line"] === line && dataset["panel"] === panel) ?? null;
    };
    keepFocus(this.element, focused, () => this.show(lines));
    this.stack.style.minHeight = "";
    this.readings.firstElementChild!.scrollTop = scrolled;
  }

  /** Ends it: nothing of it is drawn any more. */
  remove(): void {
    for (const { panel, plot } of this.shown) {
      drawn.delete(`${this.name}.${panel.id}`);
      plot.destroy();
    }
    [this.shown, this.lines] = [[], []];
    this.resized.disconnect();
    this.unthemed();
  }

  private addPanel(panel: Panel, index: number): void {
    const title = h(
      "div",
      { class: "plot-head" },
      h("h3", {}, panel.title, h("span", { class: "unit" }, panel.unit + (panel.per ?? ""))),
      saveButtons(() => fileName(common.name, this.name, panel.id), () => this.figure(panel, index)),
    );
    const place = h("div", {
      class: "plot",
      "data-panel": panel.id,
      tabindex: "0",
      role: "group",
      "aria-label":
        `${panel.title} in ${panel.unit} over ${this.over?.label ?? "time"}. Arrow keys move the crosshair, plus and minus zoom, Escape shows everything.`,
    });
    this.stack.append(h("figure", {}, title, place));
    const plot = new uPlot(this.options(panel), this.data(index), place);
    place.addEventListener("keydown", (event) => this.key(event, plot));
    this.shown.push({ panel, index, plot });
    drawn.set(`${this.name}.${panel.id}`, plot);
    plot.setSize({ width: this.width(), height: panel.height });
    plot.setScale("x", { min: this.range.from, max: this.range.to });
  }

  /** What is shown of a panel, as a figure: its visible lines in the range that is shown. */
  figure(panel: Panel, index: number): Figure {
    const { from, to } = this.range;
    const lines = this.lines.filter((line) => !this.hidden.has(line.id));
    // One step more on each side, so that lines go up to the edges.
    const first = Math.max(0, this.times.findIndex((t) => t >= from) - 1);
    const after = this.times.findIndex((t) => t > to);
    const end = after < 0 ? this.times.length : after + 1;
    const x = this.times.slice(first, end);
    const { unit, times } = figureUnit(panel.unit);
    const [kind, sign] = panel.counts ? (["steps", "line"] as const) : (["line", "line"] as const);
    const marks: FigureMark[] = this.over ? [] : common.marks.filter((mark) => (mark.to ?? mark.from) > from && mark.from < to);
    return {
      source: common.source,
      panels: [
        {
          title: panel.title + (panel.per ?? ""),
          x: this.over ? { label: this.over.quantity, unit: this.over.unit, scale: this.over.isLog ? "log" : "linear", range: [from, to] } : { label: "time", unit: "s", range: [from, to] },
          y: { label: panel.title.toLowerCase(), unit, range: [panel.fromZero ? 0 : null, panel.top === undefined ? null : panel.top * times] },
          layers: lines.map((line) => ({
            name: line.name,
            style: line.style,
            shape: { kind, x, y: scaled(line.values[index]!.slice(first, end), times) },
          })),
          marks,
        },
      ],
      legend: lines.map(({ name, style }) => ({ name, style, sign })),
    };
  }

  private data(index: number): uPlot.AlignedData {
    return [this.times, ...this.lines.map((line) => line.values[index]!)];
  }

  private width(): number {
    return Math.max(200, this.stack.clientWidth);
  }

  private fit(): void {
    const width = this.width();
    for (const { panel, plot } of this.shown) {
      if (plot.width !== width) plot.setSize({ width, height: panel.height });
    }
  }

  private options(panel: Panel): uPlot.Options {
    const font = `11px ${css("--font")}`;
    const axis = {
      stroke: () => css("--ink-2"),
      font,
      labelFont: font,
      grid: { stroke: () => css("--grid"), width: 1 },
      ticks: { stroke: () => css("--grid"), width: 1, size: 4 },
    };
    return {
      width: this.width(),
      height: panel.height,
      padding: [8, this.over ? 24 : 14, 0, 0],
      legend: { show: false },
      focus: { alpha: 0.2 },
      cursor: {
        sync: { key: this.over?.sync ?? SYNC, setSeries: false },
        drag: { x: true, y: false, setScale: false },
        points: { size: 7 },
        y: false,
        bind: {
          // The range of time is common to all plots.
          dblclick: () => () => {
            this.range.reset();
            return null;
          },
        },
      },
      scales: {
        x: { time: false, distr: this.over?.isLog ? 3 : 1 },
        y: { range: (_plot, min, max) => scaleRange(panel, min, max) },
      },
      axes: [
        {
          ...axis,
          label: this.over?.label ?? "time, s",
          labelSize: 16,
          labelGap: 0,
          size: 24,
          gap: 3,
          values: (_plot, splits) => splits.map((split) => (this.over ? (isNumber(split) ? grouped(String(parseFloat(split.toPrecision(6)))) : "") : seconds(split))),
        },
        {
          ...axis,
          label: panel.unit,
          labelSize: 16,
          labelGap: 0,
          size: 52,
          gap: 4,
          values: (_plot, splits) => splits.map((split) => grouped(String(parseFloat(split.toPrecision(6))))),
        },
      ],
      series: [
        {},
        ...this.lines.map((line): uPlot.Series => ({
          label: line.name,
          show: !this.hidden.has(line.id),
          stroke: () => ofPair(line.colour),
          width: 1.25,
          dash: line.dash,
          paths: panel.counts ? uPlot.paths.stepped!({ align: 1 }) : uPlot.paths.linear!(),
          // A value without neighbours makes no line: it is a point.
          points: {
            show: true,
            size: 3,
            fill: () => ofPair(line.colour),
            filter: (plot, series) => isolated(plot.data[series] as Values),
          },
        })),
      ],
      hooks: {
        drawClear: this.over ? [] : [shade],
        draw: this.over ? [] : [markChanges],
        setCursor: [
          (plot) => {
            const at = plot.cursor.idx;
            const next = isNumber(at) && (plot.cursor.left ?? -1) >= 0 ? at : null;
            if (next !== this.cursor) {
              this.cursor = next;
              this.read();
              if (!this.over && crosshair.step !== next) {
                crosshair.step = next;
                for (const listener of crosshair.listeners) listener(next);
              }
            }
          },
        ],
        setSelect: [
          (plot) => {
            if (plot.select.width < 4) return;
            const from = plot.posToVal(plot.select.left, "x");
            const to = plot.posToVal(plot.select.left + plot.select.width, "x");
            plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            this.range.set(from, to);
          },
        ],
      },
    };
  }

  /** Whether some of the plots is in the window. */
  get inView(): boolean {
    const { top, bottom } = this.stack.getBoundingClientRect();
    return top < window.innerHeight - 60 && bottom > 60;
  }

  /** Scrolls as little as shows the first plot. */
  reveal(): void {
    this.stack.firstElementChild?.scrollIntoView({ block: "nearest", behavior: "smooth" });
  }

  /** Moves the crosshair of all plots to a step, or away. */
  point(step: number | null): void {
    const plot = this.shown[0]?.plot;
    if (plot) point(plot, step === null ? null : this.times[step]!);
  }

  private key(event: KeyboardEvent, plot: uPlot): void {
    const last = this.times.length - 1;
    const now = this.cursor ?? plot.valToIdx((this.range.from + this.range.to) / 2);
    const move = (to: number) => point(plot, this.times[Math.min(last, Math.max(0, to))]!);
    const stride = event.shiftKey ? 10 : 1;
    switch (event.key) {
      case "ArrowLeft":
        move(now - stride);
        break;
      case "ArrowRight":
        move(now + stride);
        break;
      case "+":
      case "=":
        this.range.zoom(0.5, this.times[now]!);
        break;
      case "-":
        this.range.zoom(2, this.times[now]!);
        break;
      case "0":
      case "Escape":
        this.range.reset();
        break;
      default:
        return;
    }
    event.preventDefault();
  }

  /** Shows or hides a line in all panels. */
  private toggle(line: Line): void {
    if (!this.hidden.delete(line.id)) this.hidden.add(line.id);
    this.applyHidden();
  }

  private applyHidden(): void {
    for (const { plot } of this.shown) {
      this.lines.forEach((line, i) => {
        const show = !this.hidden.has(line.id);
        if (plot.series[i + 1]!.show !== show) plot.setSeries(i + 1, { show });
      });
    }
    for (const button of this.readings.querySelectorAll<HTMLButtonElement>("button[data-line]")) {
      button.setAttribute("aria-pressed", String(!this.hidden.has(button.dataset["line"]!)));
    }
  }

  private focus(index: number | null): void {
    for (const { plot } of this.shown) plot.setSeries(index, { focus: index !== null });
  }

  /** Makes the table of readings: a row a line, which is also the legend. */
  private tabulate(): void {
    [this.cells, this.notes] = [[], []];
    this.caption = h("caption");
    const body = h("tbody");
    this.lines.forEach((line, i) => {
      const note = line.note ? h("small", {}, line.note) : null;
      const button = h(
        "button",
        {
          type: "button",
          class: "line",
          "data-line": line.id,
          "aria-pressed": String(!this.hidden.has(line.id)),
          title: "Show or hide this line",
          click: () => this.toggle(line),
        },
        swatch(),
        h("span", {}, h("span", {}, line.name), " ", note),
      );
      const cells = this.panels.map(() => h("td"));
      const row = h("tr", {}, h("th", { scope: "row" }, button), ...cells);
      row.addEventListener("pointerenter", () => this.focus(i + 1));
      row.addEventListener("pointerleave", () => this.focus(null));
      body.append(row);
      this.cells.push(cells);
      this.notes.push(note);
    });
    const all = (hide: boolean) => () => {
      for (const line of this.lines) {
        if (hide) this.hidden.add(line.id);
        else this.hidden.delete(line.id);
      }
      this.applyHidden();
    };
    const head = h(
      "tr",
      {},
      h(
        "th",
        { scope: "col" },
        h("button", { type: "button", class: "link", click: all(false) }, "all"),
        " ",
        h("button", { type: "button", class: "link", click: all(true) }, "none"),
      ),
      ...this.panels.map((panel) =>
        h("th", { scope: "col" }, panel.title, h("span", { class: "unit" }, panel.unit)),
      ),
    );
    const lines = this.lines.length;
    const rows = h("p", { class: "more", hidden: true });
    const table = h("table", {}, this.caption, h("thead", {}, head), body);
    const box = h("div", { class: "box", tabindex: "0", role: "region", "aria-label": "Readings" }, table);
    fadeEdges(box, () => {
      const row = body.rows[0]?.offsetHeight ?? 0;
      const seen = row > 0 ? Math.floor((box.clientHeight - body.offsetTop) / row) : lines;
      const hides = box.scrollHeight - box.clientHeight > 2 && seen < lines;
      rows.textContent = hides ? `${seen} of ${lines} lines in view: scroll` : "";
      rows.hidden = !hides;
    });
    this.readings.replaceChildren(box, rows);
    this.paintSwatches();
  }

  private paintSwatches(): void {
    const swatches = this.readings.querySelectorAll<SVGLineElement>("svg line");
    swatches.forEach((line, i) => {
      line.setAttribute("stroke", ofPair(this.lines[i]!.colour));
      line.setAttribute("stroke-dasharray", this.lines[i]!.dash.join(" "));
    });
  }

  /** Fills the table: values under the crosshair, or over the range that is shown. */
  private read(): void {
    if (this.over) return this.readOver(this.over);
    const [from, to] = this.range.read;
    const first = this.times.findIndex((t) => t >= from);
    const after = this.times.findIndex((t) => t > to);
    const end = after < 0 ? this.times.length : after;
    // The steps that are read, whose ends are known no finer.
    const { start } = this.range;
    const step = this.times.length > 1 ? this.times[1]! - this.times[0]! : this.range.step;
    const edge = (index: number) => steps(start + Math.max(0, index) * step, step);
    const weighted = this.panels.filter((panel) => panel.weight).map((panel) => `${panel.title.toLowerCase()}: over all Data`);
    const over = ` (${[...weighted, "counts: sum"].join("; ")})`;
    setText(
      this.caption,
      this.cursor === null ? `mean${over} over ${edge(first)} to ${edge(end)} s` : `at ${seconds(this.times[this.cursor])} s`,
    );
    this.lines.forEach((line, i) => {
      this.panels.forEach((panel, p) => {
        const values = line.values[p]!;
        const weights = line.values[this.panels.findIndex((other) => other.id === panel.weight)];
        const value =
          this.cursor === null ? summary(values, first, end, panel.counts ?? false, weights) : values[this.cursor];
        setText(this.cells[i]![p]!, panel.counts ? count(value) : significant(value, 4));
      });
    });
  }

  /** The same where there is no time: values under the crosshair only. */
  private readOver(over: Abscissa): void {
    const at = this.cursor;
    setText(this.caption, at === null ? over.idle : `up to ${over.text(this.times[at]!)}`);
    this.lines.forEach((line, i) => {
      this.panels.forEach((_, p) => {
        setText(this.cells[i]![p]!, at === null ? "" : significant(line.values[p]![at], 4));
      });
    });
  }
}

/** Moves the crosshair of a plot, and of all plots that share it, or takes it away. */
function point(plot: uPlot, x: number | null): void {
  // What is published to other plots is missing in the types.
  const setCursor: (at: { left: number; top: number }, fire: boolean, publish: boolean) => void = plot.setCursor;
  setCursor(x === null ? { left: -10, top: -10 } : { left: plot.valToPos(x, "x"), top: plot.over.clientHeight / 2 }, true, true);
}

/** Whether a note stands in place of the plot. */
function isIdle(panel: Panel, index: number, lines: Line[]): boolean {
  return panel.none !== undefined && lines.every((line) => line.values[index]!.every((v) => !v));
}

/** Shades the measuring windows. */
function shade(plot: uPlot): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.fillStyle = css("--shade");
  for (const { from, to } of common.marks) {
    if (to === undefined) continue;
    const [a, b] = [from, to].map((t) => Math.min(bbox.left + bbox.width, Math.max(bbox.left, plot.valToPos(t, "x", true))));
    ctx.fillRect(a!, bbox.top, b! - a!, bbox.height);
  }
  ctx.restore();
}

/** Marks the changes of the scenario: a line each, with its number in the list below the plots. */
function markChanges(plot: uPlot): void {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = css("--ink-2");
  ctx.lineWidth = ratio;
  ctx.setLineDash([3 * ratio, 3 * ratio]);
  ctx.font = `${10 * ratio}px ${css("--font")}`;
  ctx.textBaseline = "top";
  ctx.textAlign = "left";
  let free = -Infinity;
  common.marks
    .filter(({ to }) => to === undefined)
    .forEach(({ from }, i) => {
      const x = plot.valToPos(from, "x", true);
      if (x < bbox.left || x > bbox.left + bbox.width) return;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      const number = String(i + 1);
      if (x < free) return;
      ctx.fillText(number, x + 3 * ratio, bbox.top + ratio);
      free = x + 6 * ratio + ctx.measureText(number).width;
    });
  ctx.restore();
}

/** The list of what plots mark; null if they mark nothing. */
export function markList(): HTMLElement | null {
  const changes = common.marks.filter(({ to }) => to === undefined);
  const windows = common.marks.filter(({ to }) => to !== undefined);
  if (common.marks.length === 0) return null;
  return h(
    "div",
    { class: "marks" },
    windows.length > 0 ? h("span", {}, h("i", { class: "shade" }), ` measuring window: ${windows.map(({ text }) => text).join("; ")}`) : null,
    changes.length > 0
      ? h("ol", { "aria-label": "Changes that the scenario makes" }, ...changes.map(({ from, text }) => h("li", {}, h("b", {}, `${seconds(from)} s`), ` ${text}`)))
      : null,
  );
}

/** The look of a line, to be painted. */
export function swatch(): SVGSVGElement {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 20 8");
  svg.setAttribute("class", "swatch");
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(space, "line");
  for (const [name, value] of [["x1", "0"], ["x2", "20"], ["y1", "4"], ["y2", "4"], ["stroke-width", "3"]] as const) {
    line.setAttribute(name, value);
  }
  svg.append(line);
  return svg;
}

/** A sum, or a mean: of steps, or by the weight that each has. */
function summary(values: Values, first: number, end: number, sum: boolean, weights?: Values): number | null {
  let total = 0;
  let n = 0;
  for (let k = Math.max(0, first); k < end; k++) {
    const value = values[k];
    if (isNumber(value)) {
      const weight = weights ? (weights[k] ?? 0) : 1;
      total += value * weight;
      n += weight;
    }
  }
  if (sum) return total;
  return n > 0 ? total / n : null;
}

/** Indices of values whose neighbours have none. */
function isolated(values: Values): number[] {
  const alone: number[] = [];
  values.forEach((value, k) => {
    if (isNumber(value) && !isNumber(values[k - 1]) && !isNumber(values[k + 1])) alone.push(k);
  });
  return alone;
}

function scaleRange(panel: Panel, min: number | null, max: number | null): [number, number] {
  if (!isNumber(min) || !isNumber(max)) return [0, panel.top ?? 1];
  if (panel.fromZero) return [0, panel.top ?? (max > 0 ? max * 1.06 : 1)];
  const room = Math.max((max - min) * 0.08, Math.abs(max) * 0.002, 1e-6);
  return [Math.max(0, min - room), max + room];
}
