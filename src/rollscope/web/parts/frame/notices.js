/** Lines under the top bar: the server is gone, the web is old, a file could not be read, a run crashed. One line each. */

import { count, plural, rough } from "../../base/text/format.js";
import { detail, now, run, view } from "../../state.js";
import { server, updated } from "../../wire/api.js";
import { html } from "../html.js";
import { useState } from "preact/hooks";

export function Notices() {
  const lines = [];
  if (server.value.gone)
    lines.push(html`
      <div class="notice bad" role="alert">
        The server does not answer since ${rough((now.value - server.value.since) / 1000)}. Trying again every
        ${server.value.wait} s; what is drawn stays.
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
  const found = detail.value?.damage ?? [];
  if (!found.length) return null;
  const first = /** @type {any} */ (found[0]);
  return html`
    <div class="notice watch">
      <span>
        ${found.length === 1 ? `A part of ${first.file} could not be read (byte ${count(first.byte)})` : `${plural(found.length, "part")} of this run's files could not be read (first: ${first.file}, byte ${count(first.byte)})`}.
        Everything else is
        here.${
          open
            ? found.map(
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
    r.state === "killed" ? "The process went silent and is gone." : "",
    checkpoint ? `Last good checkpoint: ${checkpoint}.` : "",
    last && !open ? `Last output: ${last.trim().slice(0, 160)}` : "",
  ]
    .filter(Boolean)
    .join(" ");
  if (!what && !open) return null; // the bar has said it all
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
