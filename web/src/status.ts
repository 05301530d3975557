// The status page of a forwarder: reads /status.json every two seconds and shows rates between two readings.

import "./base.css";
import "./status.css";
import { h, section } from "./dom";
import { count, millis, percent, rate, significant } from "./format";
import { classStyle, ofPair, onTheme, startTheme, themeButton } from "./theme";

/** The same shape as `crates/management/src/overview.rs`. */
interface Overview {
  version: string;
  started_ms: number;
  now_ms: number;
  tables: {
    pit_entries: number;
    satisfied_interests: number;
    expired_interests: number;
    evicted_interests: number;
    left_next_hops: number;
  };
  store: { packets: number; capacity: number; hits: number; misses: number };
  faces: Face[];
  face_count: number;
  classes: ServiceClass[];
  routes: { prefix: string; next_hops: { face: number; cost: number; silent: boolean }[] }[];
  route_count: number;
  drops: { reason: string; data: number; others: number }[];
  losses: { datagrams: number; reassembly: number; connections: number; files: number };
}

interface Face {
  face: number;
  remote: string;
  up: boolean;
  rate_bps: number | null;
  in_interests: number;
  in_data: number;
  in_bytes: number;
  out_interests: number;
  out_data: number;
  out_bytes: number;
  queue_packets: number;
  queue_bytes: number;
  dropped: number;
}

interface ServiceClass {
  class: string;
  out_interests: number;
  out_data: number;
  out_bytes: number;
  dropped: number;
  queued: number;
  queue_delay_s: number;
  queue_delays: [number | null, number][];
}

const PERIOD_MS = 2000;
/** Readings that a small plot shows: five minutes. */
const KEPT = 150;

const classNames = ["CS7", "CS6", "EF", "AF4", "AF3", "AF2", "AF1", "BE"];
/** Rates of a class, bit/s, the newest last; `NaN` where nothing was read. */
const history = new Map<string, number[]>();
let before: Overview | undefined;
/** The reading that the page shows: a change of theme draws it again. */
let drawn: Overview | undefined;

/** A rate per second between two readings; none before the second one, and after the forwarder started again. */
function perSecond(now: number, then: number | undefined, seconds: number): number | undefined {
  return then === undefined || seconds <= 0 || now < then ? undefined : (now - then) / seconds;
}

function table(caption: string, head: [string, boolean][], rows: (string | Node)[][]): HTMLElement {
  const cell = (value: string | Node, at: number) =>
    at === 0 ? h("th", { scope: "row" }, value) : h("td", { class: head[at]?.[1] ? "number" : "text" }, value);
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "group", "aria-label": caption },
    h(
      "table",
      {},
      h("caption", {}, caption),
      h("thead", {}, h("tr", {}, ...head.map(([name, isNumber]) => h("th", { scope: "col", class: isNumber ? "number" : "text" }, name)))),
      h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map(cell)))),
    ),
  );
}

/** A delay that a part of the packets did not exceed, in ms: the upper bound of its bucket. */
function quantile(buckets: [number | null, number][], part: number): number | undefined {
  const all = buckets.reduce((sum, [, packets]) => sum + packets, 0);
  if (all === 0) return undefined;
  let below = 0;
  for (const [bound, packets] of buckets) {
    below += packets;
    if (below >= part * all) return bound === null ? Infinity : bound * 1000;
  }
  return undefined;
}

function sparkline(values: number[], colour: string): SVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const [width, height] = [150, 22];
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("class", "sparkline");
  svg.setAttribute("aria-hidden", "true");
  const most = Math.max(...values.filter(Number.isFinite), 1);
  const points = values.flatMap((value, at) =>
    Number.isFinite(value) ? [`${width - values.length + at},${(height - 1 - (value / most) * (height - 3)).toFixed(1)}`] : [],
  );
  const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
  line.setAttribute("points", points.join(" "));
  line.setAttribute("fill", "none");
  line.setAttribute("stroke", colour);
  line.setAttribute("stroke-width", "1.5");
  svg.append(line);
  return svg;
}

function duration(ms: number): string {
  const s = Math.floor(ms / 1000);
  const parts: [number, string][] = [[Math.floor(s / 86400), "d"], [Math.floor(s / 3600) % 24, "h"], [Math.floor(s / 60) % 60, "min"], [s % 60, "s"]];
  const from = parts.findIndex(([value]) => value > 0);
  return from < 0 ? "0 s" : parts.slice(from, from + 2).map(([value, unit]) => `${value} ${unit}`).join(" ");
}

