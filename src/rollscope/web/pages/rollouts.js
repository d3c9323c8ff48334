/** Rollouts of the step: groups of samples with their rewards, the chosen group side by side, and what can be said about it. There is always a selection. */

import { useEffect } from "preact/hooks";
import { count } from "../base/text/format.js";
import { coloursOf } from "../base/samples/token-colors.js";
import { bind } from "../keys.js";
import { h, html } from "../parts/html.js";
import { say } from "../parts/frame/overlay.js";
import { Facts } from "../rollouts/sample-facts.js";
import { Groups, openGroup } from "../rollouts/groups.js";
import { Head } from "../rollouts/list-head.js";
import { Hits, moveHit } from "../rollouts/search-hits.js";
import { Prompts } from "../rollouts/prompts.js";
import { Reader } from "../rollouts/reader.js";
import {
  colour,
  fitting,
  focus,
  follow,
  group,
  groupAsked,
  groups,
  held,
  idsAsText,
  inPrompts,
  opened,
  phrase,
  runAsked,
  sampleAsked,
  setColour,
  shownOf,
  stepSaid,
  trouble,
  turnDiff,
} from "../rollouts/selection.js";
import { go } from "../state.js";

export const pane = true;

export function Page() {
  useEffect(() => {
    const stop = follow();
    const unbind = bind(KEYS);
    return () => {
      stop();
      unbind();
    };
  }, []);
  const now = held.value;
  if (trouble.value && !now)
    return html`
      <p class="bare-page padded">${trouble.value}</p>
    `;
  if (!now || now.run !== runAsked.value) return null;
  if (now.step.step === null)
    return html`
      <div class="bare-page padded">
        <h1>No samples yet</h1>
        <p class="ink2">
          <code>
            run.log_samples(step=0, samples=[{"group": ..., "prompt": ..., "completion": ..., "reward": ...}])
          </code>
          ${" "} draws this page.
        </p>
      </div>
    `;
  const left = inPrompts.value
    ? h(Prompts, {})
    : phrase.value
      ? h(Hits, { text: phrase.value, key: phrase.value })
      : h(Groups, {});
  return html`
    <div class=${groupAsked.value || sampleAsked.value ? "rollouts opened" : "rollouts"} data-step=${now.step.step}>
      <section class="left" aria-label="Groups of the step">${h(Head, {})}${h(Elsewhere, { now })}${left}</section>
      ${h(Reader, {})}${h(Facts, {})}
    </div>
  `;
}

/** Says so where the samples are not of the step at the caret. @param {{now: import("../rollouts/selection.js").Held}} props */
function Elsewhere({ now: { step: s, asked } }) {
  if (s.step === null || s.step === asked) return null;
  if (stepSaid.value)
    return html`
      <p class="said">No samples at step ${count(asked)}; these are of step ${count(s.step)}.</p>
    `;
  if (s.last === null || s.last === s.step) return null;
  return html`
    <p class="said">
      <span>Step ${count(s.last)} was only evaluated; these are of step ${count(s.step)}.</span>
      <span class="gap"></span>
      <button class="link" type="button" onClick=${() => go({ step: s.last, group: "", sample: "" })}>
        Evaluation
      </button>
    </p>
  `;
}

/** @param {number} by */
function moveGroup(by) {
  if (phrase.value) return moveHit(by);
  const list = groups.value;
  const next = list[Math.max(0, Math.min(list.length - 1, (group.value ? list.indexOf(group.value) : -1) + by))];
  if (next) openGroup(next);
}

/** The group into the address and the keyboard into its text: arrows scroll it, Esc comes back. */
function readGroup() {
  if (group.value) openGroup(group.value, held.value?.step.ids[focus()] ?? "");
  requestAnimationFrame(() => /** @type {HTMLElement | null} */ (document.querySelector(".reader .scroll"))?.focus());
}

/** @param {number} by */
function moveSample(by) {
  const g = group.value,
    s = held.value?.step;
  if (!g || !s) return;
  const shown = shownOf(fitting());
  const at = g.members.indexOf(shown[0] ?? -1);
  const next = g.members[Math.max(0, Math.min(g.members.length - 1, at + by))];
  if (next !== undefined)
    go(
      {
        group: g.name,
        sample: idsAsText([next, ...shown.slice(1).filter((i) => i !== next)].map((i) => s.ids[i] ?? "")),
      },
      "replace",
    );
}

/** To the next step that has samples. @param {"before" | "after"} side */
function moveStep(side) {
  const to = held.value?.step[side];
  if (to !== null && to !== undefined) go({ step: to, group: "", sample: "" }, "replace");
}

function nextColour() {
  const s = held.value?.step;
  const sample = s ? opened.value.get(s.ids[shownOf(1)[0] ?? -1] ?? "") : null;
  const can = sample ? coloursOf(sample) : ["plain"];
  const next = /** @type {any} */ (can[(can.indexOf(colour.value) + 1) % can.length] ?? "plain");
  setColour(next);
  say(can.length < 2 ? "These samples have no values per token" : `colour: ${next}`);
}

const KEYS = [
  { keys: ["j"], says: "next group", run: () => moveGroup(1) },
  { keys: ["k"], says: "previous group", run: () => moveGroup(-1) },
  { keys: ["h"], says: "sample left", run: () => moveSample(-1) },
  { keys: ["l"], says: "sample right", run: () => moveSample(1) },
  { keys: ["Enter"], says: "open the group, and read", run: readGroup },
  { keys: ["d"], says: "difference of two samples", run: turnDiff },
  { keys: ["v"], says: "colour tokens by", run: nextColour },
  { keys: ["ArrowLeft"], says: "step before with samples", run: () => moveStep("before") },
  { keys: ["ArrowRight"], says: "next step with samples", run: () => moveStep("after") },
];
