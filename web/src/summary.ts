// Pages over many runs: their text is in the page already; this adds what needs a script.

import "./base.css";
import "./summary.css";
import { choice, fadeEdges, openFolded, select } from "./dom";
import { startTheme, themeButton } from "./theme";

startTheme();
openFolded();
document.querySelector(".top")!.append(themeButton());
for (const box of document.querySelectorAll<HTMLElement>(".scroll")) {
  const about = box.querySelector<HTMLElement>("tbody th");
  fadeEdges(box, () => box.style.setProperty("--about", `${about?.offsetWidth ?? 0}px`));
}

/** The matrix shows one figure at a time, and says of the cell under the pointer or the focus what its number means. */
function matrix(section: HTMLElement): void {
  const tables = [...section.querySelectorAll<HTMLElement>(".measure")];
  const show = (key: string) => {
    for (const table of tables) table.hidden = table.dataset.measure !== key;
  };
  const names = tables.map((table): [string, string] => [table.dataset.measure!, table.dataset.title!]);
  section.querySelector("#measures")!.append(choice("Figure to show", names, names[0]![0], show));
  show(names[0]![0]);
  const detail = section.querySelector<HTMLElement>("#detail")!;
  const hint = detail.textContent!;
  const tell = (event: Event) => {
    const cell = (event.target as HTMLElement).closest<HTMLElement>(".matrix td[title], .matrix td[data-tip]");
    detail.textContent = cell ? (cell.dataset.tip ?? cell.title) : hint;
  };
  section.addEventListener("pointerover", tell);
  section.addEventListener("focusin", tell);
}

const section = document.getElementById("matrix");
if (section) matrix(section);

/** The answer of a comparison is about one part of the runs at a time. */
function contest(section: HTMLElement): void {
  const periods = [...section.querySelectorAll<HTMLElement>(".period")];
  const show = (at: string) => periods.forEach((period, i) => (period.hidden = String(i) !== at));
  show("0");
  if (periods.length < 2) return;
  const names = periods.map((period, i): [string, string] => [String(i), period.dataset["title"]!]);
  const tools = section.querySelector("#periods")!;
  tools.append(names.length <= 3 ? choice("Part of the runs", names, "0", show) : select("Part of the runs", names, "0", show));
}

const ofSchemes = document.getElementById("contest");
if (ofSchemes) contest(ofSchemes);
