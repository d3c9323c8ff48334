/** A card with a chart. Its header is the read-out: while the pointer is on any chart of the page,
 * it shows the value at that step. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useComputed } from "@preact/signals";
import { count, difference, plural, value, worded } from "../../base/text/format.js";
import { fullTitle, title as titleOf } from "../../base/text/metric-names.js";
import { Plot } from "../../charts/plot.js";
import { pins } from "../../prefs.js";
import { findings, go, lastStep, view } from "../../state.js";
import { again } from "../../wire/series.js";
import { IconButton, Status } from "../controls.js";
import { h, html } from "../html.js";
import { lazy } from "./card-section.js";

/** `folded` are the names of its minimum and maximum, drawn in the same card.
 * @typedef {import("../../state.js").MetricInfo & {folded?: string[]}} MetricInfo */
/** @typedef {import("../../charts/model.js").Spec} Spec */
/** @typedef {import("../../charts/model.js").Readout} Readout */

const SLOW = 2000; // ms after which a sentence says that the server is still reading

const LazyExport = lazy(() => import("./export-menu.js").then((m) => m.ExportButton));

/** The card of a metric. `full` puts the section into the title, for cards of several sections.
 * @param {{info: MetricInfo, xLabels: boolean, large?: boolean, full?: boolean}} props */
export function MetricCard({ info, xLabels, large, full }) {
  const named = full ? fullTitle(info.name) : titleOf(info.name);
  const severity = useComputed(
    () => findings.value.find((f) => f.severity !== "info" && f.metrics[0] === info.name)?.severity ?? "",
  ).value;
  const pinned = useComputed(() => pins.value.includes(info.name) || view.value.pin.includes(info.name)).value;
  const severalRuns = useComputed(() => view.value.runs.length > 0).value;
  const meaning = info.meaning ? `${info.name}: ${info.meaning}` : info.name;
  const head = html`
    ${severity ? h(Status, { is: severity }) : null}
    <button
      class="title cut"
      type="button"
      title=${info.note ? `${meaning}. As logged: ${info.note}` : meaning}
      onClick=${() => go({ open: `metric:${info.name}` })}>
      ${
        info.title && !named.before
          ? html`
              ${info.title}
            `
          : html`
              ${
                named.before
                  ? html`
                      <span class="ink3">${named.before}${" "}</span>
                    `
                  : null
              }${named.leaf}
            `
      }${
        info.differs
          ? html`
              <span class="differs" title=${info.differs}>${" "}≠</span>
            `
          : null
      }
    </button>
  `;
  const title_ = info.title || `${named.before ? `${named.before} ` : ""}${named.leaf}`;
  const tools = () => {
    const pinLabel = pinned ? "Unpin (p)" : "Pin (p)";
    const enlarge = () => go({ large: view.value.large === info.name ? "" : info.name });
    return html`
      <span class="tools">
        ${h(IconButton, { icon: "pin", label: pinLabel, pressed: pinned, act: () => pin(info.name) })}
        ${h(IconButton, { icon: "table", label: "Show as a table (t)", act: () => go({ table: info.name }) })}
        ${h(IconButton, { icon: "large", label: "Enlarge (e)", act: enlarge })}
        ${h(LazyExport, { name: info.name, title: title_, unit: info.unit })}
      </span>
    `;
  };
  return h(ChartCard, {
    id: info.name,
    label: info.name,
    head,
    tools,
    unit: info.unit,
    large: Boolean(large),
    after: null,
    extra: "",
    rangeFrom: info.range_from,
    spec: {
      metrics: [
        { name: info.name, label: info.folded ? "mean" : "", dashed: Boolean(info.differs) },
        ...(severalRuns ? [] : (info.folded ?? [])).map((name) => ({ name, label: name.slice(-3), dashed: true })),
      ],
      unit: info.unit,
      range: info.range,
      healthy: info.healthy,
      xLabels: xLabels || Boolean(large),
      open: info.name,
      points: info.count > 0 && info.count < 25,
    },
  });
}

/** Pin a metric, or take the pin away. @param {string} name */
export function pin(name) {
  pins.value = pins.value.includes(name) ? pins.value.filter((n) => n !== name) : [...pins.value, name];
  if (view.value.pin.includes(name)) go({ pin: view.value.pin.filter((n) => n !== name) }, "replace");
}

