/** The bin: deleted runs, which come back or go for good. */

import { clock } from "../base/text/format.js";
import { h, html } from "../parts/html.js";
import { now } from "../state.js";
import { removeForGood, restore } from "./actions.js";
import { BulkBar } from "./bulk-bar.js";

/** @param {{deleted: import("../wire/types.gen").DeletedShape[]}} props */
export function Bin({ deleted }) {
  if (!deleted.length)
    return html`
      <div class="bare-page"><p class="ink2">The bin is empty.</p></div>
      ${h(BulkBar, { asking: "", ask: () => {} })}
    `;
  return html`
    <div class="runs-head">
      <span class="ink2">Deleted runs stay here until they are removed for good.</span>
      <button class="button danger" type="button" onClick=${() => removeForGood(deleted.map((r) => r.id))}>
        Remove all for good
      </button>
    </div>
    <div class="runs-page">
      <table class="table">
        <thead>
          <tr>
            <th>Run</th>
            <th>Deleted</th>
            <th>By</th>
            <th></th>
          </tr>
        </thead>
        <tbody>
          ${deleted.map(
            (r) => html`
              <tr key=${`${r.id} ${r.time_ns}`}>
                <td class="named"><b>${r.id}</b></td>
                <td class="n">${clock(r.time_ns / 1e6, now.value)}</td>
                <td>${r.author || "–"}</td>
                <td>
                  <button class="button" type="button" onClick=${() => restore([r.id])}>Restore</button>
                  ${" "}
                  <button class="button danger" type="button" onClick=${() => removeForGood([r.id])}>
                    Remove for good
                  </button>
                </td>
              </tr>
            `,
          )}
        </tbody>
      </table>
    </div>
    ${h(BulkBar, { asking: "", ask: () => {} })}
  `;
}
