/** The answer to an SQL query as a chart: a line, bars or dots of two of its columns, split into
 * series by a third. */

import { useEffect, useRef } from "preact/hooks";
import { series as colorOf } from "../../base/chart/color.js";
import { points } from "../../base/chart/points.js";
import { KINDS, MOST_SERIES, choiceOf, drawn, isNumeric, writtenChoice } from "../../base/text/sql-answer.js";
import { count } from "../../base/text/format.js";
import { Chart } from "../../charts/chart.js";
import { BLANK } from "../../charts/model.js";
import { density, theme } from "../../prefs.js";
import { Segments } from "../controls.js";
import { h, html } from "../html.js";
import { SqlBars } from "./sql-bars.js";

/** @typedef {import("../../base/text/sql-answer.js").Answer} Answer */
/** @typedef {import("../../base/text/sql-answer.js").Choice} Choice */
/** @typedef {import("../../base/text/sql-answer.js").Drawn} Drawn */

/** `chosen` is what the address says; without `pick` nothing can be chosen.
 * @param {{answer: Answer, chosen?: string, pick?: (chosen: string) => void}} props */
export function SqlChart({ answer, chosen = "", pick }) {
  const choice = choiceOf(answer, chosen);
  if (!choice) return null;
  const all = drawn(answer, choice);
  const series = all.slice(0, MOST_SERIES);
  const name = (/** @type {number} */ i) => answer.columns[i]?.name ?? "";
  return html`
    <figure class="answer-chart">
      <figcaption class="line small ink3">
        ${pick ? h(Chooser, { answer, choice, pick }) : `${name(choice.y)} over ${name(choice.x)}`}
        ${all.length > series.length ? `${count(series.length)} of ${count(all.length)} series` : ""}
      </figcaption>
      ${choice.kind === "bar" ? h(SqlBars, { series }) : h(Lines, { series, dots: choice.kind === "scatter" })}
      ${series.length > 1 ? h(Names, { series }) : null}
    </figure>
  `;
}

/** @param {{answer: Answer, choice: Choice, pick: (chosen: string) => void}} props */
function Chooser({ answer, choice, pick }) {
  const set = (/** @type {Partial<Choice>} */ change) => pick(writtenChoice({ ...choice, ...change }));
  const column = (/** @type {"x" | "y" | "by"} */ key, /** @type {string} */ label) => {
    const fits = (/** @type {number} */ i) =>
      key === "by" || (key === "x" && choice.kind === "bar") || isNumeric(answer, i);
    return html`
      <label class="inline">
        ${label}
        <select
          class="field"
          aria-label=${label}
          value=${choice[key]}
          onChange=${(/** @type {any} */ e) => set({ [key]: Number(e.target.value) })}>
          ${
            key === "by"
              ? html`
                  <option value="-1">none</option>
                `
              : null
          }
          ${answer.columns.map((c, i) =>
            fits(i)
              ? html`
                  <option value=${i}>${c.name}</option>
                `
              : null,
          )}
        </select>
      </label>
    `;
  };
  const kinds = KINDS.filter((kind) => kind === "bar" || isNumeric(answer, choice.x));
  const options = kinds.map((kind) => /** @type {[string, string]} */ ([kind, kind]));
  const pickKind = (/** @type {string} */ kind) => set({ kind: /** @type {Choice["kind"]} */ (kind) });
  return html`
    ${h(Segments, { label: "Chart", value: String(choice.kind), options, pick: pickKind })} ${column("y", "y")}
    ${column("x", "x")} ${column("by", "by")}
  `;
}

/** @param {{series: Drawn[], dots: boolean}} props */
function Lines({ series, dots }) {
  const host = useRef(/** @type {HTMLDivElement | null} */ (null));
  useEffect(() => {
    const chart = new Chart(/** @type {HTMLDivElement} */ (host.current), null);
    chart.drawn = () => chart.mark(null, false);
    const X = series.flatMap((one) => one.points.map(([x]) => Number(x)));
    const [lo, hi] = X.length ? [Math.min(...X), Math.max(...X)] : [0, 1];
    const styles = series.map((_, i) => ({ ...colorOf(i, theme.value), label: "" }));
    const few = X.length < 25 * series.length;
    chart.set({ ...BLANK, series: series.map((one) => columns(one, dots)), styles, lo, hi, x: "samples", points: few });
    return () => chart.destroy();
  }, [series.map((one) => `${one.name} ${one.points.join()}`).join(), dots, theme.value, density.value]);
  return html`
    <div class="plot labelled" ref=${host} role="img" aria-label="The answer as a chart"></div>
  `;
}

/** Points as a chart takes them; for dots each stands alone.
 * @param {Drawn} one @param {boolean} dots */
function columns(one, dots) {
  const [X, Y] = [one.points.map(([x]) => x), one.points.map(([, y]) => y)];
  const head = { run: "", name: one.name, nan: [], up: [], down: [] };
  const made = points(head, X, { width: 0 }, { lo: Y, hi: Y, mid: Y, last: Y, count: Y.map(() => 1) });
  if (dots) made.Break.fill(1);
  return made;
}

/** @param {{series: Drawn[]}} props */
const Names = ({ series }) => html`
  <ul class="answer-names small">
    ${series.map(
      (one, i) => html`
        <li>
          <i class="swatch" style=${{ "--c": colorOf(i, theme.value).color }}></i>
          <span class="cut">${one.name}</span>
        </li>
      `,
    )}
  </ul>
`;