function classes(now: Overview, seconds: number): HTMLElement {
  const rows = now.classes.map((one) => {
    const then = before?.classes.find((other) => other.class === one.class);
    const bps = perSecond(one.out_bytes * 8, then && then.out_bytes * 8, seconds);
    const buckets = one.queue_delays.map(([bound, packets], at): [number | null, number] => [bound, packets - (then?.queue_delays[at]?.[1] ?? 0)]);
    const queued = one.queued - (then?.queued ?? 0);
    const mean = then && queued > 0 ? ((one.queue_delay_s - then.queue_delay_s) / queued) * 1000 : undefined;
    const most = then && quantile(buckets, 0.95);
    const kept = history.get(one.class) ?? [];
    if (now !== drawn) kept.push(bps ?? NaN);
    history.set(one.class, kept.slice(-KEPT));
    const place = classNames.indexOf(one.class);
    const colour = ofPair(classStyle(one.class, Math.max(0, place)).colour);
    return [
      h("span", { class: "class" }, h("i", { style: `background:${colour}`, "aria-hidden": "true" }), one.class),
      rate(bps),
      sparkline(kept.slice(-KEPT), colour),
      significant(perSecond(one.out_data, then?.out_data, seconds)),
      millis(mean),
      most === undefined ? millis(undefined) : most === Infinity ? "> 1000" : `≤ ${millis(most)}`,
      significant(perSecond(one.dropped, then?.dropped, seconds)),
      count(one.dropped),
    ];
  });
  const head: [string, boolean][] = [["class", false], ["sent", true], ["last 5 min", false], ["Data/s", true], ["mean delay, ms", true], ["95 % delay, ms", true], ["drops/s", true], ["drops", true]];
  return section(
    "classes",
    "Service classes",
    [],
    rows.length > 0 ? table("Service classes", head, rows) : h("p", { class: "hint" }, "No packet has left yet."),
    h("p", { class: "hint" }, "Delays are those of packets in front of faces with a rate, since the last reading."),
  );
}

function faces(now: Overview, seconds: number): HTMLElement {
  const rows = now.faces.map((one) => {
    const then = before?.faces.find((other) => other.face === one.face);
    const [inward, outward] = [perSecond(one.in_bytes * 8, then && then.in_bytes * 8, seconds), perSecond(one.out_bytes * 8, then && then.out_bytes * 8, seconds)];
    const used = one.rate_bps && outward !== undefined ? outward / one.rate_bps : undefined;
    return [
      String(one.face),
      one.remote,
      h("span", { class: one.up ? "up" : "down" }, one.up ? "up" : "down"),
      rate(inward),
      rate(outward),
      rate(one.rate_bps),
      percent(used),
      count(one.queue_packets),
      significant(perSecond(one.dropped, then?.dropped, seconds)),
      count(one.dropped),
    ];
  });
  const head: [string, boolean][] = [["face", false], ["remote", false], ["state", false], ["in", true], ["out", true], ["rate", true], ["used, %", true], ["queue, packets", true], ["drops/s", true], ["drops", true]];
  const left = now.face_count - now.faces.length;
  return section("faces", "Faces", [], table("Faces", head, rows), left > 0 && h("p", { class: "more" }, `${count(left)} more faces are not shown.`));
}

function routes(now: Overview): HTMLElement {
  const rows = now.routes.map((one) => [
    one.prefix,
    one.next_hops.map((hop) => `face ${hop.face} (cost ${hop.cost}${hop.silent ? ", silent" : ""})`).join(", "),
  ]);
  const left = now.route_count - now.routes.length;
  return section(
    "routes",
    "Routes",
    [],
    rows.length > 0 ? table("Routes", [["prefix", false], ["next hops", false]], rows) : h("p", { class: "hint" }, "There are no routes: `weir route add` adds one."),
    left > 0 && h("p", { class: "more" }, `${count(left)} more prefixes are not shown.`),
  );
}

function tables(now: Overview, seconds: number): HTMLElement {
  const { store, tables: own } = now;
  const hits = perSecond(store.hits, before?.store.hits, seconds);
  const misses = perSecond(store.misses, before?.store.misses, seconds);
  const fact = (name: string, value: string) => h("div", {}, h("dt", {}, name), h("dd", {}, value));
  const each = (name: string, value: number, then: number | undefined) =>
    fact(name, `${count(value)} (${significant(perSecond(value, then, seconds))}/s)`);
  return section(
    "tables",
    "Tables",
    [],
    h(
      "dl",
      { class: "facts" },
      fact("content store, Data", `${count(store.packets)} of ${count(store.capacity)}`),
      fact("hit ratio, %", hits !== undefined && misses !== undefined && hits + misses > 0 ? percent(hits / (hits + misses)) : percent(undefined)),
      fact("pending Interests", count(own.pit_entries)),
      each("satisfied", own.satisfied_interests, before?.tables.satisfied_interests),
      each("expired", own.expired_interests, before?.tables.expired_interests),
      each("evicted", own.evicted_interests, before?.tables.evicted_interests),
      each("next hops left", own.left_next_hops, before?.tables.left_next_hops),
    ),
  );
}

