/** Notices under the top bar, one line each: the server is gone, the web is out of date, a file is
 * damaged, the run crashed. */

import { useState } from "preact/hooks";
import { count, plural, rough } from "../../base/text/format.js";
import { detail, now, run, view } from "../../state.js";
import { server, updated } from "../../wire/api.js";
import { html } from "../html.js";

export function Notices() {
  const lines = [];
  if (server.value.gone)
    lines.push(html`
      <div class="notice bad" role="alert">
        The server has not answered for ${rough((now.value - server.value.since) / 1000)}. Next try in
        ${" "}${server.value.wait} s. The charts stay as they are.
      </div>
    `);
  if (updated.value)
    lines.push(html`
      <div class="notice info">
        <span>
          Rollscope was updated. ${" "}
          <button type="button" onClick=${() => location.reload()}>Reload.</button>
        </span>
      </div>
    `);
  if (view.value.run && detail.value) lines.push(damage(), crash());
  return html`
    <div class="notices">${lines}</div>
  `;
}

function damage() {
  const [open, setOpen] = useState(false);
  const parts = detail.value?.damage ?? [];
  if (!parts.length) return null;
  const { file, byte } = /** @type {any} */ (parts[0]);
  const what =
    parts.length === 1
      ? `A part of ${file} could not be read (byte ${count(byte)})`
      : `${plural(parts.length, "part")} of this run's files could not be read (first: ${file}, byte ${count(byte)})`;
  return html`
    <div class="notice watch">
      <span>
        ${what}. Everything else is
        shown.${
          open
            ? parts.map(
                (d) => html`
                  <br />
                  ${d.file}, byte ${count(d.byte)}: ${d.says}
                `,
              )
            : null
        }
      </span>
      <button type="button" onClick=${() => setOpen(!open)}>${open ? "Less" : "Details"}</button>
    </div>
  `;
}

function crash() {
  const [open, setOpen] = useState(false);
  const r = run.value;
  if (!r || (r.state !== "crashed" && r.state !== "killed")) return null;
  const { output, checkpoint } = /** @type {any} */ (detail.value);
  const last = output.findLast((/** @type {string} */ line) => line.trim()) ?? "";
  const what = [
    r.state === "killed" ? "The process stopped without a word." : "",
    checkpoint ? `Last good checkpoint: ${checkpoint}.` : "",
    last && !open ? `Last output: ${last.trim().slice(0, 160)}` : "",
  ]
    .filter(Boolean)
    .join(" ");
  if (!what && !open) return null; // the bar says it already
  return html`
    <div class="notice bad crash">
      <span class="model">
        ${what}${
          open
            ? html`
                <pre class="mono">${output.join("\n")}</pre>
              `
            : null
        }
      </span>
      ${
        output.length > 1
          ? html`
              <button type="button" onClick=${() => setOpen(!open)}>
                ${open ? "Less" : `Last ${count(output.length)} lines`}
              </button>
            `
          : null
      }
    </div>
  `;
}
