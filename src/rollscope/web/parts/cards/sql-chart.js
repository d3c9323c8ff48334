/** An answer with two columns of numbers as a chart: the first is x, the second y. */

import { useEffect, useRef } from "preact/hooks";
import { pairs, chartable } from "../../base/text/sql-answer.js";
import { series as colorOf } from "../../base/chart/color.js";
import { points } from "../../base/chart/points.js";
import { Chart } from "../../charts/chart.js";
import { density, theme } from "../../prefs.js";
import { html } from "../html.js";

/** @param {{answer: import("../../wire/types.gen").SqlAnswer}} props */
export function AnswerChart({ answer }) {
  const host = useRef(/** @type {HTMLDivElement | null} */ (null));
  const pair = /** @type {[number, number]} */ (chartable(answer));
  useEffect(() => {
    const chart = new Chart(/** @type {HTMLDivElement} */ (host.current), null);
    chart.drawn = () => chart.mark(null, false);
    const found = pairs(answer, pair);
    const [X, Y] = [0, 1].map((k) => found.map((p) => /** @type {number} */ (p[k])));
    const [lo, hi] = [X?.[0] ?? 0, X?.[X.length - 1] ?? 1];
    const column = Y ?? [];
    const one = points(
      { run: "", name: "", nan: [], up: [], down: [] },
      X ?? [],
      { x: "step", width: 0 },
      { lo: column, hi: column, mid: column, last: column, count: column.map(() => 1) },
    );
    chart.set({
      series: [one],
      styles: [{ ...colorOf(0, theme.value), label: "" }],
      lo,
      hi,
      y: "linear",
      smooth: 0,
      declared: [null, null],
      healthy: [null, null],
      intervals: [],
      xLabels: true,
      x: "samples",
      started: 0,
      stale: false,
      points: found.length < 25,
      heat: null,
      unit: "",
    });
    return () => chart.destroy();
  }, [answer, theme.value, density.value]);
  return html`
    <figure class="answer-chart">
      <figcaption class="small ink3">
        ${answer.columns[pair[1]]?.name ?? ""} over ${answer.columns[pair[0]]?.name ?? ""}
      </figcaption>
      <div class="plot labelled" ref=${host} role="img" aria-label="The answer as a chart"></div>
    </figure>
  `;
}
