/** The drawer: one place for detail. What is open is in the address; `Esc` goes back along the trail, then closes. */

import { useState } from "preact/hooks";
import { go, view } from "../../state.js";
import { EntryBody, FindingBody, PointBody, SampleBody } from "../details/details.js";
import { h, html } from "../html.js";
import { NotesBody } from "../details/notes.js";
import { IconButton } from "../controls.js";

/** @type {Record<string, any>} */
const BODIES = {
  metric: EntryBody,
  entry: EntryBody,
  point: PointBody,
  sample: SampleBody,
  finding: FindingBody,
  notes: NotesBody,
};

/** Open something from inside the drawer; the way back stays. @param {string} what */
export const deeper = (what) =>
  go({ open: view.value.open ? [what, ...view.value.open.split(" < ")].slice(0, 6).join(" < ") : what });

export function Drawer() {
  const trail = view.value.open.split(" < ");
  const [kind = "", ...rest] = (trail[0] ?? "").split(":");
  const Body = BODIES[kind];
  const [said, setSaid] = useState({ of: "", title: "" });
  const setTitle = (/** @type {string} */ title) => setSaid({ of: trail[0] ?? "", title });
  const title = said.of === trail[0] ? said.title : "";
  return html`
    <aside class="drawer" aria-label="Details">
      <header>
        ${trail.length > 1 ? h(IconButton, { icon: "back", label: "Back (Esc)", act: () => go({ open: trail.slice(1).join(" < ") }) }) : null}
        <h2>${title || rest.join(":")}</h2>
        ${h(IconButton, { icon: "close", label: "Close (Esc)", act: () => go({ open: "" }) })}
      </header>
      <div class="body">
        ${
          Body
            ? h(Body, { id: rest.join(":"), title: setTitle, key: trail[0] })
            : html`
                <p class="ink3">Nothing is known about this.</p>
              `
        }
      </div>
    </aside>
  `;
}
