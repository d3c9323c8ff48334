/** Findings: by severity and time; each opens to claim, evidence, the rule in words and first checks. Below, what was hidden, and what stayed silent. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { count, plural } from "../base/text/format.js";
import { bind } from "../keys.js";
import { go, tape, view } from "../state.js";
import { part } from "../wire/api.js";
import { useAnswer } from "../parts/details/details.js";
import { FindingRow } from "../parts/finding-row.js";
import { h, html } from "../parts/html.js";
import { Status } from "../parts/controls.js";

/** @typedef {import("../wire/types.gen").FindingShape} FindingShape */

export function Page() {
  const [answer, error] = useAnswer(`runs/${part(view.value.run)}/findings`);
  const [at, setAt] = useState(-1);
  const list = useRef(/** @type {FindingShape[]} */ ([]));
  const place = useRef(-1); // keys come faster than renders
  const move = (/** @type {number} */ by) => {
    place.current = Math.max(0, Math.min(list.current.length - 1, place.current + by));
    setAt(place.current);
  };
  useLayoutEffect(
    () =>
      bind([
        { keys: ["j"], says: "next finding", run: () => move(1) },
        { keys: ["k"], says: "previous finding", run: () => move(-1) },
        {
          keys: ["Enter"],
          says: "open the finding",
          run: () => {
            const f = list.current[Math.max(0, place.current)];
            if (f) go({ open: `finding:${f.rule}@${f.step}` });
          },
        },
      ]),
    [],
  );
  if (error)
    return html`
      <p class="bare-page">${error}</p>
    `;
  if (!tape.value || !answer) return null;
  /** @type {FindingShape[]} */
  const all = tape.value.diagnosed ? tape.value.findings : answer.findings; // the tape does not wait for the first diagnosis
  const found = all.filter((f) => !f.hidden);
  const hidden = all.filter((f) => f.hidden);
  const silent = answer.rules.filter((/** @type {any} */ r) => !all.some((f) => f.rule === r.name));
  list.current = found;
  return html`
    <div class="verdict">
      <h1>${found.length ? plural(found.length, "finding") : "Nothing stands out"}</h1>
      <p class="prose">
        ${found.length ? "The gravest first. A row opens to its evidence, the rule in words, and what to check." : `${plural(answer.rules.length, "rule")} read this run${hidden.length ? `; ${count(hidden.length)} spoke and was said to be no problem here.` : " and had nothing to say."}`}
      </p>
    </div>
    ${
      found.length
        ? html`
            <div class="card findings-rows">
              ${found.map((f, i) => h(FindingRow, { f, at: i === at, key: `${f.rule}${f.step}` }))}
            </div>
          `
        : null
    }
    ${
      hidden.length
        ? html`
            <section class="section">
              <h2>Hidden here</h2>
              <div class="card rules">
                ${hidden.map(
                  (f) => html`
                    <button class="rulerow" type="button" onClick=${() => go({ open: `finding:${f.rule}@${f.step}` })}>
                      ${h(Status, { is: "none" })}
                      <span>
                        <b>${f.claim}</b>
                        ${" "}
                        <span class="ink3">from step ${count(f.step)}</span>
                        <span class="read model">${f.why_hidden || "No reason was given."}</span>
                      </span>
                    </button>
                  `,
                )}
              </div>
            </section>
          `
        : null
    }
    ${
      silent.length
        ? html`
            <section class="section">
              <h2>
                Looked for and not found
                <span class="n">${plural(silent.length, "rule")}</span>
              </h2>
              <div class="card rules">
                ${silent.map(
                  (/** @type {any} */ r) => html`
                    <div class="rulerow">
                      ${h(Status, { is: "good" })}
                      <span>
                        <b>${r.title || r.name}</b>
                        <span class="read">${r.teaches}</span>
                      </span>
                    </div>
                  `,
                )}
              </div>
            </section>
          `
        : null
    }
  `;
}
