/** Findings of the run by severity, then the hidden ones, then the rules without a finding. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { count, plural } from "../base/text/format.js";
import { bind } from "../keys.js";
import { go, tape, view } from "../state.js";
import { part } from "../wire/api.js";
import { Status } from "../parts/controls.js";
import { FindingRow } from "../parts/finding-row.js";
import { h, html } from "../parts/html.js";
import { useAnswer } from "../parts/use-answer.js";

/** @typedef {import("../wire/types.gen").FindingShape} FindingShape */

const OPEN = "The most severe come first. Open a row for its evidence, the rule, and what to check.";

/** @param {number} rules @param {number} hidden */
function noFinding(rules, hidden) {
  if (!hidden) return `${plural(rules, "rule")} read this run; none applies.`;
  return `${plural(rules, "rule")} read this run. ${plural(hidden, "finding")} ${hidden === 1 ? "is" : "are"} hidden.`;
}

export function Page() {
  const [answer, error] = useAnswer(`runs/${part(view.value.run)}/findings`);
  const [at, setAt] = useState(-1);
  const list = useRef(/** @type {FindingShape[]} */ ([]));
  const row = useRef(-1); // keys come faster than renders
  const move = (/** @type {number} */ by) => {
    row.current = Math.max(0, Math.min(list.current.length - 1, row.current + by));
    setAt(row.current);
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
            const f = list.current[Math.max(0, row.current)];
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
  // The tape does not wait for the first diagnosis, the answer does.
  /** @type {FindingShape[]} */
  const all = tape.value.diagnosed ? tape.value.findings : answer.findings;
  const shown = all.filter((f) => !f.hidden);
  const hidden = all.filter((f) => f.hidden);
  const silent = answer.rules.filter((/** @type {any} */ r) => !all.some((f) => f.rule === r.name));
  list.current = shown;
  return html`
    <div class="verdict">
      <h1>${shown.length ? plural(shown.length, "finding") : "Nothing stands out"}</h1>
      <p class="prose">${shown.length ? OPEN : noFinding(answer.rules.length, hidden.length)}</p>
    </div>
    ${
      shown.length
        ? html`
            <div class="card findings-rows">
              ${shown.map((f, i) => h(FindingRow, { f, at: i === at, key: `${f.rule}${f.step}` }))}
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
                Rules without a finding
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
