/** A card with a chart. Its header is the read-out: while the cursor is anywhere on the page it shows the value at that step. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useComputed } from "@preact/signals";
import { count, plural, value, worded } from "../../base/text/format.js";
import { fullTitle, title as titleOf } from "../../base/text/metric-names.js";
import { Plot } from "../../charts/plot.js";
import { pins } from "../../prefs.js";
import { findings, go, lastStep, view } from "../../state.js";
import { again } from "../../wire/series.js";
import { h, html } from "../html.js";
import { IconButton, Status } from "../controls.js";

/** @typedef {import("../../state.js").MetricInfo} MetricInfo */
/** @typedef {import("../../charts/plot.js").Spec} Spec */
/** @typedef {import("../../charts/plot.js").Readout} Readout */

const SLOW = 2000; // ms after which a sentence says what is waited for

/** @param {{info: MetricInfo, xLabels: boolean, large?: boolean, full?: boolean}} props (`full`: among cards of other sections, with its own) */
export function MetricCard({ info, xLabels, large, full }) {
  const named = full ? fullTitle(info.name) : titleOf(info.name);
  const severity = useComputed(
    () => findings.value.find((f) => f.severity !== "info" && f.metrics[0] === info.name)?.severity ?? "",
  ).value;
  const pinned = useComputed(() => pins.value.includes(info.name) || view.value.pin.includes(info.name)).value;
  const head = html`
    ${severity ? h(Status, { is: severity }) : null}
    <button
      class="title cut"
      type="button"
      title=${[info.meaning ? `${info.name}: ${info.meaning}` : info.name, info.note].filter(Boolean).join(". As logged: ")}
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
  const tools = () => html`
    <span class="tools">
      ${h(IconButton, { icon: "pin", label: pinned ? "Unpin (p)" : "Pin (p)", pressed: pinned, act: () => pin(info.name) })}${h(IconButton, { icon: "table", label: "As a table (t)", act: () => go({ table: info.name }) })}${h(IconButton, { icon: "large", label: "Large (e)", act: () => go({ large: view.value.large === info.name ? "" : info.name }) })}
    </span>
  `;
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
      metrics: [{ name: info.name, label: "", dashed: Boolean(info.differs) }],
      unit: info.unit,
      range: info.range,
      healthy: info.healthy,
      xLabels: xLabels || Boolean(large),
      open: info.name,
      points: info.count > 0 && info.count < 25,
    },
  });
}

/** @param {string} name */
export function pin(name) {
  pins.value = pins.value.includes(name) ? pins.value.filter((n) => n !== name) : [...pins.value, name];
  if (view.value.pin.includes(name)) go({ pin: view.value.pin.filter((n) => n !== name) }, "replace");
}

/** `tools` are made when a pointer or the focus first comes to the card: of a thousand cards few are touched.
 * @param {{id: string, label: string, head: any, tools: (() => any) | null, unit: string, spec: Spec, large: boolean, after: any, extra: string, rangeFrom?: string}} props */
export function ChartCard({ id, label, head, tools, unit, spec, large, after, extra, rangeFrom = "" }) {
  const host = useRef(/** @type {HTMLDivElement | null} */ (null));
  const out = useRef(/** @type {HTMLElement | null} */ (null));
  const tip = useRef(/** @type {HTMLElement | null} */ (null));
  const note = useRef(/** @type {HTMLElement | null} */ (null));
  const of = useRef(/** @type {HTMLElement | null} */ (null));
  const latest = useRef(spec);
  const plot = useRef(/** @type {Plot | null} */ (null));
  const told = useRef(extra);
  const [touched, setTouched] = useState(false);
  const touch = () => setTouched(true);
  latest.current = spec;
  told.current = extra;
  useLayoutEffect(() => {
    // not after the next frame: what is in view is known by then
    const element = /** @type {HTMLDivElement} */ (host.current);
    const [head_, rows, words] = [out, tip, note].map((ref) => /** @type {HTMLElement} */ (ref.current));
    if (!head_ || !rows || !words) return;
    let waiting = 0;
    const show = (/** @type {Readout} */ r) => {
      write(head_, r, unit, told.current);
      list(rows, r, unit);
      remark(words, r, () => {
        for (const m of latest.current.metrics) again(m.name);
      });
      describe(element, r, label, unit);
      const known = latest.current.range.every((v) => v !== null);
      if (of.current)
        say(
          of.current,
          !view.value.norm
            ? ""
            : r.span
              ? `${known ? rangeFrom || "declared" : "observed"} range ${value(r.span[0], unit).text} to ${value(r.span[1], unit).text}${value(1, unit).unit === "%" ? " %" : ""}`
              : r.constant
                ? "constant, not normalised"
                : "",
        );
      clearTimeout(waiting);
      if (r.stale && r.waited)
        waiting = setTimeout(() => plot.current?.read(), Math.max(1000, SLOW - performance.now() + r.waited)); // the sentence counts
    };
    plot.current = new Plot(element, () => latest.current, show);
    return () => {
      clearTimeout(waiting);
      plot.current?.destroy();
    };
  }, [id]);
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
      <div class="of small n" ref=${of}></div>
      <div class="note" ref=${note}></div>
      <div class="tip" ref=${tip} hidden></div>
      ${after}
    </article>
  `;
}

