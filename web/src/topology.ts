// The network: nodes at given places, links as thick as their rate and coloured by their use, queue or drops: over a part of
// the run, or at the time of the crosshair. A shared medium is one thing with a wire to each of its stations.

import cytoscape from "cytoscape";
import { type LinkRow, type Page, type Rows, unpack } from "./data";
import { choice, h } from "./dom";
import type { Figure } from "./figure";
import { count, isNumber, millis, percent, rate, seconds, significant } from "./format";
import { type Board, common, crosshair } from "./plots";
import { fileName, saveButtons } from "./save";
import { css, onTheme, utilisationColour, utilisationGradient } from "./theme";

/** With more nodes than this a drawing has names only of what is pointed at, or enlarged. */
const NAMED = 60;
/** Directions of links that are told of what is pointed at. */
const TOLD = 8;

const ROLES = { consumer: "consumer", router: "router", producer: "producer", peer: "consumer and producer" };

export interface Network {
  element: HTMLElement;
  /** Draws; the element must be in the page. */
  start(): cytoscape.Core;
}

/** The rows of the document that are the two directions of each edge. */
export function directions(page: Page): number[][] {
  const free = new Map<string, number[]>();
  const key = (from: string, to: string) => JSON.stringify([from, to]);
  page.document.links.forEach(({ from, to }, i) => {
    const rows = free.get(key(from, to));
    if (rows) rows.push(i);
    else free.set(key(from, to), [i]);
  });
  // The same pair of nodes may have several links.
  const take = (from: string, to: string) => free.get(key(from, to))?.shift();
  return page.edges.map(({ from, to }) => [take(from, to), take(to, from)].filter((at) => at !== undefined));
}

/** The rows of the document that are directions of a medium. */
export function rowsOnMedium(page: Page, medium: number): number[] {
  return directions(page).filter((_, edge) => page.edges[edge]!.medium === medium).flat();
}

/** What is drawn as a line: a link, or what joins a station with its medium. */
interface Wire {
  /** Ids of what it joins. */
  ends: [string, string];
  /** The rows of the document that it stands for. */
  rows: number[];
  rate_bps: number;
  /** On a medium, the rows in which its station sends; the colour is of their sum. */
  sent: number[];
  /** What is said of it, before its rows. */
  title: string;
  kind: "link" | "air";
}

/** Everything that is drawn as a line. */
function wires(page: Page): Wire[] {
  const rowsOf = directions(page);
  const links = page.document.links;
  const idOf = new Map(page.nodes.map((node, i) => [node.name, `n${i}`]));
  const ofLinks = page.edges.flatMap((edge, i): Wire[] => {
    const [source, target] = [idOf.get(edge.from), idOf.get(edge.to)];
    if (source === undefined || target === undefined || edge.medium !== null) return [];
    const { rate_bps } = edge;
    const title = `${edge.from} – ${edge.to}: ${rate(rate_bps)}, ${millis(edge.delay_ms)} ms`;
    return [{ ends: [source, target], rows: rowsOf[i]!, sent: [], rate_bps, title, kind: "link" }];
  });
  const ofMedia = page.media.flatMap((medium, m) => {
    const rate_bps = page.edges.find((edge) => edge.medium === m)?.rate_bps ?? 0;
    const rowsOfAll = rowsOnMedium(page, m);
    return medium.stations.flatMap((station): Wire[] => {
      const id = idOf.get(station);
      if (id === undefined) return [];
      const rows = rowsOfAll.filter((row) => links[row]!.from === station || links[row]!.to === station);
      const sent = rows.filter((row) => links[row]!.from === station);
      return [{ ends: [id, `m${m}`], rows, sent, rate_bps, title: `${station} on ${medium.name}`, kind: "air" }];
    });
  });
  return [...ofLinks, ...ofMedia];
}

/** By what links are coloured. */
type Measure = "utilisation" | "queue" | "drops";

const MEASURES: [Measure, string][] = [
  ["utilisation", "use"],
  ["queue", "queue"],
  ["drops", "drops"],
];

/** What the drawing follows: the part of the run, and the crosshair of the plots. */
export interface Followed {
  part: { rows: Rows; listeners: (() => void)[] };
  board: Board;
  /** Who is called when the page has new data. */
  dataListeners: (() => void)[];
}

