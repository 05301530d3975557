// Saving a plot as a file: the page has the crate weir-figure as WebAssembly, which draws the plot's description.

import { h } from "./dom";
import type { Figure } from "./figure";

const FORMATS = ["SVG", "PDF", "CSV"] as const;
type Format = (typeof FORMATS)[number];

const TYPES: Record<Format, string> = { SVG: "image/svg+xml", PDF: "application/pdf", CSV: "text/csv" };

interface Drawer {
  memory: WebAssembly.Memory;
  /** Room for a text of so many bytes. */
  room(length: number): number;
  /** Draws the figure whose JSON is there, so many columns of a paper wide; 0 if it is none. */
  draw(format: number, columns: number): number;
  /** Where what was drawn is, and how long it is. */
  drawn(): number;
  drawn_length(): number;
}

let drawer: Promise<Drawer> | undefined;

/** The packed program in the page; none in a page without plots. */
const packed = () => document.getElementById("weir-figure")?.textContent ?? "";

function load(): Promise<Drawer> {
  drawer ??= (async () => {
    const bytes = Uint8Array.from(atob(packed()), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const { instance } = await WebAssembly.instantiate(await new Response(stream).arrayBuffer(), {});
    return instance.exports as unknown as Drawer;
  })();
  return drawer;
}

/** The bytes of a file, one or two columns of a paper wide. */
export async function file(figure: Figure, format: Format, columns = 1): Promise<Uint8Array<ArrayBuffer>> {
  const program = await load();
  const json = new TextEncoder().encode(JSON.stringify(figure));
  const at = program.room(json.length);
  new Uint8Array(program.memory.buffer, at, json.length).set(json);
  if (program.draw(FORMATS.indexOf(format), columns) === 0) throw new Error("the figure cannot be drawn");
  return new Uint8Array(program.memory.buffer.slice(program.drawn(), program.drawn() + program.drawn_length()));
}

/** Buttons that save what `figure` gives when one is pressed, under this name. */
export function saveButtons(name: () => string, figure: () => Figure): HTMLElement {
  const status = h("span", { class: "status", role: "status" });
  const save = async (format: Format) => {
    try {
      status.textContent = "";
      const url = URL.createObjectURL(new Blob([await file(figure(), format)], { type: TYPES[format] }));
      const link = h("a", { href: url, download: `${name()}.${format.toLowerCase()}` });
      link.click();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
    } catch (error) {
      status.textContent = `not saved: ${error instanceof Error ? error.message : String(error)}`;
    }
  };
  return h(
    "span",
    { class: "save", role: "group", "aria-label": "Save this plot" },
    status,
    ...FORMATS.map((format) =>
      h("button", { type: "button", class: "link", title: `Save this plot as ${format}, as it is shown now`, click: () => void save(format) }, format),
    ),
  );
}

/** Words as a name of a file. */
export function fileName(...words: string[]): string {
  const name = words.join("-").replace(/[^A-Za-z0-9.]+/g, "-").replace(/^-+|-+$/g, "").toLowerCase();
  return name.slice(0, 100) || "plot";
}
