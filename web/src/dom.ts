// Making elements. Text only ever becomes text.

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | ((event: Event) => void) | undefined>;

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) {
    if (child) element.append(child);
  }
  return element;
}

/** A section with its heading; `tools` stand beside it. */
export function section(id: string, title: string, tools: Child[], ...content: Child[]): HTMLElement {
  return h(
    "section",
    { id, "aria-labelledby": `${id}-title` },
    h("div", { class: "heading" }, h("h2", { id: `${id}-title` }, title), ...tools),
    ...content,
  );
}

/**
 * Marks the edges behind which a box has more, for the style sheet to fade them; `changed` is
 * called when the box is laid out anew.
 */
export function fadeEdges(box: HTMLElement, changed?: () => void): void {
  const mark = () => {
    box.toggleAttribute("data-more-right", box.scrollWidth - box.clientWidth - box.scrollLeft > 2);
    box.toggleAttribute("data-more-below", box.scrollHeight - box.clientHeight - box.scrollTop > 2);
  };
  const observer = new ResizeObserver(() => {
    mark();
    changed?.();
  });
  observer.observe(box);
  for (const child of box.children) observer.observe(child);
  box.addEventListener("scroll", mark, { passive: true });
}

/** A row of buttons of which one is chosen. */
export function choice<T extends string>(
  label: string,
  options: [T, string][],
  chosen: T,
  onChoose: (value: T) => void,
): HTMLElement {
  const buttons = options.map(([value, text]) =>
    h("button", { type: "button", "aria-pressed": String(value === chosen), "data-value": value }, text),
  );
  const group = h("div", { class: "choice", role: "group", "aria-label": label }, ...buttons);
  for (const button of buttons) {
    button.addEventListener("click", () => {
      for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
      onChoose(button.dataset["value"] as T);
    });
  }
  return group;
}

/** A drop-down list. */
export function select(
  label: string,
  options: [string, string][],
  chosen: string,
  onChoose: (value: string) => void,
): HTMLSelectElement {
  const list = h(
    "select",
    { "aria-label": label },
    ...options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)),
  );
  list.addEventListener("change", () => onChoose(list.value));
  return list;
}

/** Says this, unless it is said already. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Gives a place this content, unless it has the same. */
export function fill(place: Element, ...content: Child[]): void {
  const next = place.cloneNode() as Element;
  next.append(...content.filter((child): child is Node | string => Boolean(child)));
  if (!place.isEqualNode(next)) place.replaceChildren(...next.childNodes);
}

/** Gives a drop-down list these options, unless it has the same. What is chosen stays. */
export function setOptions(list: HTMLSelectElement, options: [string, string][]): void {
  const chosen = list.value;
  fill(list, ...options.map(([value, text]) => h("option", { value }, text)));
  list.value = chosen;
}

/** Replaces elements in which the focus may be, and gives it to what stands for them: the element that `focused` finds. */
export function keepFocus(root: Element, focused: (before: HTMLElement) => HTMLElement | null, change: () => void): void {
  const before = document.activeElement;
  const isInside = before instanceof HTMLElement && root.contains(before);
  change();
  if (isInside) focused(before)?.focus({ preventScroll: true });
}

/** Opens what is folded for the paper, and what a link of the page leads to. */
export function openFolded(): void {
  const target = () => {
    const at = location.hash.length > 1 ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
    const fold = at?.querySelector<HTMLDetailsElement>(":scope > details");
    if (!at || !fold) return;
    fold.open = true;
    at.scrollIntoView();
  };
  window.addEventListener("hashchange", target);
  target();
  let opened: HTMLDetailsElement[] = [];
  window.addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll<HTMLDetailsElement>("details:not([open])")];
    for (const one of opened) one.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const one of opened) one.open = false;
  });
}
