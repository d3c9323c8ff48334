/** The list of runs as a table: thousands of rows, of which only those in view are elements. Space
 * selects, shift selects a stretch, the box in the head selects all that match. */

import { useEffect, useRef, useState } from "preact/hooks";
import { series } from "../base/chart/color.js";
import { plural } from "../base/text/format.js";
import { isNumber, titleOf } from "../base/text/run-columns.js";
import { h, html } from "../parts/html.js";
import { density, theme } from "../prefs.js";
import { go, pageOf, picked, view, visit } from "../state.js";
import { Cell, text, tip } from "./cells.js";
import { pick, pickAll } from "./picking.js";
import { SeedRow } from "./seed-row.js";

/** @typedef {import("../state.js").RunRow} RunRow */
/** A line: a run, or the head of a group.
 * @typedef {{run: RunRow} | {head: string, value: any, runs: RunRow[], closed: boolean}} Line */

/** @type {Record<string, number>} */
const ROW = { compact: 28, regular: 36, large: 44 };
const MORE = 8; // rows above and below the view

/** @param {{lines: Line[], list: RunRow[], columns: string[], values: any, at: number,
 *   toggle: (group: string) => void, empty: any}} props */
export function Table({ lines, list, columns, values, at, toggle, empty }) {
  const host = useRef(/** @type {HTMLDivElement | null} */ (null));
  const row = ROW[density.value] ?? 36;
  const { first, last } = useWindow(host, lines.length, row, at);
  return html`
    <div class="runs-page" ref=${host} data-count=${list.length}>
      <table class="table" style=${{ "--row": `${row}px` }}>
        <thead>${h(Head, { columns, list })}</thead>
        <tbody>
          ${spacer(first * row, columns)}
          ${lines
            .slice(first, last)
            .map((line, i) =>
              "run" in line
                ? h(Row, { r: line.run, columns, values, here: first + i === at, list, key: line.run.id })
                : view.value.by === "configuration"
                  ? h(SeedRow, { line, columns, values, toggle, key: `group ${line.head}` })
                  : h(GroupRow, { line, columns, toggle, key: `group ${line.head}` }),
            )}
          ${spacer((lines.length - last) * row, columns)}
        </tbody>
      </table>
      ${empty}
    </div>
  `;
}

/** Which rows are in view. The page scrolls, not the table.
 * @param {{current: HTMLDivElement | null}} host @param {number} count @param {number} row
 * @param {number} at */
function useWindow(host, count, row, at) {
  const [range, setRange] = useState({ first: 0, last: 60 });
  const look = useRef(() => {});
  look.current = () => {
    const box = host.current;
    const page = box?.closest(".page");
    if (!box || !page) return;
    const above = page.getBoundingClientRect().top - box.getBoundingClientRect().top - row;
    const first = Math.max(0, Math.floor(above / row) - MORE);
    const last = first + Math.ceil(page.clientHeight / row) + 2 * MORE;
    if (first !== range.first || last !== range.last) setRange({ first, last });
  };
  useEffect(() => {
    const page = host.current?.closest(".page");
    const act = () => look.current();
    page?.addEventListener("scroll", act, { passive: true });
    addEventListener("resize", act);
    act();
    return () => {
      page?.removeEventListener("scroll", act);
      removeEventListener("resize", act);
    };
  }, []);
  useEffect(() => look.current(), [count, row]);
  useEffect(() => host.current?.querySelector("tr.at")?.scrollIntoView({ block: "nearest" }), [at]);
  const first = Math.max(0, Math.min(range.first, count - 1));
  return { first, last: Math.min(count, Math.max(range.last, first + 1)) };
}

/** @param {number} height @param {string[]} columns */
const spacer = (height, columns) =>
  height > 0
    ? html`
        <tr class="spacer" aria-hidden="true" style=${{ height: `${height}px` }}>
          <td colspan=${columns.length + 1}></td>
        </tr>
      `
    : null;

