/** The table of hosts: one row each, one column per quantity, worst first; a row opens to its
 * devices. All cells share one x, the run's time. */

import { useState } from "preact/hooks";
import { bytes, count, duration, number, percent } from "../base/text/format.js";
import { Status } from "../parts/controls.js";
import { h, html } from "../parts/html.js";

const WIDE = 106;
const ON = 208; // of a memory, with room for what is to come
const TALL = 34;

/** @param {{table: any, at: number | null, strip: any}} props `at` is the caret, as a share of the
 * time; `strip` stands between the sentence and the table. */
export function Hosts({ table, at, strip }) {
  const [open, setOpen] = useState(/** @type {string} */ (table.hosts[0]?.weight ? table.hosts[0].host : ""));
  const worst = table.hosts[0];
  const seconds = (table.end_ns - table.start_ns) / 1e9;
  const cells = (/** @type {any[]} */ own, /** @type {number} */ tall) =>
    own.map((c, i) => cell(c, table.columns[i], at, seconds, tall));
  const title =
    worst?.weight > 0
      ? `${worst.host} ${worst.says}.`
      : `${count(table.hosts.length)} ${table.hosts.length === 1 ? "host" : "hosts"}. ${memory(table.hosts)}`;
  return html`
    <section class="hosts">
      <h1>${title}</h1>
      ${strip}
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th>
                ${count(table.hosts.length)} ${table.hosts.length === 1 ? "host" : "hosts"}
                <small>worst first</small>
              </th>
              ${table.columns.map(
                (/** @type {any} */ c) => html`
                  <th>
                    ${c.title}
                    <small>${c.unit === "share" ? "0 to 100 %" : c.unit}</small>
                  </th>
                `,
              )}
            </tr>
          </thead>
          <tbody>
            ${table.hosts.map((/** @type {any} */ host) => [
              html`
                <tr class="host" onClick=${() => setOpen(open === host.host ? "" : host.host)}>
                  <th>
                    ${h(Status, { is: host.status })}
                    <button aria-expanded=${open === host.host}>${host.host || "this host"}</button>
                    <small>${host.does}</small>
                  </th>
                  ${cells(host.cells, TALL)}
                </tr>
              `,
              ...(open === host.host ? host.devices : []).map(
                (/** @type {any} */ d) => html`
                  <tr class="device">
                    <th>${d.device}</th>
                    ${cells(d.cells, 18)}
                  </tr>
                `,
              ),
            ])}
          </tbody>
        </table>
      </div>
    </section>
  `;
}

/** What can be said of the memory of hosts that are not in trouble.
 * @param {any[]} hosts */
const memory = (hosts) =>
  hosts.some((host) => host.cells.some((/** @type {any} */ c) => c?.limit))
    ? "No memory grows to its limit."
    : "No limit of memory was recorded.";

/** @param {any} c @param {{title: string, unit: string}} column @param {number | null} at
 * @param {number} seconds of all that is seen @param {number} tall */
function cell(c, column, at, seconds, tall) {
  if (!c)
    return html`
      <td class="ink3">–</td>
    `;
  const full = c.full_in_s === null ? "" : ` full in ${duration(c.full_in_s)}`;
  return html`
    <td class=${`n ${full ? "fills" : c.is_high ? "high" : ""}`}>
      <span>
        ${said(c.last, column.unit)}
        <span class="bad">${full}</span>
      </span>
      ${spark(c, column, at, tall, seconds)}
    </td>
  `;
}

/** @param {number} v @param {string} unit */
const said = (v, unit) =>
  unit === "share" ? `${percent(v)} %` : unit === "GB" ? gigabytes(v) : `${number(v)} ${unit}`;

/** @param {number} v in GiB, as it is recorded */
function gigabytes(v) {
  const { text, unit } = bytes(v * 2 ** 30);
  return `${text} ${unit}`;
}

/** The line of what was measured; memory that grows runs on, dashed, to where it meets its limit.
 * @param {any} c @param {{unit: string}} column @param {number | null} at @param {number} tall
 * @param {number} seconds */
function spark(c, column, at, tall, seconds) {
  const known = c.values.filter((/** @type {number | null} */ v) => v !== null);
  const top = column.unit === "share" ? 1 : (c.limit ?? Math.max(...known, 1e-9) * 1.05);
  const y = (/** @type {number} */ v) => tall - 1 - (Math.min(v, top) / top) * (tall - 2);
  const x = (/** @type {number} */ i) => (i / (c.values.length - 1)) * WIDE;
  /** @type {string[]} */
  const lines = [];
  let line = "";
  c.values.forEach((/** @type {number | null} */ v, /** @type {number} */ i) => {
    if (v === null) {
      if (line) lines.push(line);
      line = "";
    } else line += `${line ? "L" : "M"}${x(i).toFixed(1)} ${y(v).toFixed(1)}`;
  });
  if (line) lines.push(line);
  const whole = c.limit ? ON : WIDE;
  const meets = c.full_in_s === null ? 0 : WIDE * (1 + c.full_in_s / Math.max(seconds, 1e-9));
  const to = Math.min(meets, ON - 4);
  const reached = y(c.last) + ((y(c.limit ?? top) - y(c.last)) * (to - WIDE)) / Math.max(1e-9, meets - WIDE);
  return html`
    <svg width=${whole} height=${tall} viewBox=${`0 0 ${whole} ${tall}`} aria-hidden="true">
      <rect class="alarm" width=${WIDE} height=${tall} />
      <path class="floor" d=${`M0 ${tall - 0.5}H${whole}`} />
      ${
        c.limit
          ? html`
              <path class="limit" d=${`M0 1H${whole}`} />
            `
          : null
      }
      ${
        meets
          ? html`
              <path class="ahead" d=${`M${WIDE} ${y(c.last).toFixed(1)}L${to.toFixed(1)} ${reached.toFixed(1)}`} />
              ${
                to === meets
                  ? html`
                      <circle class="meets" cx=${to} cy="3" r="2.5" />
                    `
                  : null
              }
            `
          : null
      }
      ${lines.map(
        (d) => html`
          <path class="line" d=${d} />
        `,
      )}
      ${
        at === null
          ? null
          : html`
              <path class="caret" d=${`M${(at * WIDE).toFixed(1)} 0V${tall}`} />
            `
      }
    </svg>
  `;
}
