// Plots of schemes beside each other, drawn as SVG: bars with intervals and a dot for each seed, and one figure against
// another with an ellipse over the seeds. Colours are those of the style sheet, so both themes and paper are served.

import { h } from "./dom";
import { grouped, isNumber } from "./format";
import { schemeColour, styleOf } from "./theme";

/** A figure of a scheme: the mean over the seeds, half of its 95 % interval, and the value with each seed. */
export interface Measured {
  name: string;
  /** The number of its style. */
  style: number;
  mean: number | null;
  ci95: number | null;
  values: (number | null)[];
  /** In words. */
  text: string;
  isBest: boolean;
}

const SPACE = "http://www.w3.org/2000/svg";

type SvgAttributes = Record<string, string | number | undefined>;

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: SvgAttributes = {},
  ...children: (Node | string | null)[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(name, typeof value === "number" ? String(Math.round(value * 100) / 100) : value);
  }
  for (const child of children) if (child) element.append(child);
  return element;
}

/** Round numbers from about `low` to about `high`, so many at most. */
export function ticks(low: number, high: number, most: number): number[] {
  const span = high - low;
  if (!(span > 0)) return [low];
  const rough = span / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough * 0.999)!;
  const all: number[] = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) all.push(parseFloat((k * step).toPrecision(12)));
  return all;
}

const tick = (value: number) => grouped(String(parseFloat(value.toPrecision(6))));

/** The colour of a scheme's style, for the style sheet. */
const own = (style: number) => `--own: var(--s${schemeColour(style)})`;

/** The sign of a style, around a point. */
export function marker(style: number, x: number, y: number, size: number): SVGElement {
  const { shape, isFilled } = styleOf(style);
  const s = size;
  const path = {
    circle: `M${x - s},${y}a${s},${s} 0 1,0 ${2 * s},0a${s},${s} 0 1,0 ${-2 * s},0Z`,
    square: `M${x - s * 0.9},${y - s * 0.9}h${s * 1.8}v${s * 1.8}h${-s * 1.8}Z`,
    diamond: `M${x},${y - s * 1.3}L${x + s * 1.3},${y}L${x},${y + s * 1.3}L${x - s * 1.3},${y}Z`,
    up: `M${x},${y - s * 1.2}L${x + s * 1.2},${y + s}L${x - s * 1.2},${y + s}Z`,
    down: `M${x},${y + s * 1.2}L${x + s * 1.2},${y - s}L${x - s * 1.2},${y - s}Z`,
    cross: `M${x - s},${y - s}L${x + s},${y + s}M${x + s},${y - s}L${x - s},${y + s}`,
    plus: `M${x - s * 1.2},${y}h${s * 2.4}M${x},${y - s * 1.2}v${s * 2.4}`,
    star: `M${x - s * 1.2},${y}h${s * 2.4}M${x - s * 0.6},${y - s}L${x + s * 0.6},${y + s}M${x + s * 0.6},${y - s}L${x - s * 0.6},${y + s}`,
  }[shape];
  const isOpen = shape === "cross" || shape === "plus" || shape === "star";
  // A sign of lines has a ring if it is not filled.
  const ring = isOpen && !isFilled ? `M${x - s * 1.5},${y}a${s * 1.5},${s * 1.5} 0 1,0 ${3 * s},0a${s * 1.5},${s * 1.5} 0 1,0 ${-3 * s},0Z` : "";
  return svg("path", { d: path + ring, class: `sign${isOpen ? " open" : isFilled ? "" : " hollow"}`, style: own(style) });
}

