// Light and dark, and the colours of what is drawn. Each colour is one of a pair.

import { h } from "./dom";

export type Theme = "light" | "dark";
type Pair = readonly [light: string, dark: string];

// Chosen so that they stay apart with each kind of colour blindness; EF, AF2, AF1 and BE most. Things without a colour of their
// own take these in the same order. crates/figure/src/style.rs has those for light, in the same order.
const CLASSES: Record<string, Pair> = {
  EF: ["#0a4696", "#4a8df5"],
  AF2: ["#e04a1a", "#f2682c"],
  AF1: ["#00745f", "#4fd3a0"],
  BE: ["#b77892", "#c58fb6"],
  CS7: ["#3b3232", "#d9eef4"],
  AF4: ["#3787cf", "#a3bdff"],
  AF3: ["#85800a", "#f2d83c"],
  CS6: ["#7c4bda", "#a160d8"],
};

const PALETTE = Object.values(CLASSES);

const UTILISATION: Record<Theme, readonly string[]> = {
  light: ["#cfd5dc", "#e3c88f", "#e59b4a", "#cc5a24", "#8f1d1d", "#4d0b1c"],
  dark: ["#3d454f", "#5d4470", "#9c3f72", "#dd5a52", "#f79f45", "#fbe37c"],
};

const listeners: (() => void)[] = [];
const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
let chosen: Theme | undefined = remembered();

function remembered(): Theme | undefined {
  // A page opened from a file may have no storage.
  try {
    const value = localStorage.getItem("weir-theme");
    return value === "light" || value === "dark" ? value : undefined;
  } catch {
    return undefined;
  }
}

export function theme(): Theme {
  return chosen ?? (prefersDark.matches ? "dark" : "light");
}

function apply(): void {
  document.documentElement.dataset["theme"] = theme();
  nameColours();
  for (const listener of listeners) listener();
}

function toggleTheme(): void {
  chosen = theme() === "dark" ? "light" : "dark";
  try {
    localStorage.setItem("weir-theme", chosen);
  } catch {
    // Then it holds for this visit.
  }
  apply();
}

/** Calls the listener when the theme changes; the answer ends that. */
export function onTheme(listener: () => void): () => void {
  listeners.push(listener);
  return () => void listeners.splice(listeners.indexOf(listener), 1);
}

export function startTheme(): void {
  prefersDark.addEventListener("change", apply);
  let before: Theme | undefined;
  // Paper is light.
  window.addEventListener("beforeprint", () => {
    before = chosen;
    chosen = "light";
    apply();
  });
  window.addEventListener("afterprint", () => {
    chosen = before;
    apply();
  });
  document.documentElement.dataset["theme"] = theme();
  nameColours();
}

/** Switches the theme, and says to which. */
export function themeButton(): HTMLElement {
  const button = h("button", { type: "button", id: "theme", click: toggleTheme });
  const name = () => {
    button.textContent = theme() === "dark" ? "☀ light" : "☾ dark";
    button.setAttribute("aria-label", `Switch to the ${theme() === "dark" ? "light" : "dark"} theme`);
  };
  name();
  onTheme(name);
  return button;
}

/** The value of a custom property of the style sheet. */
export function css(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export function ofPair(pair: Pair): string {
  return pair[theme() === "dark" ? 1 : 0];
}

/** The colours of schemes: those for light are those of crates/figure/src/style.rs, in the same order. */
const SCHEMES: Pair[] = [
  ["#0072b2", "#4fa3e3"],
  ["#d55e00", "#f27d3c"],
  ["#009e73", "#35c99c"],
  ["#cc79a7", "#e09ac2"],
  ["#56b4e9", "#8fd0f5"],
  ["#e69f00", "#f2bd45"],
  ["#000000", "#f0f0f0"],
  ["#8c8c8c", "#999999"],
  ["#a01040", "#f0568a"],
  ["#663311", "#b0703f"],
  ["#a0a030", "#d8d860"],
  ["#2233aa", "#6f7dff"],
  ["#225544", "#4f8f75"],
  ["#6688ff", "#9fb4ff"],
  ["#7b2fa0", "#b86ae0"],
  ["#558844", "#96cf6a"],
];

const SHAPES = ["circle", "square", "up", "diamond", "down", "star", "cross", "plus"] as const;

/** Numbers below this one are of schemes, the others of classes and further objects. */
const OBJECTS = 3 * SCHEMES.length;

export interface Style {
  /** Its number in files: that of weir-figure. */
  style: number;
  colour: Pair;
  dash: number[];
}

/** How a style looks wherever it is plotted: the same as in weir-figure. */
export function styleOf(style: number): Style & { shape: (typeof SHAPES)[number]; isFilled: boolean } {
  const isScheme = style < OBJECTS;
  const colours = isScheme ? SCHEMES : PALETTE;
  const number = isScheme ? style : style - OBJECTS;
  const [at, round] = [number % colours.length, Math.floor(number / colours.length)];
  return {
    style,
    colour: colours[at]!,
    dash: dash(at + round),
    shape: SHAPES[(at + 3 * round) % SHAPES.length]!,
    isFilled: (Math.floor(at / 8) + round) % 2 === 0,
  };
}

/** The number of the colour of a scheme's style. */
export const schemeColour = (style: number) => style % SCHEMES.length;

/** The style of the object at a place among others, such as a flow or a link. */
export function objectStyle(place: number): Style {
  const { style, colour } = styleOf(OBJECTS + (place % (2 * PALETTE.length)));
  // On the pages a line is only dashed if its colour is taken.
  return { style, colour, dash: dash(Math.floor(place / PALETTE.length)) };
}

/** The style of a class, the same wherever it is plotted; a class of another name has one by its place. */
export function classStyle(name: string, place: number): Style {
  const known = Object.keys(CLASSES).indexOf(name);
  return objectStyle(known < 0 ? place : known);
}

/** Gives the style sheet the colours of schemes: `--s0` and so on. */
function nameColours(): void {
  SCHEMES.forEach((pair, i) => document.documentElement.style.setProperty(`--s${i}`, ofPair(pair)));
}

export function dash(place: number): number[] {
  return [[], [6, 3], [2, 2], [8, 3, 2, 3]][place % 4]!;
}

/** The colour of a link by how much of it is used, 0 to 1. */
export function utilisationColour(part: number): string {
  const stops = UTILISATION[theme()];
  const at = Math.min(1, Math.max(0, part)) * (stops.length - 1);
  const below = Math.min(stops.length - 2, Math.floor(at));
  const mix = (channel: number) => {
    const value = (stop: string) => parseInt(stop.slice(channel, channel + 2), 16);
    const low = value(stops[below]!);
    return Math.round(low + (value(stops[below + 1]!) - low) * (at - below));
  };
  return `rgb(${mix(1)}, ${mix(3)}, ${mix(5)})`;
}

export function utilisationGradient(): string {
  return `linear-gradient(to right, ${UTILISATION[theme()].join(", ")})`;
}
