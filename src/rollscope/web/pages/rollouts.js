/** Rollouts: the groups of the step on the left, samples of the selected group in the middle, facts
 * on the right. Something is always selected. */

import { useEffect, useLayoutEffect } from "preact/hooks";
import { coloursOf } from "../base/samples/token-colors.js";
import { count } from "../base/text/format.js";
import { placeOf } from "../base/text/url.js";
import { bind } from "../keys.js";
import { say } from "../parts/frame/overlay.js";
import { h, html } from "../parts/html.js";
import { Groups, openGroup } from "../rollouts/groups.js";
import { ListHead } from "../rollouts/list-head.js";
import { done, marked, marking, readMarks, setStar } from "../rollouts/kept/marks.js";
import { MarkedList } from "../rollouts/kept/marked-list.js";
import { follow, trouble } from "../rollouts/loading.js";
import { Prompts } from "../rollouts/prompts.js";
import { Reader } from "../rollouts/reader.js";
import { SampleFacts } from "../rollouts/sample-facts.js";
import { SearchHits, moveHit } from "../rollouts/search/hits.js";
import {
  fitting,
  focus,
  group,
  groupInView,
  groups,
  loaded,
  opened,
  phrase,
  runInView,
  sampleInView,
  shownSamples,
  stepInView,
} from "../rollouts/selection.js";
import { colour, idsAsText, setColour, tab, toggleDiff } from "../rollouts/view-words.js";
import { go } from "../state.js";

export const pane = true;

export function Page() {
  useLayoutEffect(() => bind(KEYS), []);
  useEffect(() => {
    readMarks();
    return follow();
  }, []);
  const now = loaded.value;
  if (trouble.value && !now)
    return html`
      <p class="bare-page padded">${trouble.value}</p>
    `;
  if (!now || now.run !== runInView.value) return null;
  if (now.step.step === null && !now.step.ids.length)
    return html`
      <div class="bare-page padded">
        <h1>No samples yet</h1>
        <p class="ink2">
          Record them with ${" "}
          <code>
            run.log_samples(step=0, samples=[{"group": ..., "prompt": ..., "completion": ..., "reward": ...}])
          </code>
          .
        </p>
      </div>
    `;
  const left =
    tab.value === "prompts"
      ? h(Prompts, {})
      : tab.value === "marked"
        ? h(MarkedList, {})
        : phrase.value
          ? h(SearchHits, { text: phrase.value, key: phrase.value })
          : h(Groups, {});
  return html`
    <div class=${groupInView.value || sampleInView.value ? "rollouts opened" : "rollouts"} data-step=${now.step.step}>
      <section class="left" aria-label="Groups of the step">
        ${h(ListHead, {})}${h(OtherStep, { now })}${h(Stepless, { s: now.step })}${h(Done, {})}${left}
      </section>
      ${h(Reader, {})}${h(SampleFacts, {})}
    </div>
  `;
}

/** What was just said about samples, with the way back. */
function Done() {
  if (!done.value) return null;
  const { says, back } = done.value;
  return html`
    <p class="said" role="status" data-done>
      <span>${says}</span>
      <span class="gap"></span>
      ${
        back
          ? html`
              <button class="link" type="button" onClick=${back}>Undo</button>
            `
          : null
      }
      <button class="link" type="button" onClick=${() => (done.value = null)}>Close</button>
    </p>
  `;
}

/** A line that says that the samples are of another step than the caret.
 * @param {{now: import("../rollouts/selection.js").Loaded}} props */
function OtherStep({ now: { step: s, at } }) {
  if (s.step === null || s.step === at) return null;
  if (stepInView.value)
    return html`
      <p class="said">Step ${count(at)} has no samples. These are from step ${count(s.step)}.</p>
    `;
  if (s.last === null || s.last === s.step) return null;
  return html`
    <p class="said">
      <span>Step ${count(s.last)} has only an evaluation. These are from step ${count(s.step)}.</span>
      <span class="gap"></span>
      <button class="link" type="button" onClick=${() => go({ step: s.last, group: "", sample: "" })}>
        Show the evaluation
      </button>
    </p>
  `;
}

