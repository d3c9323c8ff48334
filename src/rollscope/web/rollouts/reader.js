/** The reader: one to four samples of the group side by side, each with its reward and fate above
 * its text. */

import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { diff } from "../base/samples/diff.js";
import { DROPPED, fateOf, num, rangeOf, textOf } from "../base/samples/step-samples.js";
import { sideOf } from "../base/samples/tags.js";
import { COLOURS, coloursOf, legend, valuesOf } from "../base/samples/token-colors.js";
import { count, number, plural } from "../base/text/format.js";
import { preview } from "../base/text/model-text.js";
import { IconButton, Segments } from "../parts/controls.js";
import { h, html } from "../parts/html.js";
import { ModelLine } from "../parts/model-text.js";
import { go } from "../state.js";
import { Conversation, written } from "./conversation.js";
import { MarkBar } from "./kept/mark-bar.js";
import { MarkPanel } from "./kept/mark-panel.js";
import { openSamples } from "./loading.js";
import { Chips, ramp, score, shade } from "./reward-chips.js";
import {
  fitting,
  group,
  inView,
  loaded,
  onPhone,
  opened,
  paneWidth,
  shownSamples,
  swiped,
  visits,
} from "./selection.js";
import { classOf, tokenIndex } from "./text-blocks.js";
import { colour, comparing, idsAsText, setBeside, setColour, setShown, shownAs, toggleDiff } from "./view-words.js";

/** @typedef {import("../base/samples/step-samples.js").Step} Step */
/** @typedef {import("../base/samples/diff.js").Ranges} Ranges */
const COMPARED = 200_000; // characters of each sample that are compared

export function Reader() {
  const host = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => {
      if (entry) paneWidth.value = entry.contentRect.width;
    });
    if (host.current) watch.observe(host.current);
    return () => watch.disconnect();
  }, []);
  const s = loaded.value?.step;
  const g = group.value;
  const many = fitting();
  const shown = shownSamples(many);
  const ids = s ? shown.map((i) => s.ids[i] ?? "") : [];
  useEffect(() => {
    openSamples(ids);
  }, [ids.join("\n"), opened.value]);
  const shownGroup = `${s?.step} ${g?.name}`;
  useLayoutEffect(() => {
    swiped.value = 0; // in the frame that shows the group: later, a person may have swiped already
  }, [shownGroup]);
  const samples = ids.map((id) => opened.value.get(id));
  const [a, b] = samples;
  /** @type {[Ranges, Ranges]} */
  const marks = useMemo(
    () => (comparing.value && a && b ? diff(written(a).slice(0, COMPARED), written(b).slice(0, COMPARED)) : [[], []]),
    [comparing.value, a, b],
  );
  const scale = useMemo(
    () =>
      Math.max(0, ...samples.flatMap((w) => (w ? (valuesOf(w, "advantage") ?? []).map((v) => Math.abs(v ?? 0)) : []))),
    [...samples, colour.value],
  );
  const conversation = (/** @type {any} */ sample, /** @type {Ranges} */ differences) =>
    sample ? h(Conversation, { sample, colour: colour.value, marks: differences, scale }) : null;
  if (!s || !g)
    return html`
      <section class="reader" ref=${host}></section>
    `;
  return html`
    <section class="reader" ref=${host} aria-label="Samples">
      ${h(GroupHead, { s, many, shown, samples })}${h(MarkPanel, {})}
      <div
        class="columns"
        key=${shownGroup}
        data-beside=${shown.length}
        onMouseOver=${describeToken}
        onScroll=${(/** @type {any} */ e) => {
          if (onPhone())
            swiped.value = Math.round(e.currentTarget.scrollLeft / Math.max(1, e.currentTarget.clientWidth));
        }}>
        ${shown.map(
          (i, k) => html`
            <article class="column" key=${s.ids[i]} data-sample=${s.ids[i]}>
              ${h(SampleHead, { s, i })}
              <div class="scroll" tabindex="0">${conversation(samples[k], marks[k] ?? NONE)}</div>
            </article>
          `,
        )}
      </div>
      ${
        colour.value === "plain"
          ? null
          : html`
              <div class="token-line n">
                <span data-token-line>Point at a token to see its numbers</span>
                ${h(Legend, { scale })}
              </div>
            `
      }
    </section>
  `;
}
/** @type {Ranges} */
const NONE = [];

/** What the colours of tokens mean. @param {{scale: number}} props */
function Legend({ scale }) {
  return html`
    <span class="token-legend" role="img" aria-label=${`Colours of tokens by ${NAMED[colour.value]}`}>
      ${NAMED[colour.value]}
      ${legend(colour.value, scale).map(
        ({ level, from }) => html`
          <span class=${classOf(level)}>${number(from, 2)}</span>
        `,
      )}
    </span>
  `;
}
const NAMED = /** @type {Record<string, string>} */ ({
  logprob: "logprob below",
  entropy: "entropy above",
  advantage: "advantage",
  gap: "trainer minus sampler",
});

/** The group's name, mean, chips and controls.
 * @param {{s: Step, many: number, shown: number[], samples: any[]}} props */