/** Bars from zero, a row a scheme. */
export function bars(title: string, unit: string, rows: Measured[], tools: HTMLElement): HTMLElement {
  const place = h("div", { class: "drawing" });
  const draw = (width: number) => {
    const names = Math.min(width * 0.34, 12 + 6.7 * Math.max(...rows.map((row) => row.name.length)));
    const [left, right, row, top] = [names, 14, 20, 4];
    const ends = rows.flatMap((one) => [one.mean, isNumber(one.mean) ? one.mean + (one.ci95 ?? 0) : null, ...one.values]).filter(isNumber);
    const high = Math.max(...ends, 0) * 1.04 || 1;
    const x = (value: number) => left + (Math.max(0, value) / high) * (width - left - right);
    const height = top + row * rows.length + 20;
    const content: SVGElement[] = [];
    for (const at of ticks(0, high, Math.max(2, Math.floor((width - left) / 70)))) {
      content.push(
        svg("line", { class: "grid", x1: x(at), x2: x(at), y1: top, y2: height - 18 }),
        svg("text", { class: "tick", x: x(at), y: height - 5, "text-anchor": "middle" }, tick(at)),
      );
    }
    rows.forEach((one, k) => {
      const y = top + row * k;
      const middle = y + row / 2;
      const group = svg("g", {}, svg("title", {}, `${one.name}: ${one.text}`));
      group.append(svg("text", { class: one.isBest ? "name best" : "name", x: left - 6, y: middle + 4, "text-anchor": "end" }, shortened(one.name, names - 8)));
      if (isNumber(one.mean)) {
        group.append(svg("rect", { class: "bar", style: own(one.style), x: left, y: y + 3, width: Math.max(0.5, x(one.mean) - left), height: row - 6 }));
        one.values.forEach((value, seed) => {
          if (isNumber(value) && one.values.length > 1) {
            const spread = ((seed % 5) - 2) * 2.4;
            group.append(svg("circle", { class: "seed", cx: x(value), cy: middle + spread, r: 1.8 }));
          }
        });
        if (one.ci95) {
          const [a, b] = [x(one.mean - one.ci95), x(one.mean + one.ci95)];
          group.append(svg("path", { class: "interval", d: `M${a},${middle - 4}v8M${b},${middle - 4}v8M${a},${middle}H${b}` }));
        }
      } else {
        group.append(svg("text", { class: "tick", x: left + 4, y: middle + 4 }, "no value"));
      }
      content.push(group);
    });
    content.push(svg("line", { class: "axis", x1: left, x2: left, y1: top, y2: height - 18 }));
    const words = rows.map((one) => `${one.name} ${one.text}`).join("; ");
    place.replaceChildren(
      svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `${title}: ${words}` }, ...content),
    );
  };
  onWidth(place, draw);
  return h("figure", { class: "small" }, h("div", { class: "plot-head" }, h("h3", {}, title, h("span", { class: "unit" }, unit)), tools), place);
}

/** A scheme's place by two figures. */
export interface Point {
  name: string;
  style: number;
  x: number;
  y: number;
  /** With each seed. */
  seeds: [number, number][];
  text: string;
}

export interface Axis {
  title: string;
  unit: string;
}

/** The variance of x, the covariance, and the variance of y. */
export function covariance(points: [number, number][]): [number, number, number] {
  const n = points.length;
  if (n < 2) return [0, 0, 0];
  const [mx, my] = [0, 1].map((i) => points.reduce((sum, p) => sum + p[i]!, 0) / n) as [number, number];
  const over = (of: (dx: number, dy: number) => number) => points.reduce((sum, [x, y]) => sum + of(x - mx, y - my), 0) / (n - 1);
  return [over((dx) => dx * dx), over((dx, dy) => dx * dy), over((_, dy) => dy * dy)];
}

/** The ellipse of one standard deviation: half axes and the angle of the first, in degrees. */
function ellipse(points: [number, number][]): { a: number; b: number; angle: number } {
  const [xx, xy, yy] = covariance(points);
  const [middle, half] = [(xx + yy) / 2, Math.hypot((xx - yy) / 2, xy)];
  const angle = (Math.atan2(2 * xy, xx - yy) / 2 / Math.PI) * 180;
  return { a: Math.sqrt(Math.max(0, middle + half)), b: Math.sqrt(Math.max(0, middle - half)), angle };
}

