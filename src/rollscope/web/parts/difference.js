/** What differs from the run before: the settings of this run that are not those of the last one of
 * its project. */

import { differing, previous, setting } from "../base/text/config-tree.js";
import { count, plural } from "../base/text/format.js";
import { pageOf, runs, view } from "../state.js";
import { html } from "./html.js";

/** @param {{most: number}} props */
export function Difference({ most }) {
  const mine = runs.value?.find((r) => r.id === view.value.run);
  const before = previous(runs.value ?? [], view.value.run);
  if (!mine || !before)
    return html`
      <section class="card block">
        <h2>What differs</h2>
        <p class="read">${mine ? "It is the first run of its project, so there is nothing to hold it against." : ""}</p>
      </section>
    `;
  const list = differing(mine.config, before.config);
  const more = list.length - most;
  return html`
    <section class="card block">
      <h2>
        Differs from ${" "}
        <a href=${pageOf(before.id, "facts")}>${before.name || before.id}</a>
        <span>, the run before</span>
      </h2>
      ${
        list.length
          ? html`
              <table class="table differs-table">
                <thead>
                  <tr>
                    <th>Setting</th>
                    <th>Here</th>
                    <th>Before</th>
                  </tr>
                </thead>
                <tbody>
                  ${list.slice(0, most).map(
                    (one) => html`
                      <tr key=${one.key}>
                        <td>${one.key}</td>
                        <td><b>${setting(one.here)}</b></td>
                        <td>${setting(one.before)}</td>
                      </tr>
                    `,
                  )}
                </tbody>
              </table>
              ${
                more > 0
                  ? html`
                      <p class="read">
                        <a href=${pageOf(mine.id, "facts")}>${plural(more, "more setting")}</a>
                      </p>
                    `
                  : null
              }
            `
          : html`
              <p class="read">No setting differs: all ${count(Object.keys(mine.config).length)} are the same.</p>
            `
      }
    </section>
  `;
}
