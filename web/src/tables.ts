// Tables that sort by any column.

import { fadeEdges, h } from "./dom";
import { count } from "./format";

export interface Column<Row> {
  title: string;
  unit?: string;
  /** What the cell says. */
  text: (row: Row) => string;
  /** What it sorts by: text by its numbers and letters, what is null always last. */
  key: (row: Row) => string | number | null;
  /** Numbers stand at the right. */
  number?: boolean;
}

/** A table of more rows is laid out only when it comes into view. */
const LONG = 100;

const collator = new Intl.Collator("en", { numeric: true });

/** `left` says what is not among the rows. */
export function table<Row>(caption: string, columns: Column<Row>[], rows: Row[], left = ""): HTMLElement {
  const body = h("tbody");
  const fill = (sorted: Row[]) => {
    body.replaceChildren(
      ...sorted.map((row) =>
        h(
          "tr",
          {},
          ...columns.map((column, i) =>
            i === 0
              ? h("th", { scope: "row" }, column.text(row))
              : h("td", { class: column.number ? "number" : undefined }, column.text(row)),
          ),
        ),
      ),
    );
  };
  const heads = columns.map((column, i) => {
    const button = h(
      "button",
      { type: "button" },
      column.title,
      column.unit ? h("span", { class: "unit" }, column.unit) : null,
    );
    const head = h("th", { scope: "col", class: column.number ? "number" : undefined }, button);
    button.addEventListener("click", () => {
      // Numbers are mostly sought from the largest down.
      const order = head.getAttribute("aria-sort");
      const first = column.number ? "descending" : "ascending";
      const second = column.number ? "ascending" : "descending";
      const next = order === first ? second : first;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", next);
      fill(sort(rows, columns[i]!, next === "ascending"));
    });
    return head;
  });
  fill(rows);
  const header = h("thead", {}, h("tr", {}, ...heads));
  const box = h(
    "div",
    { class: rows.length > LONG ? "scroll long" : "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {}, h("caption", {}, caption), header, body),
  );
  const inView = h("span");
  const note = h("p", { class: "more", hidden: true }, inView, left);
  fadeEdges(box, () => {
    const row = body.rows[0]?.offsetHeight ?? 0;
    const seen = row > 0 ? Math.floor((box.clientHeight - header.offsetHeight) / row) : rows.length;
    const hides = box.scrollHeight - box.clientHeight > 2 && seen < rows.length;
    inView.textContent = hides ? `${seen} of ${count(rows.length)} rows in view: scroll, or sort by a column. ` : "";
    note.hidden = inView.textContent === "" && left === "";
  });
  return h("div", {}, box, note);
}

function sort<Row>(rows: Row[], column: Column<Row>, ascending: boolean): Row[] {
  return [...rows].sort((a, b) => {
    const [x, y] = [column.key(a), column.key(b)];
    if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
    const order = typeof x === "number" && typeof y === "number" ? x - y : collator.compare(String(x), String(y));
    return ascending ? order : -order;
  });
}
