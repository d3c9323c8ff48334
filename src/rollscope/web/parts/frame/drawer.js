/** The drawer with details of one thing. The address holds what is open, and the trail that led to
 * it. `Esc` goes back along the trail, then closes the drawer. */

import { useState } from "preact/hooks";
import { go, view } from "../../state.js";
import { IconButton } from "../controls.js";
import { EntryDetails } from "../details/entry-details.js";
import { FindingDetails } from "../details/finding-details.js";
import { Notes } from "../details/notes.js";
import { PointDetails } from "../details/point-details.js";
import { SampleDetails } from "../details/sample-details.js";
import { SpanDetails } from "../details/span-details.js";
import { TaskDetails } from "../details/task-details.js";
import { h, html } from "../html.js";

/** @type {Record<string, any>} */
const KINDS = {
  metric: EntryDetails,
  entry: EntryDetails,
  point: PointDetails,
  sample: SampleDetails,
  finding: FindingDetails,
  notes: Notes,
  span: SpanDetails,
  task: TaskDetails,
};

/** Kinds that show two texts side by side. */
const WIDE = new Set(["task"]);

export function Drawer() {
  const trail = view.value.open.split(" < ");
  const [kind = "", ...rest] = (trail[0] ?? "").split(":");
  const Details = KINDS[kind];
  const [titled, setTitled] = useState({ of: "", title: "" });
  const setTitle = (/** @type {string} */ title) => setTitled({ of: trail[0] ?? "", title });
  const title = titled.of === trail[0] ? titled.title : "";
  const back = () => go({ open: trail.slice(1).join(" < ") });
  return html`
    <aside class=${WIDE.has(kind) ? "drawer wide" : "drawer"} aria-label="Details">
      <header>
        ${trail.length > 1 ? h(IconButton, { icon: "back", label: "Back (Esc)", act: back }) : null}
        <h2>${title || rest.join(":")}</h2>
        ${h(IconButton, { icon: "close", label: "Close (Esc)", act: () => go({ open: "" }) })}
      </header>
      <div class="body">
        ${
          Details
            ? h(Details, { id: rest.join(":"), title: setTitle, key: trail[0] })
            : html`
                <p class="ink3">This link names nothing that the drawer can show.</p>
              `
        }
      </div>
    </aside>
  `;
}
