/** A chart on a board: several metrics of one run on one or two axes, or one metric of all runs. */

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { value } from "../base/text/format.js";
import { fullTitle } from "../base/text/metric-names.js";
import { rightTicks } from "../charts/model.js";
import { Plot } from "../charts/plot.js";
import { html } from "../parts/html.js";
import { names } from "../state.js";

/** @typedef {import("../base/text/boards.js").Panel} Panel */

/** @param {Panel} panel @returns {import("../charts/model.js").Spec} */
function specOf(panel) {
  const infos = panel.metrics.map((m) => names.value?.find((info) => info.name === m.name));
  const one = panel.metrics.length > 1;
  const first = infos[0];
  return {
    metrics: panel.metrics.map((m, i) => ({ name: m.name, label: short(m.name), slot: i, right: Boolean(m.right) })),
    unit: first?.unit ?? "",
    range: one ? [null, null] : (first?.range ?? [null, null]),
    healthy: one ? [null, null] : (first?.healthy ?? [null, null]),
    xLabels: true,
    one,
    points: infos.every((info) => info && info.count < 25),
    open: panel.metrics[0]?.name ?? "",
  };
}

/** The name of a metric for people. @param {string} name */
export function short(name) {
  const title = names.value?.find((info) => info.name === name)?.title;
  if (title) return title;
  const { before, leaf } = fullTitle(name);
  return `${before ? `${before} ` : ""}${leaf}`;
}

/** @param {{panel: Panel}} props */
export function ChartPanel({ panel }) {
  const host = useRef(/** @type {HTMLDivElement | null} */ (null));
  const outs = useRef(/** @type {HTMLElement | null} */ (null));
  const right = useRef(/** @type {HTMLElement | null} */ (null));
  const spec = useRef(specOf(panel));
  const plot = useRef(/** @type {Plot | null} */ (null));
  const key = JSON.stringify([panel.metrics, panel.size]);
  spec.current = specOf(panel);
  useLayoutEffect(() => {
    const element = /** @type {HTMLDivElement} */ (host.current);
    plot.current = new Plot(
      element,
      () => spec.current,
      (r) => {
        if (outs.current) writeValues(outs.current, plot.current, r);
        if (right.current) writeRight(right.current, plot.current);
      },
    );
    return () => plot.current?.destroy();
  }, [key]);
  useEffect(() => plot.current?.again(), [names.value]);
  const missing = panel.metrics.filter((m) => names.value && !names.value.some((info) => info.name === m.name));
  return html`
    <div class="outs" ref=${outs}></div>
    <div class=${panel.metrics.some((m) => m.right) ? "plot-box two-axes" : "plot-box"}>
      <div class="plot labelled" ref=${host} role="img" aria-label=${panel.title}></div>
      <div class="right-axis" ref=${right}></div>
    </div>
    ${
      missing.length
        ? html`
            <p class="read">No run shown here logs ${missing.map((m) => m.name).join(", ")}.</p>
          `
        : null
    }
  `;
}

/** Name and value of each series, straight into the element.
 * @param {HTMLElement} host @param {Plot | null} plot
 * @param {import("../charts/model.js").Readout} r */
function writeValues(host, plot, r) {
  const model = plot?.chart?.model;
  const rows = (model?.series ?? []).map((s, i) => ({ s, style: model?.styles[i], v: r.values[i] ?? null }));
  while (host.children.length > rows.length) host.lastChild?.remove();
  while (host.children.length < rows.length) {
    const item = document.createElement("span");
    item.append(document.createElement("i"), document.createElement("span"), document.createElement("b"));
    host.append(item);
  }
  rows.forEach(({ s, style, v }, i) => {
    const [swatch, name, number] = /** @type {HTMLElement[]} */ ([
      .../** @type {Element} */ (host.children[i]).children,
    ]);
    if (!swatch || !name || !number) return;
    swatch.className = "swatch";
    swatch.style.setProperty("--c", style?.color ?? "");
    const info = names.value?.find((m) => m.name === s.name);
    const shown = value(v, info?.unit ?? "");
    name.textContent = style?.label || short(s.name);
    /** @type {Element} */ (host.children[i]).classList.toggle("bare", rows.length === 1);
    number.textContent = v === null ? "–" : `${shown.text}${shown.unit ? ` ${shown.unit}` : ""}`;
  });
}

/** Labels of the second axis, beside the plot, in its series' colour.
 * @param {HTMLElement} host @param {Plot | null} plot */
function writeRight(host, plot) {
  const [chart, axis] = [plot?.chart, plot?.second];
  const ticks = chart?.plot && axis ? rightTicks(axis) : [];
  const at = plot?.right.indexOf(true) ?? -1;
  host.style.color = chart?.model?.styles[at]?.color ?? "";
  host.replaceChildren(
    ...ticks.map((tick) => {
      const label = document.createElement("span");
      label.textContent = tick.text;
      label.style.top = `${/** @type {any} */ (chart?.plot).valToPos(tick.at, "y")}px`;
      return label;
    }),
  );
}
