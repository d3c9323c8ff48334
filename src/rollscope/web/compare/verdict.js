/** The sentence of a comparison, and how one changes what is compared. */

import { title } from "../base/text/metric-names.js";
import { count, number, plural } from "../base/text/format.js";
import { h, html } from "../parts/html.js";
import { go, view } from "../state.js";
import { Letter } from "./card.js";

/** @typedef {import("../wire/types.gen").ComparisonShape} ComparisonShape */

const AXES = /** @type {const} */ ([
  ["step", "by step"],
  ["tokens", "by tokens"],
  ["samples", "by samples"],
  ["relative", "by time"],
  ["gpu", "by GPU time"],
]);

const GROUPINGS = [
  ["", "Group: all but seed"],
  ["alone", "Each run alone"],
];
const CENTRES = [
  ["", "mean"],
  ["iqm", "IQM"],
];

/** @param {{found: ComparisonShape, colors: string[], noise: string}} props */
export function Verdict({ found, colors, noise }) {
  const letter = /^[AB] is /.exec(found.claim) ? found.claim.slice(0, 1) : "";
  const likely = found.outcomes.find((o) => o.letter === "B" && o.improvement !== null);
  return html`
    <div class="compare-head">
      <div class="verdict">
        <h1>
          ${letter ? h(Letter, { letter, color: colors["AB".indexOf(letter)] ?? "" }) : null}
          ${letter ? found.claim.slice(1) : found.claim}${found.certainty ? " " : ""}
          <span class="sure">${found.certainty ? `(${found.certainty})` : ""}${found.but}.</span>
          <br />
          ${parted(found)}
        </h1>
        <p class="prose">
          ${likely ? chance(likely) : ""} ${noise}${noise ? " " : ""}Charts stand in the order in which they part.
        </p>
      </div>
    </div>
    <div class="compare-groups n">
      ${found.groups.map(
        (g, i) => html`
          <span>
            ${h(Letter, { letter: g.letter, color: colors[i] ?? "" })}${" "}
            <span class="model">${g.name}</span>
            ${" "}
            <span class="ink3">${plural(g.runs.length, "run")}</span>
          </span>
        `,
      )}
      ${h(Choices, { found, noise })}
    </div>
  `;
}

/** @param {import("../wire/types.gen").OutcomeShape} o */
const chance = (o) => `On ${o.name} a run of B beats one of A with probability ${number(Number(o.improvement), 2)}. `;

/** Where A and B part, in the titles of metrics. @param {ComparisonShape} found */
function parted(found) {
  const apart = found.metrics.filter((m) => m.step !== null);
  const [first, second] = apart;
  if (!first) return found.parting;
  const then = second && second.name !== first.name ? `, then in ${inside(second.name)}` : "";
  return `They part at step ${count(/** @type {number} */ (first.step))}: first in ${inside(first.name)}${then}.`;
}

/** A metric's title inside a sentence: "entropy", "KL k3". @param {string} name */
function inside(name) {
  const { before, leaf } = title(name);
  const words = (before ? `${before} ${leaf}` : leaf).replace(/\b(kl|lr|gpu|cpu)\b/g, (short) => short.toUpperCase());
  return /^[A-Z][a-z]/.test(words) ? words[0]?.toLowerCase() + words.slice(1) : words;
}

/** @param {{found: ComparisonShape, noise: string}} props */
function Choices({ found, noise }) {
  const { by, x, runs, run, view: centre } = view.value;
  const swap = () => {
    const [b, ...rest] = runs;
    if (b) go({ run: b, runs: [run, ...rest] });
  };
  const copy = () => navigator.clipboard?.writeText(markdown(found, noise));
  const settings = found.settings.map((s) => [s, `By ${s}`]);
  return html`
    <div class="compare-choices">
      ${select("Which runs stand together", by, [...GROUPINGS, ...settings], (v) => go({ by: v }, "replace"))}
      ${select("x axis", x === "time" ? "relative" : x, AXES, (v) => go({ x: /** @type {any} */ (v) }, "replace"))}
      ${select("Centre of a group", centre, CENTRES, (v) => go({ view: v }, "replace"))}
      <button class="button" type="button" onClick=${swap}>Swap</button>
      <button class="button" type="button" onClick=${copy}>Copy as Markdown</button>
    </div>
  `;
}

/** @param {string} label @param {string} value @param {readonly (readonly string[])[]} options
 * @param {(value: string) => void} pick */
const select = (label, value, options, pick) => html`
  <select class="field" aria-label=${label} value=${value} onChange=${(/** @type {any} */ e) => pick(e.target.value)}>
    ${options.map(
      ([key, words]) => html`
        <option value=${key} selected=${key === value}>${words}</option>
      `,
    )}
  </select>
`;

/** The comparison as Markdown. @param {ComparisonShape} found @param {string} noise */
function markdown(found, noise) {
  const cell = (/** @type {any} */ v) => String(v ?? "–").replace(/[|`<\\]/g, "\\$&");
  const sure = found.certainty ? ` (${found.certainty})` : "";
  const letters = found.groups.map((g) => `${g.letter} ${cell(g.name)} (${g.runs.length})`);
  const rows = found.differs.map((d) => `| ${[d.kind, d.key, ...d.values].map(cell).join(" | ")} |`);
  const head = [`| kind | what differs | ${letters.join(" | ")} |`, `|${"---|".repeat(2 + letters.length)}`];
  return [`${found.claim}${sure}${found.but}. ${found.parting} ${noise}`, "", ...head, ...rows].join("\n");
}
