/** The choice of an environment, in runs that have several. It is in the address. */

import { detail, go, view } from "../state.js";
import { html } from "./html.js";

const MEANS = "Samples, their statistics and evaluations are those of this environment. What a step has once stays.";

/** The environments that the run declared. */
const declared = () => Object.keys(detail.value?.declared?.environments ?? {});

export function Environments() {
  const { env } = view.value;
  const known = declared();
  const list = !env || known.includes(env) ? known : [...known, env];
  if (list.length < 2 && !env) return null;
  return html`
    <label class="inline" title=${MEANS}>
      environment
      <select
        class="field"
        aria-label="Environment"
        onChange=${(/** @type {any} */ e) => go({ env: e.target.value, group: "", sample: "" })}>
        <option value="" selected=${!env}>all</option>
        ${list.map(
          (name) => html`
            <option value=${name} selected=${name === env}>${name}</option>
          `,
        )}
      </select>
    </label>
  `;
}
