/** The form "Not a problem here": hide the findings of a rule in this run, with a reason, or show
 * them again. */

import { useState } from "preact/hooks";
import { reload, view } from "../../state.js";
import { part, post } from "../../wire/api.js";
import { html } from "../html.js";
import { say } from "../frame/overlay.js";

/** @typedef {import("../../wire/types.gen").FindingShape} FindingShape */

/** @param {FindingShape} f @param {boolean} hidden @param {string} why */
const setHidden = (f, hidden, why) =>
  post(`runs/${part(view.value.run)}/findings/hidden`, { rule: f.rule, hidden, why, step: f.step }).then(() => {
    say(hidden ? "Hidden for this run" : "Shown again");
    reload();
  });

/** @param {{f: FindingShape}} props */
export function HideFinding({ f }) {
  const [open, setOpen] = useState(false);
  const [why, setWhy] = useState("");
  const [error, setError] = useState("");
  const fails = (/** @type {Error} */ e) => setError(e.message);
  const problem = error
    ? html`
        <p class="read bad" role="alert">${error}</p>
      `
    : null;
  if (f.hidden)
    return html`
      <section class="hiding">
        <p class="read">
          Hidden for this
          run${
            f.why_hidden
              ? html`
                  : ${" "}
                  <span class="model">${f.why_hidden}</span>
                `
              : ""
          }.
          The verdict, the tape and ${" "}
          <code>rollscope doctor</code>
          ${" "} leave it out.
        </p>
        <p>
          <button class="button" type="button" onClick=${() => setHidden(f, false, "").catch(fails)}>
            Show it again
          </button>
        </p>
        ${problem}
      </section>
    `;
  if (!open)
    return html`
      <p><button class="button" type="button" onClick=${() => setOpen(true)}>Not a problem here</button></p>
    `;
  return html`
    <form
      class="hiding notebox"
      onSubmit=${(/** @type {Event} */ e) => {
        e.preventDefault();
        setHidden(f, true, why).then(() => setOpen(false), fails);
      }}>
      <input
        class="field"
        value=${why}
        maxlength="2000"
        placeholder="Why not? The next reader will see this"
        aria-label="Why this is not a problem here"
        ref=${(/** @type {HTMLInputElement | null} */ el) => {
          if (el && document.activeElement === document.body) el.focus();
        }}
        onInput=${(/** @type {any} */ e) => setWhy(e.target.value)} />
      <div class="line">
        <button class="button" type="submit">Hide for this run</button>
        <button class="button" type="button" onClick=${() => setOpen(false)}>Cancel</button>
      </div>
      ${problem}
    </form>
  `;
}
