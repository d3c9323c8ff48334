/** Findings: by severity and time; each opens to claim, evidence, the rule in words and first checks. */

import { useState } from "preact/hooks";
import { count, plural } from "../base/format.js";
import { tape, view } from "../state.js";
import { part } from "../wire/api.js";
import { useAnswer } from "../parts/details.js";
import { FindingRow } from "../parts/findingrow.js";
import { h, html } from "../parts/html.js";
import { Status } from "../parts/status.js";

export function Page() {
  const [answer] = useAnswer(`runs/${part(view.value.run)}/findings`);
  const [open, setOpen] = useState(false);
  if (!tape.value || !answer) return null;
  const found = tape.value.findings.filter((f) => !f.hidden);
  const silent = answer.rules.filter((/** @type {any} */ r) => !found.some((f) => f.rule === r.name));
  return html`<div class="verdict"><h1>${found.length ? plural(found.length, "finding") : "Nothing stands out"}</h1><p class="prose">${found.length ? "The gravest first. A row opens to its evidence, the rule in words, and what to check." : `${plural(answer.rules.length, "rule")} read this run and had nothing to say.`}</p></div>
    ${found.length ? html`<div class="card findings-rows">${found.map((f) => h(FindingRow, { f, key: `${f.rule}${f.step}` }))}</div>` : null}
    <p><button class="button" type="button" aria-expanded=${String(open)} onClick=${() => setOpen(!open)}>${open ? "Hide" : "Show"} the ${count(silent.length)} rules that stayed silent</button></p>
    ${open ? html`<div class="cards" style=${{ marginTop: "12px" }}>${silent.map((/** @type {any} */ r) => html`<section class="card block"><h2>${h(Status, { is: "good" })} ${r.title || r.name}</h2><p class="read">${r.teaches}</p></section>`)}</div>` : null}`;
}