/** A card. `tools` are rendered when the pointer or the focus first comes to the card: of a
 * thousand cards few are touched.
 * @param {{id: string, label: string, head: any, tools: (() => any) | null, unit: string,
 *   spec: Spec, large: boolean, after: any, extra: string, rangeFrom?: string}} props */
export function ChartCard({ id, label, head, tools, unit, spec, large, after, extra, rangeFrom = "" }) {
  const host = useRef(/** @type {HTMLDivElement | null} */ (null));
  const out = useRef(/** @type {HTMLElement | null} */ (null));
  const tip = useRef(/** @type {HTMLElement | null} */ (null));
  const note = useRef(/** @type {HTMLElement | null} */ (null));
  const legend = useRef(/** @type {HTMLElement | null} */ (null));
  const range = useRef(/** @type {HTMLElement | null} */ (null));
  const latest = useRef(spec);
  const plot = useRef(/** @type {Plot | null} */ (null));
  const latestExtra = useRef(extra);
  const [touched, setTouched] = useState(false);
  const touch = () => setTouched(true);
  latest.current = spec;
  latestExtra.current = extra;
  useLayoutEffect(() => {
    // Before the next frame, in which the observers already tell what is in view.
    const element = /** @type {HTMLDivElement} */ (host.current);
    const [head_, rows, words] = [out, tip, note].map((ref) => /** @type {HTMLElement} */ (ref.current));
    if (!head_ || !rows || !words) return;
    let waiting = 0;
    const show = (/** @type {Readout} */ r) => {
      write(head_, r, unit, latestExtra.current);
      list(rows, r, unit);
      if (legend.current) showLegend(legend.current, r, unit, (at) => plot.current?.chart?.highlight(at));
      remark(words, r, () => {
        for (const m of latest.current.metrics) again(m.name);
      });
      describe(element, r, label, unit);
      const known = latest.current.range.every((v) => v !== null);
      if (range.current) say(range.current, rangeWords(r, known ? rangeFrom || "declared" : "observed", unit));
      clearTimeout(waiting);
      if (!r.stale || !r.waited) return;
      // The sentence counts the seconds.
      const next = Math.max(1000, SLOW - performance.now() + r.waited);
      waiting = setTimeout(() => plot.current?.read(), next);
    };
    plot.current = new Plot(element, () => latest.current, show);
    return () => {
      clearTimeout(waiting);
      plot.current?.destroy();
    };
  }, [id, spec.metrics.map((m) => m.name).join("\n")]);
  useEffect(() => {
    plot.current?.again();
  }, [spec.xLabels, spec.healthy, spec.range, large, extra]);
  return html`
    <article
      class=${large ? "card chart large" : "card chart"}
      data-metric=${id}
      tabindex="-1"
      onPointerEnter=${touch}
      onFocusIn=${touch}>
      <header>
        ${head}
        <span class="value n" ref=${out}></span>
        ${touched ? tools?.() : null}
      </header>
      <div class=${spec.xLabels ? "plot labelled" : "plot"} ref=${host} role="img" aria-label=${label}></div>
      <div class="of small n" ref=${range}></div>
      <div class="note" ref=${note}></div>
      <div class="tip" ref=${tip} hidden></div>
      ${
        large
          ? html`
              <ul class="legend" ref=${legend} hidden></ul>
            `
          : null
      }
      ${after}
    </article>
  `;
}

/** @param {HTMLElement} host @param {Readout} r @param {string} unit
 * @param {(at: number) => void} light */
const showLegend = (host, r, unit, light) =>
  import("./legend.js").then((m) => m.writeLegend(host, r.legend, unit, light));

/** Write the read-out straight into the header, because it changes with every move of the pointer.
 * @param {HTMLElement} out @param {Readout} r @param {string} unit @param {string} extra */