/** Points with their names, and ellipses of one standard deviation over the seeds. */
export function scatter(xAxis: Axis, yAxis: Axis, points: Point[]): HTMLElement {
  const place = h("div", { class: "drawing" });
  const draw = (width: number) => {
    const height = Math.max(240, Math.min(400, width * 0.55));
    const box = { left: 62, right: 16, top: 10, bottom: 40 };
    const scale = (of: (p: Point) => number, seeds: 0 | 1, low: number, high: number) => {
      const all = points.flatMap((p) => [of(p), ...p.seeds.map((s) => s[seeds])]).filter(Number.isFinite);
      let [min, max] = [Math.min(...all), Math.max(...all)];
      const room = (max - min) * 0.1 || Math.abs(max) * 0.05 || 1;
      [min, max] = [Math.max(0, min - room), max + room];
      // From zero where little would be gained otherwise.
      if (min < max * 0.4) min = 0;
      const to = (value: number) => low + ((value - min) / (max - min)) * (high - low);
      return { to, min, max };
    };
    const x = scale((p) => p.x, 0, box.left, width - box.right);
    const y = scale((p) => p.y, 1, height - box.bottom, box.top);
    const content: SVGElement[] = [];
    for (const at of ticks(x.min, x.max, Math.max(2, Math.floor(width / 90)))) {
      content.push(
        svg("line", { class: "grid", x1: x.to(at), x2: x.to(at), y1: box.top, y2: height - box.bottom }),
        svg("text", { class: "tick", x: x.to(at), y: height - box.bottom + 15, "text-anchor": "middle" }, tick(at)),
      );
    }
    for (const at of ticks(y.min, y.max, 6)) {
      content.push(
        svg("line", { class: "grid", x1: box.left, x2: width - box.right, y1: y.to(at), y2: y.to(at) }),
        svg("text", { class: "tick", x: box.left - 6, y: y.to(at) + 4, "text-anchor": "end" }, tick(at)),
      );
    }
    const label = (axis: Axis) => (axis.unit ? `${axis.title}, ${axis.unit}` : axis.title);
    content.push(
      svg("text", { class: "tick", x: (box.left + width - box.right) / 2, y: height - 6, "text-anchor": "middle" }, label(xAxis)),
      svg("text", { class: "tick", transform: `translate(13 ${(box.top + height - box.bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, label(yAxis)),
    );
    const taken: { x: number; y: number; w: number; h: number }[] = points.map((p) => ({ x: x.to(p.x) - 6, y: y.to(p.y) - 6, w: 12, h: 12 }));
    for (const p of points) {
      const [px, py] = [x.to(p.x), y.to(p.y)];
      const group = svg("g", {}, svg("title", {}, `${p.name}: ${p.text}`));
      const { a, b, angle } = ellipse(p.seeds.map(([sx, sy]) => [x.to(sx), y.to(sy)]));
      if (a > 1) {
        group.append(svg("ellipse", { class: "spread", style: own(p.style), rx: a, ry: Math.max(b, 1), transform: `translate(${px.toFixed(2)} ${py.toFixed(2)}) rotate(${angle.toFixed(2)})` }));
      }
      group.append(marker(p.style, px, py, 4.5));
      const w = p.name.length * 6.8;
      const places = [[9, 4], [-9 - w, 4], [-w / 2, -10], [-w / 2, 18], [9, -8], [9, 16], [-9 - w, -8], [-9 - w, 16]];
      const rect = ([dx, dy]: number[]) => ({ x: px + dx!, y: py + dy! - 10, w, h: 13 });
      const cost = (r: { x: number; y: number; w: number; h: number }) => {
        const outside = Math.max(0, box.left - r.x) + Math.max(0, r.x + r.w - width + 2) + Math.max(0, box.top - 8 - r.y) + Math.max(0, r.y + r.h - height + box.bottom);
        const over = taken.reduce((sum, t) => sum + Math.max(0, Math.min(r.x + r.w, t.x + t.w) - Math.max(r.x, t.x)) * Math.max(0, Math.min(r.y + r.h, t.y + t.h) - Math.max(r.y, t.y)), 0);
        return outside * 50 + over;
      };
      const best = places.map(rect).map((r, i) => ({ r, cost: cost(r) + i * 0.01 })).sort((one, other) => one.cost - other.cost)[0]!.r;
      taken.push(best);
      group.append(svg("text", { class: "name halo", x: best.x, y: best.y + 10 }, p.name));
      content.push(group);
    }
    const words = points.map((p) => `${p.name} ${p.text}`).join("; ");
    place.replaceChildren(
      svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `${yAxis.title} over ${xAxis.title}: ${words}` }, ...content),
    );
  };
  onWidth(place, draw);
  return h("figure", {}, place);
}

function shortened(text: string, room: number): string {
  const most = Math.max(4, Math.floor(room / 6.5));
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** Draws again when the place has another width. */
function onWidth(place: HTMLElement, draw: (width: number) => void): void {
  let last = 0;
  new ResizeObserver(() => {
    const width = Math.floor(place.clientWidth);
    if (width === last || width === 0) return;
    last = width;
    draw(width);
  }).observe(place);
}
