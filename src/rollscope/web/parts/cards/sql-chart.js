/** The answer to an SQL query as a chart: the first numeric column is x, the second y. */

import { useEffect, useRef } from "preact/hooks";
import { series as colorOf } from "../../base/chart/color.js";
import { points } from "../../base/chart/points.js";
import { chartable, pairs } from "../../base/text/sql-answer.js";
import { Chart } from "../../charts/chart.js";
import { BLANK } from "../../charts/model.js";
import { density, theme } from "../../prefs.js";
import { html } from "../html.js";

/** @param {{answer: import("../../wire/types.gen").SqlAnswer}} props */
export function SqlChart({ answer }) {
  const host = useRef(/** @type {HTMLDivElement | null} */ (null));
  const pair = /** @type {[number, number]} */ (chartable(answer));
  useEffect(() => {
    const chart = new Chart(/** @type {HTMLDivElement} */ (host.current), null);
    chart.drawn = () => chart.mark(null, false);
    const rows = pairs(answer, pair);
    const [X, Y] = [rows.map((row) => row[0]), rows.map((row) => row[1])];
    const [lo, hi] = [X[0] ?? 0, X[X.length - 1] ?? 1];
    const series = points(
      { run: "", name: "", nan: [], up: [], down: [] },
      X,
      { x: "step", width: 0 },
      { lo: Y, hi: Y, mid: Y, last: Y, count: Y.map(() => 1) },
    );
    const styles = [{ ...colorOf(0, theme.value), label: "" }];
    chart.set({ ...BLANK, series: [series], styles, lo, hi, x: "samples", points: rows.length < 25 });
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