function drops(now: Overview, seconds: number): HTMLElement {
  const rows = now.drops.map((one) => {
    const then = before?.drops.find((other) => other.reason === one.reason);
    const all = one.data + one.others;
    return [one.reason, significant(perSecond(all, before && (then ? then.data + then.others : 0), seconds)), count(one.data), count(one.others)];
  });
  const { losses } = now;
  const lost: [string, number][] = [
    ["datagrams without room in receive buffers", losses.datagrams],
    ["IP datagrams that were not reassembled", losses.reassembly],
    ["refused connections", losses.connections],
    ["errors that ended a capture or a recording", losses.files],
  ];
  const said = lost.filter(([, value]) => value > 0).map(([what, value]) => `${count(value)} ${what}`);
  return section(
    "drops",
    "Drops by reason",
    [],
    rows.length > 0
      ? table("Drops by reason", [["reason", false], ["drops/s", true], ["Data", true], ["Interests and Nacks", true]], rows)
      : h("p", { class: "hint" }, "No packet was dropped."),
    said.length > 0 && h("p", { class: "hint" }, `${said.join("; ")}.`),
  );
}

function summary(now: Overview, seconds: number): string {
  const sum = (of: (face: Face) => number, from: Overview | undefined) => from && from.faces.reduce((all, face) => all + of(face), 0);
  const inward = perSecond(sum((face) => face.in_bytes * 8, now)!, sum((face) => face.in_bytes * 8, before), seconds);
  const outward = perSecond(sum((face) => face.out_bytes * 8, now)!, sum((face) => face.out_bytes * 8, before), seconds);
  const down = now.faces.filter((face) => !face.up).length;
  const dropped = (from: Overview | undefined) => from && from.drops.reduce((all, one) => all + one.data + one.others, 0);
  const lost = perSecond(dropped(now)!, dropped(before), seconds);
  if (inward === undefined || outward === undefined || lost === undefined) return "Rates appear with the second reading.";
  return `${rate(inward)} in and ${rate(outward)} out; ${down === 0 ? "all faces are up" : `${down} of ${now.face_count} faces ${down === 1 ? "is" : "are"} down`}; ${lost === 0 ? "no drops" : `${significant(lost)} drops/s`}.`;
}

const main = document.getElementById("status")!;
const said = h("p", { class: "verdict", role: "status" }, "Reading the status …");
const facts = h("p", { class: "source" });
const body = h("div", { class: "sections" });
let last: Overview | undefined;

function draw(now: Overview): void {
  const seconds = before ? (now.now_ms - before.now_ms) / 1000 : 0;
  said.textContent = summary(now, seconds);
  said.classList.remove("fails");
  facts.textContent = `${now.version}, up for ${duration(now.now_ms - now.started_ms)}; ${count(now.face_count)} faces, ${count(now.route_count)} prefixes with routes`;
  // What a reader has scrolled to stays where it is.
  const scrolled = [...body.querySelectorAll(".scroll")].map((box) => [box.scrollLeft, box.scrollTop] as const);
  const focused = document.activeElement?.closest("section")?.id;
  const sections = [classes(now, seconds), faces(now, seconds), routes(now), tables(now, seconds), drops(now, seconds)];
  drawn = now;
  body.replaceChildren(...sections);
  [...body.querySelectorAll(".scroll")].forEach((box, at) => box.scrollTo(...(scrolled[at] ?? [0, 0])));
  if (focused) body.querySelector<HTMLElement>(`#${focused} .scroll`)?.focus({ preventScroll: true });
}

async function read(): Promise<void> {
  if (document.hidden) return;
  try {
    const response = await fetch("/status.json", { cache: "no-store", signal: AbortSignal.timeout(5000) });
    if (!response.ok) throw new Error(String(response.status));
    const now = (await response.json()) as Overview;
    // Another process: its counters begin at 0.
    if (last && now.started_ms - last.started_ms > 1000) {
      last = undefined;
      history.clear();
    }
    before = last;
    last = now;
    draw(now);
  } catch {
    said.textContent = "The forwarder does not answer; the figures below are old.";
    said.classList.add("fails");
  }
}

startTheme();
main.replaceChildren(
  h("div", { class: "top" }, h("span", { class: "brand" }, "Weir"), themeButton()),
  h("header", {}, h("h1", {}, `Forwarder on ${location.hostname || "this host"}`), facts, said),
  body,
  h("footer", {}, h("a", { href: "/status.json" }, "status.json"), " · ", h("a", { href: "/metrics" }, "metrics")),
);
onTheme(() => {
  if (last) draw(last);
});
void read();
setInterval(() => void read(), PERIOD_MS);
document.addEventListener("visibilitychange", () => void read());