function write(out, r, unit, extra) {
  const shown = value(r.value, unit);
  const more = [
    shown.unit,
    place(r),
    !r.hover ? extra : "",
    r.constant && !r.hover ? "constant" : "",
    r.nan ? `${count(r.nan)} NaN` : "",
    r.inf ? `${count(r.inf)} Inf` : "",
  ]
    .filter(Boolean)
    .join(", ")
    .replace(/^(\S+), (at|of|mean|±|constant)/, "$1 $2");
  const none = r.value === null && !r.hover && !r.nan && !r.inf;
  if (out.childNodes.length !== 2) out.replaceChildren(document.createElement("b"), document.createElement("span"));
  say(/** @type {Element} */ (out.firstChild), none ? "" : shown.text);
  say(/** @type {Element} */ (out.lastChild), none ? (r.stale ? "" : "no data") : more ? ` ${more}` : "");
}

/** Where a read-out stands: at a step, or over the steps of a mean. @param {Readout} r */
const place = (r) => (!r.hover ? "" : r.among ? meanOf(r.among) : `at ${r.where}`);

/** @param {[number, number]} steps */
const meanOf = ([first, last]) => `mean of ${count(first)} to ${count(last)}`;

/** Set the text of an element, if it differs. @param {Element} element @param {string} text */
function say(element, text) {
  const now = /** @type {Text | null} */ (element.firstChild);
  if (!now) {
    if (text) element.append(text);
  } else if (now.data !== text) now.data = text;
}

/** List the runs at the pointer, if there are several.
 * @param {HTMLElement} tip @param {Readout} r @param {string} unit */
function list(tip, r, unit) {
  tip.hidden = r.rows.length < 2;
  if (tip.hidden) return;
  while (tip.children.length > r.rows.length) tip.lastChild?.remove();
  while (tip.children.length < r.rows.length) tip.append(tipRow());
  r.rows.forEach((row, i) => {
    const line = /** @type {Element} */ (tip.children[i]);
    const [swatch, name, text, delta] = /** @type {HTMLElement[]} */ ([...line.children]);
    if (!swatch || !name || !text || !delta) return;
    swatch.style.setProperty("--c", row.color);
    say(name, row.name);
    say(text, row.among ? `${worded(row.value, unit)} ${meanOf(row.among)}` : worded(row.value, unit));
    say(delta, difference(row.delta, unit));
  });
}

function tipRow() {
  const [line, swatch, name] = [
    document.createElement("div"),
    document.createElement("i"),
    document.createElement("span"),
  ];
  const delta = document.createElement("em");
  [swatch.className, name.className, delta.className] = ["swatch", "cut", "n ink3"];
  line.append(swatch, name, document.createElement("b"), delta);
  return line;
}

/** Say inside the card that it loads, that it failed, or that there is nothing to draw.
 * @param {HTMLElement} note @param {Readout} r @param {() => void} retry */
function remark(note, r, retry) {
  const waited = r.stale && r.waited ? performance.now() - r.waited : 0;
  if (r.error) {
    if (note.firstChild?.textContent === `${r.error} `) return;
    const button = document.createElement("button");
    button.className = "button";
    button.textContent = "Try again";
    button.onclick = retry;
    note.replaceChildren(`${r.error} `, button);
  } else {
    if (note.children.length) note.replaceChildren();
    say(
      note,
      r.empty
        ? "No values in this range."
        : waited >= SLOW
          ? `Reading ${plural(lastStep.value + 1, "step")}, ${Math.round(waited / 1000)} s`
          : "",
    );
  }
  note.classList.toggle("failed", Boolean(r.error));
}

/** The range that 0 to 1 stands for, while normalised.
 * @param {Readout} r @param {string} source @param {string} unit */
function rangeWords(r, source, unit) {
  if (!view.value.norm) return "";
  if (!r.span) return r.constant ? "constant, not normalised" : "";
  const [lo, hi] = r.span.map((v) => value(v, unit).text);
  return `${source} range ${lo} to ${hi}${value(1, unit).unit === "%" ? " %" : ""}`;
}

/** Describe the chart to a screen reader.
 * @param {HTMLElement} element @param {Readout} r @param {string} label @param {string} unit */
function describe(element, r, label, unit) {
  if (r.hover || !r.sentence) return;
  const { last, low, high, step } = r.sentence;
  const range = `between ${worded(low, unit)} and ${worded(high, unit)}`;
  element.setAttribute("aria-label", `${label}: ${worded(last, unit)} at step ${count(step)}, ${range}`);
}