function GroupHead({ s, many, shown, samples }) {
  const g = group.value;
  if (!g) return null;
  const before = Object.hasOwn(visits.value, g.task) ? visits.value[g.task] : undefined;
  const has = new Set(samples.flatMap((w) => (w ? coloursOf(w) : [])));
  const missing = samples.some(Boolean) && has.size <= 1;
  const colours = COLOURS.filter(([c]) => c === "plain" || has.has(c) || c === colour.value);
  const numbers = ["1", "2", "3", "4"].slice(0, Math.max(1, Math.min(4, g.members.length)));
  const pickColour = (/** @type {string} */ c) => setColour(/** @type {any} */ (c));
  const pick = (/** @type {number} */ i, /** @type {MouseEvent} */ e) => {
    const rest = shown.filter((j) => j !== i);
    const next = e.shiftKey && shown[0] !== undefined ? [shown[0], i, ...rest.slice(1)] : [i, ...rest];
    go({ sample: idsAsText(next.slice(0, many).map((j) => s.ids[j] ?? "")) }, "replace");
  };
  return html`
    <header class="top">
      <button
        class="icon back"
        type="button"
        aria-label="Back to the groups"
        onClick=${() => go({ group: "", sample: "" })}>
        ‹
      </button>
      <div class="what">
        <b>${s.step === null ? "Group" : `Step ${count(s.step)}, group`} ${h(ModelLine, { text: g.name })}</b>
        ${" "}
        <span class="ink3 n">
          ${plural(g.members.length, "sample")}, mean${" "}
          ${score(g.mean)}${before ? `, was ${score(before[1])} at step ${count(before[0])}` : ""}
        </span>
        ${h(Chips, { step: s, members: g.members, on: inView(), pick })}
      </div>
      <div class="controls">
        ${h(Segments, { label: "Colour tokens by (v)", value: colour.value, options: colours, pick: pickColour })}${
          missing
            ? html`
                <span
                  class="ink3 small"
                  title="Record tokens with logp, entropy, token_advantages or rollout_logp; set keep_tokens">
                  no token values
                </span>
              `
            : null
        }
        <button
          class="button"
          type="button"
          aria-pressed=${String(shownAs.value === "markdown")}
          title="Show Markdown and formulas, in a frame that runs nothing"
          onClick=${() => setShown(shownAs.value === "markdown" ? "drawn" : "markdown")}>
          Markdown
        </button>
        ${
          onPhone()
            ? null
            : h(Segments, {
                label: "Samples side by side",
                value: String(shown.length),
                options: numbers.map((n) => /** @type {[string, string]} */ ([n, n])),
                pick: (n) => setBeside(Number(n)),
              })
        }
        <button
          class="button"
          type="button"
          aria-pressed=${String(comparing.value)}
          title="Underline what differs between the first two (d)"
          disabled=${g.members.length < 2}
          onClick=${toggleDiff}>
          Differences
        </button>
      </div>
    </header>
  `;
}

/** Reward, advantage, length and fate of a sample. @param {{s: Step, i: number}} props */
function SampleHead({ s, i }) {
  const reward = num(s, "reward", i),
    advantage = num(s, "advantage", i),
    tokens = num(s, "completion_tokens", i);
  const stop = textOf(s, "stop_reason", i);
  const dropped = fateOf(s, i) === DROPPED;
  const reason = preview(textOf(s, "discard_reason", i), 60).replaceAll("_", " ");
  const side = sideOf(textOf(s, "tags", i));
  const words = [Number.isNaN(tokens) ? "" : plural(tokens, "token"), STOPS[stop] ?? stop].filter(Boolean).join(", ");
  const copyLink = () => {
    const name = s.groups[s.columns.group?.[i] ?? -1] ?? "";
    go({ group: name, sample: idsAsText([s.ids[i] ?? ""]), step: s.step }, "replace");
    navigator.clipboard?.writeText(location.href);
  };
  return html`
    <header class="who n">
      <i class=${ramp(shade(reward, ...rangeOf(s, i))) + (dropped ? " dropped" : "")}></i>
      <b>${score(reward)}</b>
      ${
        Number.isNaN(advantage)
          ? null
          : html`
              <span class="whole">
                <span class="ink3">advantage</span>
                ${" "} ${advantage > 0 ? "+" : ""}${score(advantage)}
              </span>
            `
      }
      ${side ? h(Side, { side }) : null}
      <span class="ink3 cut">${h(ModelLine, { text: preview(words, 80) })}</span>
      ${
        dropped
          ? html`
              <span class="tag">${h(ModelLine, { text: `dropped${reason ? `, ${reason}` : ""}` })}</span>
            `
          : null
      }
      <span class="gap"></span>
      ${h(IconButton, { icon: "copy", label: "Copy a link to this sample", act: copyLink })}
      ${h(MarkBar, { id: s.ids[i] ?? "" })}
    </header>
  `;
}
/** Which answer of a pair it is. @param {{side: string}} props */
const Side = ({ side }) => html`
  <span class=${`tag ${side}`}>${side}</span>
`;

const STOPS = /** @type {Record<string, string>} */ ({
  length: "cut at the limit",
  stop: "end of text",
  max_turns: "out of turns",
});

/** Write the numbers of the token under the pointer into the line below. @param {MouseEvent} e */
function describeToken(e) {
  const line = document.querySelector("[data-token-line]");
  const span = [/** @type {Element} */ (e.target), /** @type {Element} */ (e.target).parentElement].find(
    (x) => x && tokenIndex.has(x),
  );
  const sample = opened.value.get(span?.closest("[data-sample]")?.getAttribute("data-sample") ?? "");
  if (!line) return;
  if (!span || !sample) {
    line.textContent = "";
    return;
  }
  const t = tokenIndex.get(span) ?? 0;
  const parts = /** @type {[string, import("../base/samples/token-colors.js").Colour][]} */ ([
    ["logprob", "logprob"],
    ["entropy", "entropy"],
    ["advantage", "advantage"],
    ["sampler gap", "gap"],
  ]).map(([name, c]) => {
    const v = valuesOf(sample, c)?.[t];
    return v === null || v === undefined ? "" : `${name} ${number(v)}`;
  });
  line.textContent = [
    `token ${count(t)}`,
    ...parts.filter(Boolean),
    sample.action_mask && sample.action_mask[t] === 0 ? "not sampled by the policy" : "",
  ]
    .filter(Boolean)
    .join(", ");
}
