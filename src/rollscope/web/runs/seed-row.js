/** A configuration in the list of runs: its seeds as one row, that opens. */

import { count } from "../base/text/format.js";
import { isNumber, valueOf } from "../base/text/run-columns.js";
import { h, html } from "../parts/html.js";
import { now, picked } from "../state.js";
import { Cell, text } from "./cells.js";
import { Delta, farthest, isBaseline } from "./deltas.js";
import { pickAll } from "./picking.js";

/** @typedef {import("../state.js").RunRow} RunRow */

/** @param {{line: any, columns: string[], values: any, toggle: (group: string) => void}} props */
export function SeedRow({ line, columns, values, toggle }) {
  const mine = /** @type {RunRow[]} */ (line.runs);
  const ids = mine.map((r) => r.id);
  const all = ids.every((id) => picked.value.includes(id));
  const others = picked.value.filter((id) => !ids.includes(id));
  return html`
    <tr class="group seeds" data-seeds=${ids.length} onClick=${() => toggle(line.head)}>
      <td>
        <label class="tick" onClick=${(/** @type {MouseEvent} */ e) => e.stopPropagation()}>
          <input
            type="checkbox"
            aria-label=${`select the seeds of ${mine[0]?.name}`}
            checked=${all}
            onChange=${() => pickAll(all ? others : [...others, ...ids])} />
        </label>
      </td>
      ${columns.map(
        (column) => html`
          <td class=${`${isNumber(column) ? "num" : ""} c-${column.split(".")[0]}`}>
            ${h(SeedCell, { runs: mine, head: line.head, closed: line.closed, column, values })}
          </td>
        `,
      )}
    </tr>
  `;
}

/** @param {{runs: RunRow[], head: string, closed: boolean, column: string, values: any}} props */
function SeedCell({ runs, head, closed, column, values }) {
  const first = /** @type {RunRow} */ (runs[0]);
  if (column === "name")
    return html`
      <button type="button" aria-expanded=${String(!closed)}>
        ${closed ? "▸" : "▾"}${" "}
        <b>${common(runs.map((r) => r.name || r.id))}</b>
        ${" "}
        <span class="ink3 n">${count(runs.length)}</span>
      </button>
    `;
  if (column === "state") return states(runs);
  if (column === "delta")
    return runs.some(isBaseline)
      ? "baseline"
      : h(Delta, { delta: values.groups?.[head], far: farthest(values.delta ?? {}) });
  if (["reward", "tags", "findings", "started", "duration"].includes(column))
    return h(Cell, { r: first, column, values, color: "var(--ink3)" });
  const found = runs.map((r) => valueOf(r, column, values, now.value));
  if (isNumber(column)) return text(mean(found));
  return [...new Set(found.map(text))].slice(0, 6).join(" ");
}

/** What all names begin with: `hi` of `hi-s0` and `hi-s1`. @param {string[]} names */
function common(names) {
  const [first = "", ...rest] = names;
  let n = first.length;
  for (const name of rest) while (!name.startsWith(first.slice(0, n))) n--;
  const stem = first.slice(0, n).replace(/[-_ .]*(s|seed)?[-_ .]*$/i, "");
  return rest.length && stem ? stem : first;
}

/** @param {RunRow[]} runs */
function states(runs) {
  const bad = runs.filter((r) => !["finished", "running"].includes(r.state)).length;
  const live = runs.filter((r) => r.state === "running").length;
  if (bad) return `${count(bad)} of ${count(runs.length)} ended badly`;
  return live ? `${count(live)} live` : "finished";
}

/** @param {any[]} found */
function mean(found) {
  const numbers = found.filter((v) => typeof v === "number" && Number.isFinite(v));
  return numbers.length ? numbers.reduce((a, b) => a + b, 0) / numbers.length : undefined;
}
