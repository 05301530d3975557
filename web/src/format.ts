// Numbers as a person reads them. What has no value is a dash.

const NONE = "–";
const THIN = "\u202f";

type Maybe = number | null | undefined;

export function isNumber(value: Maybe): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

/** A number with `digits` significant digits, at most three of them after the point. */
export function significant(value: Maybe, digits = 4): string {
  if (!isNumber(value)) return NONE;
  if (value === 0) return "0";
  const magnitude = Math.floor(Math.log10(Math.abs(value)));
  const decimals = Math.min(3, Math.max(0, digits - 1 - magnitude));
  const text = value.toFixed(decimals);
  return parseFloat(text) === 0 ? "0" : text;
}

/** The digits before the point in groups of three. */
export function grouped(text: string): string {
  return text.replace(/^(-?\d+)/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, THIN));
}

/** A whole number in groups of three. */
export function count(value: Maybe): string {
  return isNumber(value) ? grouped(Math.round(value).toString()) : NONE;
}

export interface Unit {
  name: string;
  scale: number;
}

const RATES: Unit[] = [
  { name: "Gb/s", scale: 1e-9 },
  { name: "Mb/s", scale: 1e-6 },
  { name: "kb/s", scale: 1e-3 },
  { name: "b/s", scale: 1 },
];

/** The unit in which a rate is a number from 1 to 1000. */
export function rateUnit(bps: number): Unit {
  return RATES.find((unit) => Math.abs(bps) * unit.scale >= 0.9995) ?? RATES[3]!;
}

export function rate(bps: Maybe): string {
  if (!isNumber(bps)) return NONE;
  const unit = rateUnit(bps);
  return `${parseFloat(significant(bps * unit.scale))} ${unit.name}`;
}

export function millis(ms: Maybe): string {
  if (!isNumber(ms)) return NONE;
  return ms.toFixed(Math.abs(ms) < 10 ? 2 : 1);
}

export function percent(part: Maybe): string {
  return isNumber(part) ? (part * 100).toFixed(1) : NONE;
}

export function seconds(s: Maybe): string {
  return isNumber(s) ? `${parseFloat(s.toFixed(3))}` : NONE;
}

/** A time that is a multiple of a step, with no more decimals than the step has. */
export function steps(s: number, step: number): string {
  let decimals = 0;
  while (decimals < 6 && Math.abs(step - parseFloat(step.toFixed(decimals))) > step * 1e-6) decimals++;
  return `${parseFloat(s.toFixed(decimals))}`;
}

/** A large number in words of three digits: 3.40 M. */
export function large(value: number): string {
  for (const [name, scale] of [["G", 1e9], ["M", 1e6], ["k", 1e3]] as const) {
    if (Math.abs(value) >= scale) return `${(value / scale).toFixed(2)}${THIN}${name}`;
  }
  return significant(value, 3);
}

/** A title within a sentence. */
export const inSentence = (title: string) => title.toLowerCase().replace(/\bjain\b/, "Jain").replace(/\b(data|interests?)\b/g, (word) => word[0]!.toUpperCase() + word.slice(1));
