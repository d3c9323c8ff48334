/** The toolbar above the charts: search, smoothing, y scale, first step, normalising, density, CSV.
 */

import { count, plural } from "../../base/text/format.js";
import { density } from "../../prefs.js";
import { go, names, view } from "../../state.js";
import { find } from "../../base/text/metric-names.js";
import { ROOT, part } from "../../wire/api.js";
import { Icon, Segments } from "../controls.js";
import { h, html } from "../html.js";

/** @param {{shown: number, total: number}} props */
export function Toolbar({ shown, total }) {
  const v = view.value;
  return html`
    <div class="toolbar">
      <input
        class="field"
        data-search
        value=${v.q}
        placeholder="Search by any framework's name"
        aria-label="Search metrics"
        spellcheck=${false}
        onInput=${(/** @type {any} */ e) => go({ q: e.target.value }, "replace")} />
      <span class="count n">${shown === total ? plural(total, "metric") : `${count(shown)} of ${count(total)}`}</span>
      <label class="inline wide">
        smoothing
        <input
          type="range"
          min="0"
          max="0.99"
          step="0.01"
          value=${v.smooth}
          onInput=${(/** @type {any} */ e) => go({ smooth: Number(e.target.value) }, "replace")} />
        <span class="n">${v.smooth ? v.smooth.toFixed(2) : "off"}</span>
      </label>
      ${h(Segments, {
        label: "y scale",
        value: v.y,
        options: [
          ["linear", "linear"],
          ["log", "log"],
          ["symlog", "symlog"],
          ["robust", "no outliers"],
        ],
        pick: (y) => go({ y: /** @type {any} */ (y) }, "replace"),
      })}
      <label class="inline wide">
        from step
        <input
          class="field n"
          type="number"
          min="0"
          style=${{ width: "84px" }}
          value=${v.from || ""}
          placeholder="0"
          onChange=${(/** @type {any} */ e) => go({ from: Math.max(0, Math.floor(Number(e.target.value) || 0)) })} />
      </label>
      <button
        class="button wide"
        type="button"
        aria-pressed=${String(v.norm)}
        title="Draw every metric on 0 to 1 of its range (n)"
        onClick=${() => go({ norm: !v.norm }, "replace")}>
        normalise
      </button>
      ${h(Segments, {
        label: "density",
        value: density.value,
        options: [
          ["compact", "S"],
          ["regular", "M"],
          ["large", "L"],
        ],
        pick: (d) => {
          density.value = d;
        },
      })}
      <a
        class="button wide"
        href=${ROOT.href}
        download="series.csv"
        title="Every value of the metrics shown, at most forty metrics, as CSV"
        onPointerDown=${setAddress}
        onFocus=${setAddress}>
        ${h(Icon, { name: "download" })}CSV
      </a>
    </div>
  `;
}

/** Set the link's address when it is about to be used, because it names up to forty metrics.
 * @param {Event} event */
const setAddress = (event) => {
  /** @type {HTMLAnchorElement} */ (event.currentTarget).href = csv();
};

/** The address of the CSV: every merged value of the metrics shown, at most forty of them. */
function csv() {
  const list = find(names.value ?? [], view.value.q).slice(0, 40);
  return new URL(`api/runs/${part(view.value.run)}/csv?${list.map((m) => `name=${part(m.name)}`).join("&")}`, ROOT)
    .href;
}