/** The read-out, written straight into the header: it changes with every move of the pointer. @param {HTMLElement} out @param {Readout} r @param {string} unit @param {string} extra */
function write(out, r, unit, extra) {
  const said = value(r.value, unit);
  const more = [
    said.unit,
    r.hover ? `at ${count(r.at)}` : "",
    !r.hover ? extra : "",
    r.constant && !r.hover ? "constant" : "",
    r.nan ? `${count(r.nan)} NaN` : "",
    r.inf ? `${count(r.inf)} Inf` : "",
  ]
    .filter(Boolean)
    .join(", ")
    .replace(/^(\S+), (at|of|±|constant)/, "$1 $2");
  const none = r.value === null && !r.nan && !r.inf;
  if (out.childNodes.length !== 2) out.replaceChildren(document.createElement("b"), document.createElement("span"));
  say(/** @type {Element} */ (out.firstChild), none ? "" : said.text);
  say(/** @type {Element} */ (out.lastChild), none ? (r.stale ? "" : "no data") : more ? ` ${more}` : "");
}

/** Words in an element, where they are not there already. @param {Element} element @param {string} text */
function say(element, text) {
  const now = /** @type {Text | null} */ (element.firstChild);
  if (!now) {
    if (text) element.append(text);
  } else if (now.data !== text) now.data = text;
}

/** With several runs the hovered chart lists them, at most eight, by value. @param {HTMLElement} tip @param {Readout} r @param {string} unit */
function list(tip, r, unit) {
  tip.hidden = r.rows.length < 2;
  if (tip.hidden) return;
  while (tip.children.length > r.rows.length) tip.lastChild?.remove();
  while (tip.children.length < r.rows.length) tip.append(tipRow());
  r.rows.forEach((row, i) => {
    const [swatch, name, text] = /** @type {HTMLElement[]} */ ([.../** @type {Element} */ (tip.children[i]).children]);
    if (!swatch || !name || !text) return;
    swatch.style.setProperty("--c", row.color);
    say(name, row.name);
    say(text, worded(row.value, unit));
  });
}

function tipRow() {
  const [line, swatch, name] = [
    document.createElement("div"),
    document.createElement("i"),
    document.createElement("span"),
  ];
  [swatch.className, name.className] = ["swatch", "cut"];
  line.append(swatch, name, document.createElement("b"));
  return line;
}

/** Loading, failing, and nothing to draw, each in words inside the card. @param {HTMLElement} note @param {Readout} r @param {() => void} retry */
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
        ? "Nothing logged in this range"
        : waited >= SLOW
          ? `reading ${plural(lastStep.value + 1, "step")}, ${Math.round(waited / 1000)} s`
          : "",
    );
  }
  note.classList.toggle("failed", Boolean(r.error));
}

/** @param {HTMLElement} element @param {Readout} r @param {string} label @param {string} unit */
function describe(element, r, label, unit) {
  if (r.hover || !r.sentence) return;
  element.setAttribute(
    "aria-label",
    `${label}: ${worded(r.sentence.last, unit)} at step ${count(r.sentence.step)}, between ${worded(r.sentence.low, unit)} and ${worded(r.sentence.high, unit)}`,
  );
}