/** @param {{columns: string[], list: RunRow[]}} props */
function Head({ columns, list }) {
  const chosen = list.filter((r) => picked.value.includes(r.id)).length;
  const all = list.length > 0 && chosen === list.length;
  return html`
    <tr>
      <th>
        <label class="tick">
          <input
            type="checkbox"
            aria-label=${all ? "select none" : `select all ${plural(list.length, "run")} that match`}
            checked=${all}
            indeterminate=${chosen > 0 && !all}
            onChange=${() => pickAll(all ? [] : list.map((r) => r.id))} />
        </label>
      </th>
      ${columns.map((column) => h(HeadCell, { column, key: column }))}
    </tr>
  `;
}

/** @param {{column: string}} props */
function HeadCell({ column }) {
  const { sort } = view.value;
  const down = sort === `-${column}`;
  const up = sort === column;
  const numbers = isNumber(column);
  // Numbers begin with the largest, words with the first; a third press sorts by time again.
  const order = numbers ? [`-${column}`, column, ""] : [column, `-${column}`, ""];
  const next = order[(order.indexOf(sort) + 1) % 3] ?? "";
  return html`
    <th
      class=${numbers ? "num" : ""}
      data-column=${column}
      title=${column}
      aria-sort=${down ? "descending" : up ? "ascending" : "none"}>
      <button type="button" class=${down || up ? "sorted" : ""} onClick=${() => go({ sort: next }, "replace")}>
        ${titleOf(column)}${down ? " ↓" : up ? " ↑" : ""}
      </button>
    </th>
  `;
}

/** @param {{r: RunRow, columns: string[], values: any, here: boolean, list: RunRow[]}} props */
function Row({ r, columns, values, here, list }) {
  const { color } = series(r.slot, theme.value);
  const chosen = picked.value.includes(r.id);
  return html`
    <tr
      class=${[chosen ? "picked" : "", here ? "at" : ""].join(" ").trim()}
      data-run=${r.id}
      onClick=${(/** @type {MouseEvent} */ e) => {
        if (e.shiftKey) pick(r.id, list, true);
        else if (!(/** @type {Element} */ (e.target).closest("a, label"))) visit(pageOf(r.id, "overview"));
      }}>
      <td>
        <label class="tick" onClick=${(/** @type {MouseEvent} */ e) => e.stopPropagation()}>
          <input
            type="checkbox"
            aria-label=${`select ${r.name}`}
            checked=${chosen}
            onClick=${(/** @type {MouseEvent} */ e) => pick(r.id, list, e.shiftKey)} />
        </label>
      </td>
      ${columns.map(
        (column) => html`
          <td class=${`${isNumber(column) ? "num" : ""} c-${column.split(".")[0]}`} title=${tip(r, column)}>
            ${h(Cell, { r, column, values, color })}
          </td>
        `,
      )}
    </tr>
  `;
}

/** @param {{line: any, columns: string[], toggle: (group: string) => void}} props */
function GroupRow({ line, columns, toggle }) {
  const ids = line.runs.map((/** @type {RunRow} */ r) => r.id);
  const all = ids.every((/** @type {string} */ id) => picked.value.includes(id));
  return html`
    <tr class="group" onClick=${() => toggle(line.head)}>
      <td>
        <label class="tick" onClick=${(/** @type {MouseEvent} */ e) => e.stopPropagation()}>
          <input
            type="checkbox"
            aria-label=${`select the ${plural(ids.length, "run")} of this group`}
            checked=${all}
            onChange=${() =>
              pickAll(
                all ? picked.value.filter((id) => !ids.includes(id)) : [...new Set([...picked.value, ...ids])],
              )} />
        </label>
      </td>
      <td colspan=${columns.length}>
        <button type="button" aria-expanded=${String(!line.closed)}>
          ${line.closed ? "▸" : "▾"} ${" "}
          <b>${titleOf(view.value.by)} ${text(line.value)}</b>
          <span class="ink3 n">${" "} ${plural(ids.length, "run")}</span>
        </button>
      </td>
    </tr>
  `;
}
