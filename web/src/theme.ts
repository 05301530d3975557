// Light and dark, and the colours of what is drawn. Each colour is one of a pair.

import { h } from "./dom";

export type Theme = "light" | "dark";
type Pair = readonly [light: string, dark: string];

// Chosen so that they stay apart with each kind of colour blindness; EF, AF2, AF1 and BE most.
const CLASSES: Record<string, Pair> = {
  CS7: ["#3b3232", "#d9eef4"],
  CS6: ["#7c4bda", "#a160d8"],
  EF: ["#0a4696", "#4a8df5"],
  AF4: ["#3787cf", "#a3bdff"],
  AF3: ["#85800a", "#f2d83c"],
  AF2: ["#e04a1a", "#f2682c"],
  AF1: ["#00745f", "#4fd3a0"],
  BE: ["#b77892", "#c58fb6"],
};

/** Colours for things without a colour of their own, in the order they are taken. */
const PALETTE: Pair[] = ["EF", "AF2", "AF1", "BE", "CS7", "AF4", "AF3", "CS6"].map((name) => CLASSES[name]!);

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

/** The fixed colour of a class; a class of another name has one by its place among those. */
export function classColour(name: string, place: number): Pair {
  return CLASSES[name] ?? paletteColour(place);
}

export function paletteColour(place: number): Pair {
  return PALETTE[place % PALETTE.length]!;
}

/** The colours of weir-figure (style.rs), in the same order; those for the dark theme are lighter. */
const SCHEMES: Pair[] = [
  ["#0072b2", "#4fa3e3"],
  ["#d55e00", "#f27d3c"],
  ["#009e73", "#35c99c"],
  ["#cc79a7", "#e09ac2"],
  ["#56b4e9", "#8fd0f5"],
  ["#e69f00", "#f2bd45"],
  ["#000000", "#f0f0f0"],
  ["#8c8c8c", "#999999"],
];

const SHAPES = ["circle", "square", "up", "diamond", "down", "star", "cross", "plus"] as const;

/** How a scheme looks wherever it is plotted: the same as in weir-figure. */
export function schemeStyle(style: number): { colour: Pair; dash: number[]; shape: (typeof SHAPES)[number]; isFilled: boolean } {
  const round = Math.floor(style / SCHEMES.length) % 4;
  const colour = style % SCHEMES.length;
  return {
    colour: SCHEMES[colour]!,
    dash: dash((colour + round) % 4),
    shape: SHAPES[(colour + 3 * Math.floor(round / 2)) % SHAPES.length]!,
    isFilled: round % 2 === 0,
  };
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
