/** The card of a distribution over steps: one column of cells per bucket. It stands beside the card
 * of the mean. */

import { useEffect, useRef, useState } from "preact/hooks";
import { SERIES } from "../../base/chart/color.js";
import { unpack } from "../../base/chart/points.js";
import { title as titleOf } from "../../base/text/metric-names.js";
import { Chart } from "../../charts/chart.js";
import { BLANK } from "../../charts/model.js";
import { alive } from "../../charts/plot.js";
import { colors } from "../../charts/theme-colors.js";
import { density, printing, theme } from "../../prefs.js";
import { ROOT, part } from "../../wire/api.js";
import { step, ticks, view } from "../../state.js";
import { html } from "../html.js";

/** @param {{info: import("../../state.js").MetricInfo, xLabels: boolean}} props */
export function HeatCard({ info, xLabels }) {
  const host = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [inView, setInView] = useState(false);
  const near = inView || printing.value;
  const [heat, setHeat] = useState(/** @type {any} */ (null));
  const { range, run, from, env } = view.value;
  useEffect(() => {
    const watch = new IntersectionObserver(([e]) => setInView(Boolean(e?.isIntersecting)), {
      root: host.current?.closest(".page") ?? null,
      rootMargin: "400px",
    });
    if (host.current) watch.observe(host.current);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    if (!near) return;
    const abort = new AbortController();
    const first = Math.max(range?.[0] ?? 0, from);
    const window_ = `${range || from ? `&lo=${first}` : ""}${range ? `&hi=${Math.max(first, range[1])}` : ""}`;
    const samples = env ? `&env=${part(env)}` : "";
    fetch(new URL(`api/runs/${part(run)}/heat?name=${part(info.name)}${window_}${samples}`, ROOT), {
      signal: abort.signal,
    })
      .then(async (r) => {
        if (r.ok) setHeat(decode(await r.arrayBuffer()));
      })
      .catch(() => {});
    return () => abort.abort();
  }, [near, run, info.name, range?.join(), from, env, Math.floor(ticks.value / 8)]);
  useEffect(() => {
    if (!near || !heat || !host.current) return;
    const chart = new Chart(host.current, null);
    alive.add(chart);
    chart.drawn = () => chart.mark(view.value.step === null ? null : step.value, false);
    const ramp = { from: hex(colors().s2 ?? ""), to: SERIES[theme.value][0] };
    chart.set({ ...BLANK, lo: heat.lo, hi: heat.hi, xLabels, unit: info.unit, heat: { ...heat, ...ramp } });
    return () => {
      alive.delete(chart);
      chart.destroy();
    };
  }, [near, heat, theme.value, density.value, xLabels]);
  const named = titleOf(info.name.replace(/\/mean$/, ""));
  return html`
    <article class="card chart" data-heat=${info.name}>
      <header>
        <span class="title cut">
          <span class="ink3">${named.before ? `${named.before} ` : ""}${named.leaf}${" "}</span>
          distribution
        </span>
        <span class="value">share of samples</span>
      </header>
      <div
        class=${xLabels ? "plot labelled" : "plot"}
        ref=${host}
        role="img"
        aria-label=${`${info.name}: distribution over samples`}></div>
    </article>
  `;
}

/** @param {ArrayBuffer} buffer */
function decode(buffer) {
  const { head, columns } = unpack(buffer);
  return {
    X: columns.x,
    edges: columns.edges,
    width: head.width,
    lo: head.lo,
    hi: head.hi,
    share: (/** @type {number} */ column, /** @type {number} */ bin) => columns.share[column * head.bins + bin],
  };
}

/** The colour `rgb(…)`, as the browser computes it, as #rrggbb. @param {string} color */
const hex = (color) =>
  `#${(color.match(/\d+(\.\d+)?/g) ?? ["0", "0", "0"])
    .slice(0, 3)
    .map((v) => Math.round(Number(v)).toString(16).padStart(2, "0"))
    .join("")}`;
