/** The groups of the step: the start of the prompt, chips best to worst, the mean, and its change
 * since the prompt's last visit. */

import { useCallback } from "preact/hooks";
import { plural } from "../base/text/format.js";
import { DROPPED, changeOf, fateOf, textOf } from "../base/samples/step-samples.js";
import { h, html } from "../parts/html.js";
import { ModelLine } from "../parts/model-text.js";
import { go, view } from "../state.js";
import { ExportSamples } from "./kept/export-menu.js";
import { marked, marking } from "./kept/marks.js";
import { firstWords, previewPrompts } from "./loading.js";
import { Chips, score } from "./reward-chips.js";
import { group as current, groups, loaded, pickedSamples, visits } from "./selection.js";
import { idsAsText } from "./view-words.js";
import { WindowedList } from "./windowed-list.js";

/** @typedef {import("../base/samples/step-samples.js").Group} Group */
/** @typedef {import("../base/samples/step-samples.js").Step} Step */
export const ROW = 56;

/** Select a group, and a sample of it. @param {Group} g @param {string} [sample] */
export const openGroup = (g, sample = "") =>
  go({ group: g.name, sample: sample ? idsAsText([sample]) : "" }, view.value.group ? "replace" : "push");

export function Groups() {
  const s = loaded.value?.step;
  const list = groups.value;
  const at = current.value ? list.indexOf(current.value) : -1;
  const seen = useCallback(
    (/** @type {number} */ a, /** @type {number} */ b) => {
      const ids = list.slice(a, b).map((g) => s?.ids[g.members[0] ?? -1] ?? "");
      previewPrompts(ids.filter(Boolean));
    },
    [list, s],
  );
  if (!s) return null;
  if (!list.length) {
    const filtered = s.ids.length && !pickedSamples.value.length;
    const why = filtered ? "No sample of this list passes the filters. Remove a filter." : "This list has no groups.";
    return html`
      <p class="nothing">${why}</p>
    `;
  }
  const render = (/** @type {number} */ i) =>
    h(Row, { s, g: /** @type {Group} */ (list[i]), on: i === at, key: list[i]?.name ?? i });
  return html`
    ${h(WindowedList, { count: list.length, row: ROW, at, label: "Groups", id: "groups", seen, render })}
    ${h(Foot, { s, list })}
  `;
}

/** @param {{s: Step, g: Group, on: boolean}} props */
function Row({ s, g, on }) {
  const line = firstWords.value.get(s.ids[g.members[0] ?? -1] ?? "") || g.task || g.name;
  const change = changeOf(g, visits.value);
  const stars = marked.value.size ? g.members.filter((i) => marked.value.has(s.ids[i] ?? "")).length : 0;
  const dropped = g.members.filter((i) => fateOf(s, i) === DROPPED);
  const why = dropped.length ? textOf(s, "discard_reason", dropped[0] ?? -1) || "dropped" : "";
  return html`
    <div
      class=${on ? "group at" : "group"}
      role="option"
      aria-selected=${String(on)}
      data-group=${g.name}
      onClick=${() => openGroup(g)}>
      <div class="cut">${h(ModelLine, { text: line })}</div>
      <div class="under">
        ${h(Chips, { step: s, members: g.members, pick: (i) => openGroup(g, s.ids[i]) })}${
          why
            ? html`
                <span class="tag cut">${h(ModelLine, { text: why.replaceAll("_", " ") })}</span>
              `
            : null
        }
        ${
          stars
            ? html`
                <span class="ink3" title=${`${plural(stars, "sample")} marked`}>★</span>
              `
            : null
        }
        <span class="n score">
          ${score(g.mean)}${
            Number.isNaN(change) || Math.abs(change) < 5e-3
              ? null
              : html`
                  ${" "}
                  <span class=${change < 0 ? "fell" : "rose"}>${change > 0 ? "+" : ""}${score(change)}</span>
                `
          }
        </span>
      </div>
    </div>
  `;
}

/** @param {{s: Step, list: Group[]}} props */
function Foot({ s, list }) {
  const ids = () => list.flatMap((g) => g.members.map((i) => s.ids[i] ?? ""));
  return html`
    <div class="foot">
      <span class="n cut">${plural(list.length, "group")}, ${plural(pickedSamples.value.length, "sample")}</span>
      <span class="gap"></span>
      <button class="link" type="button" onClick=${() => (marking.value = ids())}>Mark</button>
      ${h(ExportSamples, { ids, name: `step-${s.step ?? ""}-samples` })}
    </div>
  `;
}
