// Pages over many runs: their text is in the page already; this adds what needs a script.

import "./base.css";
import "./summary.css";
import { fadeEdges } from "./dom";
import { startTheme, themeButton } from "./theme";

startTheme();
document.querySelector(".top")!.append(themeButton());
for (const box of document.querySelectorAll<HTMLElement>(".scroll")) {
  const about = box.querySelector<HTMLElement>("tbody th");
  fadeEdges(box, () => box.style.setProperty("--about", `${about?.offsetWidth ?? 0}px`));
}
