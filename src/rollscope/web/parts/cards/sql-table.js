/** The rows of an SQL answer. Only rows in view are elements. A cell may hold model output, so it
 * is always text. */

import { useState } from "preact/hooks";
import { h, html } from "../html.js";
import { ModelLine } from "../model-text.js";

const ROW = 24;
const MORE = 12; // rows above and below the view

/** @param {{columns: import("../../base/text/sql-answer.js").Cell[], rows: any[][]}} props */
export function SqlTable({ columns, rows }) {
  const [at, setAt] = useState({ top: 0, height: 600 });
  const first = Math.max(0, Math.floor(at.top / ROW) - MORE);
  const last = Math.min(rows.length, Math.ceil((at.top + at.height) / ROW) + MORE);
  const template = columns.map((c) => `${c.width}px`).join(" ");
  return html`
    <div
      class="grid n"
      role="table"
      aria-rowcount=${rows.length}
      tabindex="0"
      onScroll=${(/** @type {any} */ e) => setAt({ top: e.target.scrollTop, height: e.target.clientHeight })}>
      <div class="row head" role="row" style=${{ gridTemplateColumns: template }}>
        ${columns.map(
          (c) => html`
            <span role="columnheader" class=${c.numeric ? "num cut" : "cut"} title=${c.type}>${c.name}</span>
          `,
        )}
      </div>
      <div class="rows" style=${{ height: `${rows.length * ROW}px` }}>
        ${rows.slice(first, last).map(
          (row, i) => html`
            <div
              class="row"
              role="row"
              key=${first + i}
              style=${{ gridTemplateColumns: template, top: `${(first + i) * ROW}px` }}>
              ${columns.map(
                (c, k) => html`
                  <span role="cell" class=${c.numeric ? "num cut" : "cut"}>
                    ${c.numeric ? c.shown(row[k]) : h(ModelLine, { text: c.shown(row[k]).slice(0, 300) })}
                  </span>
                `,
              )}
            </div>
          `,
        )}
      </div>
    </div>
  `;
}