/** A line about the samples that name no step: how many there are, and the way to them or back.
 * @param {{s: import("../rollouts/selection.js").Loaded["step"]}} props */
function Stepless({ s }) {
  if (!s.stepless) return null;
  if (s.last === null)
    return html`
      <p class="said">No sample of this run names a step.</p>
    `;
  const [one, here] = [s.stepless === 1, s.step === null];
  const newest = here && s.ids.length < s.stepless ? `, of which these are the newest ${count(s.ids.length)}` : "";
  const to = { ...(here ? { step: null, show: "" } : placeOf(null)), group: "", sample: "" };
  return html`
    <p class="said" data-stepless=${s.stepless}>
      <span>${count(s.stepless)} ${one ? "sample names" : "samples name"} no step${newest}.</span>
      <span class="gap"></span>
      <button class="link" type="button" onClick=${() => go(to)}>
        ${here ? "Show the steps" : one ? "Show it" : "Show them"}
      </button>
    </p>
  `;
}

/** Select the next group or hit (1), or the one before (-1). @param {number} by */
function moveGroup(by) {
  if (phrase.value) return moveHit(by);
  const list = groups.value;
  const next = list[Math.max(0, Math.min(list.length - 1, (group.value ? list.indexOf(group.value) : -1) + by))];
  if (next) openGroup(next);
}

/** Put the group into the address and the focus into its text: arrows scroll, Esc goes back. */
function readGroup() {
  if (group.value) openGroup(group.value, loaded.value?.step.ids[focus()] ?? "");
  requestAnimationFrame(() => /** @type {HTMLElement | null} */ (document.querySelector(".reader .scroll"))?.focus());
}

/** Select the sample to the right (1) or left (-1). @param {number} by */
function moveSample(by) {
  const [g, s] = [group.value, loaded.value?.step];
  if (!g || !s) return;
  const shown = shownSamples(fitting());
  const at = g.members.indexOf(shown[0] ?? -1);
  const next = g.members[Math.max(0, Math.min(g.members.length - 1, at + by))];
  if (next === undefined) return;
  const samples = [next, ...shown.slice(1).filter((i) => i !== next)];
  go({ group: g.name, sample: idsAsText(samples.map((i) => s.ids[i] ?? "")) }, "replace");
}

/** Go to the nearest step with samples, before or after this one.
 * @param {"before" | "after"} side */
function moveStep(side) {
  const to = loaded.value?.step[side];
  if (to !== null && to !== undefined) go({ ...placeOf(to), group: "", sample: "" }, "replace");
}

/** The sample whose facts are shown. */
const focused = () => loaded.value?.step.ids[focus()] ?? "";

/** Star the sample, or take its star away. */
function star() {
  if (focused()) setStar([focused()], !marked.value.get(focused())?.star);
}

/** Colour tokens by the next quantity that the sample has. */
function nextColour() {
  const s = loaded.value?.step;
  const sample = s ? opened.value.get(s.ids[shownSamples(1)[0] ?? -1] ?? "") : null;
  const can = sample ? coloursOf(sample) : ["plain"];
  const next = /** @type {any} */ (can[(can.indexOf(colour.value) + 1) % can.length] ?? "plain");
  setColour(next);
  if (can.length < 2) say("These samples have no values per token");
  else say(next === "plain" ? "No token colours" : `Tokens coloured by ${next}`);
}

const KEYS = [
  { keys: ["j"], says: "next group", run: () => moveGroup(1) },
  { keys: ["k"], says: "previous group", run: () => moveGroup(-1) },
  { keys: ["h"], says: "sample to the left", run: () => moveSample(-1) },
  { keys: ["l"], says: "sample to the right", run: () => moveSample(1) },
  { keys: ["Enter"], says: "read the group", run: readGroup },
  { keys: ["d"], says: "show differences", run: toggleDiff },
  { keys: ["v"], says: "change the token colours", run: nextColour },
  { keys: ["b"], says: "star the sample", run: star },
  { keys: ["a"], says: "label, comment or collect the sample", run: () => focused() && (marking.value = [focused()]) },
  { keys: ["ArrowLeft"], says: "previous step with samples", run: () => moveStep("before") },
  { keys: ["ArrowRight"], says: "next step with samples", run: () => moveStep("after") },
];
