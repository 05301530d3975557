// Tables that sort by any column.

import { fadeEdges, h, keepFocus, setText } from "./dom";
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

export interface Contents<Row> {
  caption: string;
  columns: Column<Row>[];
  rows: Row[];
  /** What is not among the rows. */
  left?: string;
}

/** A table that is given its contents again and again. The order that the reader chose stays. */
export interface Table<Row> {
  element: HTMLElement;
  show(contents: Contents<Row>): void;
}

export function emptyTable<Row>(): Table<Row> {
  let shown: Contents<Row> = { caption: "", columns: [], rows: [] };
  let order: { title: string; ascending: boolean } | null = null;
  const heads = new Map<string, HTMLElement>();
  const headRow = h("tr");
  const header = h("thead", {}, headRow);
  const body = h("tbody");
  const caption = h("caption");
  const box = h("div", { class: "scroll", tabindex: "0", role: "region" }, h("table", {}, caption, header, body));
  const inView = h("span");
  const left = document.createTextNode("");
  const note = h("p", { class: "more", hidden: true }, inView, left);

  const headOf = ({ title, unit, number }: Column<Row>): HTMLElement => {
    const known = heads.get(title);
    if (known) return known;
    const button = h("button", { type: "button" }, title, unit ? h("span", { class: "unit" }, unit) : null);
    const head = h("th", { scope: "col", class: number ? "number" : undefined }, button);
    button.addEventListener("click", () => {
      // Numbers are mostly sought from the largest down.
      const ascending = head.hasAttribute("aria-sort") ? head.getAttribute("aria-sort") !== "ascending" : !number;
      for (const other of heads.values()) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      order = { title, ascending };
      fillRows();
    });
    heads.set(title, head);
    return head;
  };
  const fillRows = () => {
    const { columns } = shown;
    const by = columns.find(({ title }) => title === order?.title);
    const rows = by ? sort(shown.rows, by, order!.ascending) : shown.rows;
    const old = [...body.rows];
    for (const row of old.slice(rows.length)) row.remove();
    rows.forEach((row, i) => {
      const line = old[i] ?? body.insertRow();
      const cells = [...line.cells];
      columns.forEach((column, k) => {
        const cell = cells[k] ?? (k === 0 ? h("th", { scope: "row" }) : h("td", { class: column.number ? "number" : undefined }));
        setText(cell, column.text(row));
        if (!cells[k]) line.append(cell);
      });
    });
  };
  const hint = () => {
    const rows = shown.rows.length;
    const row = body.rows[0]?.offsetHeight ?? 0;
    const seen = row > 0 ? Math.floor((box.clientHeight - header.offsetHeight) / row) : rows;
    const hides = box.scrollHeight - box.clientHeight > 2 && seen < rows;
    setText(inView, hides ? `${seen} of ${count(rows)} rows in view: scroll, or sort by a column. ` : "");
    note.hidden = inView.textContent === "" && left.data === "";
  };
  fadeEdges(box, hint);

  const show = (contents: Contents<Row>) => {
    shown = contents;
    setText(caption, contents.caption);
    box.setAttribute("aria-label", contents.caption);
    box.classList.toggle("long", contents.rows.length > LONG);
    left.data = contents.left ?? "";
    const columns = contents.columns.map(headOf);
    if (columns.length !== headRow.children.length || columns.some((head, i) => head !== headRow.children[i])) {
      keepFocus(headRow, (button) => button, () => headRow.replaceChildren(...columns));
      body.replaceChildren();
    }
    fillRows();
  };
  return { element: h("div", {}, box, note), show };
}

/** A table of what stays as it is. */
export function table<Row>(caption: string, columns: Column<Row>[], rows: Row[]): HTMLElement {
  const { element, show } = emptyTable<Row>();
  show({ caption, columns, rows });
  return element;
}

function sort<Row>(rows: Row[], column: Column<Row>, ascending: boolean): Row[] {
  return [...rows].sort((a, b) => {
    const [x, y] = [column.key(a), column.key(b)];
    if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
    const order = typeof x === "number" && typeof y === "number" ? x - y : collator.compare(String(x), String(y));
    return ascending ? order : -order;
  });
}
