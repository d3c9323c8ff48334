/** The button that asks a running run to stop after a checkpoint, with a question before that. */

import { useState } from "preact/hooks";
import { reload, view } from "../../state.js";
import { part, post } from "../../wire/api.js";
import { html } from "../html.js";
import { say } from "../frame/overlay.js";

/** @typedef {import("../../wire/types.gen").FindingShape} FindingShape */
/** @typedef {import("../../wire/types.gen").FindingList} FindingList */

/** @param {{f: FindingShape, answer: FindingList}} props */
export function StopRun({ f, answer }) {
  const [asking, setAsking] = useState(false);
  const [error, setError] = useState("");
  const [done, setDone] = useState("");
  if (done || answer.stop)
    return html`
      <span class="ink3">${done || `${answer.stop?.by} asked to stop: ${answer.stop?.why}`}</span>
    `;
  if (!answer.hears) return null;
  const stop = () =>
    post(`runs/${part(view.value.run)}/stop`, { why: `${f.claim} since step ${f.step}` }).then(
      () => {
        setDone("The run stops at its next step, after a checkpoint.");
        say("Asked to stop");
        reload();
      },
      (/** @type {Error} */ e) => setError(e.message),
    );
  if (!asking)
    return html`
      <button class="button" type="button" onClick=${() => setAsking(true)}>Stop the run</button>
    `;
  return html`
    <span class="line stop-question" role="group" aria-label="Stop the run?">
      <span>Save a checkpoint and stop the training?</span>
      <button class="button danger" type="button" onClick=${stop}>Stop it</button>
      <button class="button" type="button" onClick=${() => setAsking(false)}>Cancel</button>
      ${
        error
          ? html`
              <span class="bad" role="alert">${error}</span>
            `
          : null
      }
    </span>
  `;
}