export function network(page: Page, onPick: (rows: number[]) => void, { part, board, dataListeners }: Followed): Network {
  let lines = wires(page);
  let media = page.media.map((_, m) => rowsOnMedium(page, m));
  let measure: Measure = "utilisation";
  /** The time that the slider holds. */
  let pinned: number | null = null;
  const last = () => Math.max(0, page.time.points - 1);
  const timeOf = (step: number) => (step + 0.5) * page.time.step_s;
  const step = () => crosshair.step ?? (pinned === null ? null : Math.min(last(), Math.floor(pinned / page.time.step_s)));
  const rowAt = (row: number): LinkRow => part.rows.links[row] ?? page.document.links[row]!;
  const series = new Map<string, (number | null)[]>();
  /** The values of a row over time, as they are asked for. */
  const over = (row: number, of: Measure): (number | null)[] => {
    const key = `${of} ${row}`;
    let values = series.get(key);
    if (!values) {
      const columns = page.links[row];
      const column = { utilisation: columns?.utilisation, queue: columns?.queue_ms, drops: columns?.drops }[of];
      values = unpack(column ?? null, page.time.points, 1);
      series.set(key, values);
    }
    return values;
  };
  /** What a direction of a link is coloured by; at a time it may be that nothing was measured. */
  const value = (row: number, of = measure): number | null => {
    const at = step();
    if (at !== null) return over(row, of)[at] ?? null;
    const link = rowAt(row);
    return { utilisation: link.utilisation, queue: link.queue_ms.mean, drops: link.drops }[of];
  };
  const valueOf = ({ rows, sent, kind }: Wire): number | null => {
    const all = (kind === "air" && measure === "utilisation" ? sent : rows).map((row) => value(row)).filter(isNumber);
    if (all.length === 0) return null;
    return kind === "air" && measure === "utilisation" ? all.reduce((sum, one) => sum + one, 0) : Math.max(...all);
  };
  /** The value of the last colour: the largest of all links, at any time if one is shown. */
  const top = (): number => {
    if (measure === "utilisation") return 1;
    const rows = page.document.links.map((_, row) => row);
    const largest = (values: (number | null)[]) => values.reduce<number>((most, one) => Math.max(most, one ?? 0), 0);
    const all = step() === null ? rows.map((row) => value(row)) : rows.map((row) => largest(over(row, measure)));
    return largest(all) || 1;
  };
  let highest = 1;
  const part01 = (of: number | null) => Math.min(1, Math.max(0, (of ?? 0) / highest));
  const onAir = (m: number) => media[m]!.reduce((sum, row) => sum + (value(row, "utilisation") ?? 0), 0);
  const rates = page.edges.map((edge) => edge.rate_bps).filter((bps) => bps > 0);
  const slowest = Math.min(...rates);
  const thickness = (bps: number) => Math.min(8, 2.4 + 1.7 * Math.log10(Math.max(1, bps / slowest)));
  const size = page.nodes.length <= 30 ? 22 : page.nodes.length <= 80 ? 14 : 8;

  const place = h("div", { class: "graph", role: "img" });
  place.setAttribute(
    "aria-label",
    `The network: ${page.nodes.length} nodes, ${lines.filter(({ kind }) => kind === "link").length} links${
      page.media.length > 0 ? `, ${page.media.length} shared media` : ""
    }. The table of links has the same figures.`,
  );
  const paper = h("img", { class: "paper", alt: "The network" });
  const n = page.nodes.length;
  place.style.height = `${n <= 14 ? 260 : n <= 30 ? 340 : n <= 80 ? 440 : 560}px`;
  const tip = h("div", { class: "tip", hidden: true });
  const ramp = h("span", { class: "ramp" });
  const distinct = [...new Set(rates)].sort((a, b) => a - b);
  const samples = distinct.length <= 4 ? distinct : [distinct[0]!, distinct[distinct.length - 1]!];
  const buttons = h("span", { class: "zoom" });
  const ends = [h("span"), h("span")] as const;
  let repaint = () => {};
  const chooser = choice("Colour of links", MEASURES, measure, (chosen) => {
    measure = chosen;
    repaint();
  });
  const slider = h("input", { type: "range", min: 0, max: last(), step: 1, value: 0, "aria-label": "Time of the colours" });
  const whenShown = h("output", { class: "status" });
  const mean = h("button", { type: "button", hidden: true, title: "Colour links by their means" }, "show means");
  slider.addEventListener("input", () => {
    pinned = timeOf(Number(slider.value));
    board.point(Number(slider.value));
    repaint();
  });
  mean.addEventListener("click", () => {
    pinned = null;
    board.point(null);
    repaint();
  });
  const clock = page.time.points > 1 || page.progress ? h("span", { class: "clock" }, "time", slider, whenShown, mean) : null;
  dataListeners.push(() => {
    series.clear();
    [lines, media] = [wires(page), page.media.map((_, m) => rowsOnMedium(page, m))];
    slider.max = String(last());
  });
  const figure = (): Figure => {
    const name = { utilisation: "utilisation", queue: "queueing delay", drops: "drops" }[measure];
    const at = step();
    const places = new Map(page.nodes.map((node, i) => [node.name, i]));
    const scale = measure === "utilisation" ? 100 : 1;
    return {
      source: `${common.source}, ${at === null ? "mean" : `at ${seconds(timeOf(at))} s`}`,
      panels: [
        {
          x: { label: "", unit: "" },
          y: { label: "", unit: "" },
          layers: [
            {
              name,
              style: 0,
              shape: {
                kind: "network",
                nodes: page.nodes.map(({ name, role, x, y }) => ({ name: page.nodes.length > NAMED ? "" : name, x, y, role })),
                links: page.document.links.flatMap(({ from, to }, row) => {
                  const [a, b] = [places.get(from), places.get(to)];
                  const of = value(row);
                  return a === undefined || b === undefined ? [] : [{ from: a, to: b, value: of === null ? null : of * scale }];
                }),
              },
            },
          ],
          colours: { label: name, unit: { utilisation: "%", queue: "ms", drops: "packets" }[measure], range: [0, highest * scale] },
        },
      ],
    };
  };
  const head = h("div", { class: "plot-head" }, h("span", { class: "tools" }, chooser, clock), saveButtons(() => fileName(common.name, "network", measure), figure));
  const legend = h(
    "div",
    { class: "legend" },
    h("span", {}, ends[0], ramp, ends[1]),
    h(
      "span",
      {},
      "rate:",
      ...samples.map((bps) => {
        const bar = h("i", { class: "bar" });
        bar.style.height = `${thickness(bps)}px`;
        return h("span", { class: "key" }, bar, rate(bps));
      }),
    ),
    h("span", {}, ...Object.entries(ROLES)
      .filter(([role]) => role !== "peer" || page.nodes.some((node) => node.role === "peer"))
      .map(([role, text]) => h("span", { class: "key" }, h("i", { class: `node ${role}` }), text)),
    ),
    page.media.length > 0
      ? h("span", {}, h("span", { class: "key" }, h("i", { class: "node medium" }), "shared medium: share of time with frames on the air, in total and for each station"))
      : null,
    n > NAMED ? h("span", {}, "to see names, point at a node or enlarge the network") : null,
    buttons,
  );
  const element = h("div", { class: "network" }, head, h("div", { class: "canvas" }, place, paper, tip), legend);

  const told = (rows: number[]): string[] => [
    ...rows.slice(0, TOLD).map((row) => {
      const link = rowAt(row);
      const [used, queue, drops] = MEASURES.map(([of]) => value(row, of));
      return `${link.from} → ${link.to}: ${percent(used)} % used, queue ${millis(queue)} ms, ${count(drops)} queue drops`;
    }),
    ...(rows.length > TOLD ? [`and ${rows.length - TOLD} others`] : []),
  ];
  const aboutMedium = (m: number): string[] => {
    const { name, stations } = page.media[m]!;
    const bps = page.edges.find((edge) => edge.medium === m)?.rate_bps;
    return [`${name}: ${stations.length} stations, ${rate(bps)}, frames on the air for ${percent(onAir(m))} % of the time`, ...told(media[m]!)];
  };
  const aboutNode = (node: cytoscape.NodeSingular): string[] => {
    const own = node.connectedEdges().map((edge) => lines[edge.data("index") as number]!);
    const joined = own.filter(({ kind }) => kind === "link").length;
    const on = own.filter(({ kind }) => kind === "air").map(({ ends }) => page.media[Number(ends[1].slice(1))]!.name);
    const role = ROLES[node.data("role") as keyof typeof ROLES];
    return [
      node.data("name") as string,
      [role, ...(joined > 0 || on.length === 0 ? [`${joined} links`] : []), ...on.map((name) => `on ${name}`)].join(", "),
    ];
  };

  const start = () => {
    const margin = { x: 34, y: 26 };
    const at = (node: { x: number; y: number }) => ({
      x: margin.x + node.x * (place.clientWidth - 2 * margin.x),
      y: margin.y + node.y * (place.clientHeight - 2 * margin.y - 8),
    });
    // The same pair of nodes may have several links: those bend.
    const cy = cytoscape({
      container: place,
      layout: { name: "preset", fit: false },
      userZoomingEnabled: false,
      userPanningEnabled: false,
      boxSelectionEnabled: false,
      autoungrabify: true,
      autounselectify: true,
      minZoom: 0.5,
      maxZoom: 8,
      elements: [
        ...page.nodes.map((node, i) => ({
          group: "nodes" as const,
          data: { id: `n${i}`, name: node.name, role: node.role },
          position: at(node),
          classes: node.role,
        })),
        ...page.media.map((medium, m) => ({
          group: "nodes" as const,
          data: { id: `m${m}`, name: medium.name, medium: m },
          position: at(medium),
          classes: "medium",
        })),
        ...lines.map(({ ends: [source, target], rate_bps, kind }, i) => ({
          group: "edges" as const,
          data: { id: `e${i}`, index: i, source, target, width: thickness(rate_bps) },
          classes: kind,
        })),
      ],
    });
    const paint = () => {
      highest = top();
      const at = step();
      const most = { utilisation: "100 %", queue: `${significant(highest, 3)} ms`, drops: `${count(highest)} packets` }[measure];
      ends[0].textContent = `${{ utilisation: "utilisation", queue: "queueing delay", drops: "drops" }[measure]}, the higher direction: 0`;
      ends[1].textContent = most;
      whenShown.textContent = at === null ? "mean" : `${seconds(timeOf(at))} s`;
      mean.hidden = pinned === null;
      if (at !== null) slider.value = String(at);
      const style: cytoscape.StylesheetJson = [
        {
          selector: "node",
          style: {
            width: size,
            height: size,
            "background-color": css("--node"),
            "border-width": 1.5,
            "border-color": css("--node-line"),
            label: "data(name)",
            "text-opacity": n > NAMED ? 0 : 1,
            color: css("--ink"),
            "font-size": page.nodes.length <= 80 ? 11 : 8,
            "font-family": css("--font"),
            "min-zoomed-font-size": 7,
            "text-valign": "bottom",
            "text-margin-y": 3,
            "text-background-color": css("--panel"),
            "text-background-opacity": n > NAMED ? 0 : 0.75,
            "text-background-padding": "1px",
            "text-max-width": "120px",
            "text-wrap": "ellipsis",
          },
        },
        { selector: "node.consumer", style: { shape: "ellipse", "background-color": css("--panel") } },
        { selector: "node.router", style: { shape: "round-rectangle" } },
        { selector: "node.producer", style: { shape: "diamond", "background-color": css("--panel") } },
        { selector: "node.peer", style: { shape: "ellipse", "background-color": css("--node-line") } },
        {
          selector: "node.medium",
          style: {
            shape: "round-rectangle",
            width: size * 2.2,
            height: size * 0.6,
            "border-style": "dashed",
            "background-color": (node: cytoscape.NodeSingular) =>
              utilisationColour(measure === "utilisation" ? Math.min(1, onAir(node.data("medium") as number)) : 0),
          },
        },
        {
          selector: "edge",
          style: {
            width: "data(width)",
            "curve-style": "bezier",
            "line-color": (edge: cytoscape.EdgeSingular) => utilisationColour(part01(valueOf(lines[edge.data("index") as number]!))),
            "line-cap": "round",
          },
        },
        { selector: "edge.air", style: { "line-style": "dashed", "line-dash-pattern": [6, 4], "line-cap": "butt" } },
        {
          selector: "edge.near, edge.picked",
          style: { "underlay-color": css("--accent"), "underlay-opacity": 0.28, "underlay-padding": 4 },
        },
        { selector: "node.named, node.near", style: { "text-opacity": 1, "text-background-opacity": 0.75 } },
        {
          selector: "node.near",
          style: { "border-color": css("--accent"), "border-width": 3, "z-index": 1, "min-zoomed-font-size": 0 },
        },
      ];
      cy.style(style);
      ramp.style.background = utilisationGradient();
    };
    paint();
    repaint = paint;
    onTheme(paint);
    part.listeners.push(paint);
    // Many a move of the pointer makes one drawing.
    let asked = false;
    crosshair.listeners.push(() => {
      if (asked) return;
      asked = true;
      requestAnimationFrame(() => {
        asked = false;
        paint();
      });
    });

    const name = () => cy.nodes().toggleClass("named", n <= NAMED || cy.zoom() >= 2);
    name();
    cy.on("zoom", name);
    const showTip = (text: string[], position: { x: number; y: number }) => {
      tip.replaceChildren(...text.map((line, i) => h(i === 0 ? "strong" : "span", {}, line)));
      tip.hidden = false;
      const left = Math.min(position.x + 14, place.clientWidth - tip.offsetWidth - 4);
      const below = position.y + 16;
      const top = below + tip.offsetHeight < place.clientHeight ? below : position.y - tip.offsetHeight - 12;
      tip.style.left = `${Math.max(4, left)}px`;
      tip.style.top = `${Math.max(4, top)}px`;
    };
    const hide = () => {
      tip.hidden = true;
      cy.elements().removeClass("near");
      name();
    };
    cy.on("mouseover tapstart", "edge", (event) => {
      event.target.addClass("near");
      event.target.connectedNodes().addClass("named");
      const wire = lines[event.target.data("index") as number]!;
      const sends = wire.kind === "air" ? `: sends for ${percent(wire.sent.reduce((sum, row) => sum + (value(row, "utilisation") ?? 0), 0))} % of the time` : "";
      showTip([wire.title + sends, ...told(wire.rows)], event.renderedPosition);
    });
    cy.on("mouseover tapstart", "node", (event) => {
      event.target.addClass("near");
      const medium = event.target.data("medium") as number | undefined;
      showTip(medium === undefined ? aboutNode(event.target) : aboutMedium(medium), event.renderedPosition);
    });
    cy.on("mouseout tapend", "node, edge", hide);
    // Who leaves the drawing from a node does not leave the node first.
    place.addEventListener("pointerleave", hide);
    cy.on("tap", "edge", (event) => {
      cy.elements().removeClass("picked");
      event.target.addClass("picked");
      onPick(lines[event.target.data("index") as number]!.rows);
    });
    cy.on("tap", "node", (event) => {
      cy.elements().removeClass("picked");
      const edges = event.target.connectedEdges() as cytoscape.EdgeCollection;
      edges.addClass("picked");
      const medium = event.target.data("medium") as number | undefined;
      onPick(medium === undefined ? edges.map((edge) => lines[edge.data("index") as number]!.rows).flat() : media[medium]!);
    });

    // Where the drawing stands in the window is remembered; what is above it may have grown.
    place.addEventListener("pointerenter", () => cy.resize(), { capture: true });

    const fitAll = () => {
      cy.zoom(1);
      cy.pan({ x: 0, y: 0 });
      cy.userPanningEnabled(false);
    };
    const zoom = (factor: number) => {
      const middle = { x: place.clientWidth / 2, y: place.clientHeight / 2 };
      cy.zoom({ level: cy.zoom() * factor, renderedPosition: middle });
      // Only an enlarged network moves: otherwise a swipe scrolls the page.
      cy.userPanningEnabled(cy.zoom() > 1.01);
      if (cy.zoom() <= 1.01) fitAll();
    };
    const button = (text: string, label: string, click: () => void) =>
      h("button", { type: "button", "aria-label": label, title: label, click }, text);
    buttons.append(
      button("+", "Enlarge the network", () => zoom(1.5)),
      button("−", "Shrink the network", () => zoom(1 / 1.5)),
      button("⤢", "Show the whole network", fitAll),
    );
    // The drawing itself would be repainted only after the paper has been filled.
    window.addEventListener("beforeprint", () => {
      paper.src = cy.png({ output: "base64uri", scale: 2 });
    });
    let width = place.clientWidth;
    new ResizeObserver(() => {
      if (place.clientWidth === width || place.clientWidth === 0) return;
      width = place.clientWidth;
      cy.resize();
      fitAll();
      page.nodes.forEach((node, i) => cy.getElementById(`n${i}`).position(at(node)));
      page.media.forEach((medium, m) => cy.getElementById(`m${m}`).position(at(medium)));
    }).observe(place);
    return cy;
  };
  return { element, start };
}
