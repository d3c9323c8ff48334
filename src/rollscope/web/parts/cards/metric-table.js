/** A metric as a table: every merged value, newest first. Only rows in view are elements. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { count, number } from "../../base/text/format.js";
import { go, view } from "../../state.js";
import { ROOT, part } from "../../wire/api.js";
import { IconButton } from "../controls.js";
import { h, html } from "../html.js";

const ROW = 24;
const HEIGHT = 480;

/** @param {{name: string}} props */
export function MetricTable({ name }) {
  const [text, setText] = useState("");
  const [top, setTop] = useState(0);
  const address = new URL(`api/runs/${part(view.value.run)}/csv?name=${part(name)}`, ROOT).href;
  useEffect(() => {
    const abort = new AbortController();
    fetch(address, { signal: abort.signal })
      .then(async (r) => setText(await r.text()))
      .catch(() => {});
    return () => abort.abort();
  }, [address]);
  const rows = useMemo(
    () =>
      text
        .trim()
        .split("\n")
        .slice(1)
        .reverse()
        .map((line) => line.split(",").slice(-4)),
    [text],
  );
  const first = Math.floor(top / ROW);
  return html`
    <div
      class="veil"
      onPointerDown=${(/** @type {Event} */ e) => {
        if (e.target === e.currentTarget) go({ table: "" });
      }}>
      <div class="sheet" role="dialog" aria-label=${`${name} as a table`}>
        <div class="toolbar">
          <h2 class="cut">${name}</h2>
          <span class="count n">${count(rows.length)} values</span>
          <span style=${{ flex: 1 }}></span>
          <a class="button" href=${address} download=${`${name.replaceAll("/", "-")}.csv`}>CSV</a>
          ${h(IconButton, { icon: "close", label: "Close (Esc)", act: () => go({ table: "" }) })}
        </div>
        <div
          class="ledger n"
          style=${{ height: `${HEIGHT}px` }}
          onScroll=${(/** @type {any} */ e) => setTop(e.target.scrollTop)}>
          <div class="line ink3">
            <span>step</span>
            <span>value</span>
            <span>weight</span>
            <span>time</span>
          </div>
          <div style=${{ height: `${rows.length * ROW}px`, position: "relative" }}>
            ${rows.slice(first, first + HEIGHT / ROW + 2).map(
              ([step = "", time = "", value = "", weight = ""], i) => html`
                <div class="line" style=${{ position: "absolute", top: `${(first + i) * ROW}px`, left: 0, right: 0 }}>
                  <span>${count(Number(step))}</span>
                  <span title=${value}>${shown(value)}</span>
                  <span>${weight ? number(Number(weight)) : "–"}</span>
                  <span>${new Date(Number(time) / 1e6).toLocaleTimeString("en-GB")}</span>
                </div>
              `,
            )}
          </div>
        </div>
      </div>
    </div>
  `;
}

/** Seven digits, as many as a float has, so that a column reads well. The tooltip has all digits.
 * @param {string} value */
function shown(value) {
  const v = Number(value);
  if (!Number.isFinite(v)) return value === "inf" ? "+Inf" : value === "-inf" ? "−Inf" : "NaN";
  const size = Math.abs(v);
  const text =
    Number.isInteger(v) && size < 1e15 ? count(v) : size < 1e-4 || size >= 1e7 ? v.toExponential(6) : v.toPrecision(7);
  return text.replace(/^-/, "−");
}
