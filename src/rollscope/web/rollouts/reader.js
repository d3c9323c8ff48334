/** The group side by side: one to four of its samples, each with its reward and fate above what it says. */

import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { count, number, plural } from "../base/text/format.js";
import { diff } from "../base/samples/diff.js";
import { DROPPED, fateOf, num, rangeOf, said } from "../base/samples/step-samples.js";
import { COLOURS, coloursOf, valuesOf } from "../base/samples/token-colors.js";
import { preview } from "../base/text/model-text.js";
import { h, html } from "../parts/html.js";
import { IconButton, Segments } from "../parts/controls.js";
import { ModelLine } from "../parts/model-text.js";
import { go } from "../state.js";
import { Chips, ramp, score, shade } from "./reward-chips.js";
import { Conversation, written } from "./conversation.js";
import { placeOf } from "./text-blocks.js";
import {
  colour,
  comparing,
  fitting,
  group,
  held,
  idsAsText,
  inView,
  onPhone,
  opened,
  openSamples,
  paneWidth,
  setBeside,
  setColour,
  shownOf,
  swiped,
  turnDiff,
  visits,
} from "./selection.js";

/** @typedef {import("../base/samples/step-samples.js").Step} Step */
/** @typedef {import("../base/samples/diff.js").Ranges} Ranges */
const COMPARED = 200_000; // characters of each that are compared

export function Reader() {
  const host = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => {
      if (entry) paneWidth.value = entry.contentRect.width;
    });
    if (host.current) watch.observe(host.current);
    return () => watch.disconnect();
  }, []);
  const s = held.value?.step;
  const g = group.value;
  const many = fitting();
  const shown = shownOf(many);
  const ids = s ? shown.map((i) => s.ids[i] ?? "") : [];
  useEffect(() => {
    openSamples(ids);
  }, [ids.join("\n"), opened.value]);
  const place = `${s?.step} ${g?.name}`;
  useLayoutEffect(() => {
    swiped.value = 0; // with the frame that shows the group: later it would take back what a person has swiped meanwhile
  }, [place]);
  const whole = ids.map((id) => opened.value.get(id));
  const [a, b] = whole;
  /** @type {[Ranges, Ranges]} */
  const marks = useMemo(
    () => (comparing.value && a && b ? diff(written(a).slice(0, COMPARED), written(b).slice(0, COMPARED)) : [[], []]),
    [comparing.value, a, b],
  );
  const scale = useMemo(
    () =>
      Math.max(0, ...whole.flatMap((w) => (w ? (valuesOf(w, "advantage") ?? []).map((v) => Math.abs(v ?? 0)) : []))),
    [...whole, colour.value],
  );
  if (!s || !g)
    return html`
      <section class="reader" ref=${host}></section>
    `;
  return html`
    <section class="reader" ref=${host} aria-label="Samples">
      ${h(Top, { s, many, shown, whole })}
      <div
        class="columns"
        key=${place}
        data-beside=${shown.length}
        onMouseOver=${tell}
        onScroll=${(/** @type {any} */ e) => {
          if (onPhone())
            swiped.value = Math.round(e.currentTarget.scrollLeft / Math.max(1, e.currentTarget.clientWidth));
        }}>
        ${shown.map(
          (i, k) => html`
            <article class="column" key=${s.ids[i]} data-sample=${s.ids[i]}>
              ${h(SampleHead, { s, i })}
              <div class="scroll" tabindex="0">
                ${whole[k] ? h(Conversation, { sample: whole[k], colour: colour.value, marks: (k < 2 ? marks[k] : undefined) ?? NONE, scale }) : null}
              </div>
            </article>
          `,
        )}
      </div>
      ${
        colour.value === "plain"
          ? null
          : html`
              <div class="token-line n" data-token-line>Point at a token for its numbers</div>
            `
      }
    </section>
  `;
}
/** @type {Ranges} */
const NONE = [];

/** @param {{s: Step, many: number, shown: number[], whole: any[]}} props */
function Top({ s, many, shown, whole }) {
  const g = group.value;
  if (!g) return null;
  const before = Object.hasOwn(visits.value, g.task) ? visits.value[g.task] : undefined;
  const has = new Set(whole.flatMap((w) => (w ? coloursOf(w) : [])));
  const missing = whole.some(Boolean) && has.size <= 1;
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
        <b>Step ${s.step === null ? "" : count(s.step)}, group ${h(ModelLine, { text: g.name })}</b>
        ${" "}
        <span class="ink3 n">
          ${plural(g.members.length, "sample")}, mean
          ${score(g.mean)}${before ? `, was ${score(before[1])} at step ${count(before[0])}` : ""}
        </span>
        ${h(Chips, { step: s, members: g.members, on: inView(), pick })}
      </div>
      <div class="controls">
        ${h(Segments, { label: "Colour tokens by (v)", value: colour.value, options: COLOURS.filter(([c]) => c === "plain" || has.has(c) || c === colour.value), pick: (v) => setColour(/** @type {any} */ (v)) })}${
          missing
            ? html`
                <span
                  class="ink3 small"
                  title="Log tokens with logp, entropy, token_advantages or rollout_logp: keep_tokens keeps them">
                  no token values
                </span>
              `
            : null
        }
        ${onPhone() ? null : h(Segments, { label: "Samples side by side", value: String(shown.length), options: ["1", "2", "3", "4"].slice(0, Math.max(1, Math.min(4, g.members.length))).map((n) => /** @type {[string, string]} */ ([n, n])), pick: (n) => setBeside(Number(n)) })}
        <button
          class="button"
          type="button"
          aria-pressed=${String(comparing.value)}
          title="Underline what differs between the first two (d)"
          disabled=${g.members.length < 2}
          onClick=${turnDiff}>
          Differences
        </button>
      </div>
    </header>
  `;
}

/** @param {{s: Step, i: number}} props */
function SampleHead({ s, i }) {
  const reward = num(s, "reward", i),
    advantage = num(s, "advantage", i),
    tokens = num(s, "completion_tokens", i);
  const stop = said(s, "stop_reason", i);
  const dropped = fateOf(s, i) === DROPPED;
  const words = [Number.isNaN(tokens) ? "" : `${count(tokens)} tokens`, STOPS[stop] ?? stop].filter(Boolean).join(", ");
  const link = () => {
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
      <span class="ink3 cut">${h(ModelLine, { text: preview(words, 80) })}</span>
      ${
        dropped
          ? html`
              <span class="tag">
                ${h(ModelLine, { text: `dropped${said(s, "discard_reason", i) ? `, ${preview(said(s, "discard_reason", i), 60).replaceAll("_", " ")}` : ""}` })}
              </span>
            `
          : null
      }
      <span class="gap"></span>
      ${h(IconButton, {
        icon: "copy",
        label: "Copy a link to this sample",
        act: () => {
          go(
            { group: s.groups[s.columns.group?.[i] ?? -1] ?? "", sample: idsAsText([s.ids[i] ?? ""]), step: s.step },
            "replace",
          );
          link();
        },
      })}
    </header>
  `;
}
const STOPS = /** @type {Record<string, string>} */ ({
  length: "cut at limit",
  stop: "end of text",
  max_turns: "out of turns",
});

/** The token under the pointer, in numbers, in the line below. @param {MouseEvent} e */
function tell(e) {
  const line = document.querySelector("[data-token-line]");
  const span = [/** @type {Element} */ (e.target), /** @type {Element} */ (e.target).parentElement].find(
    (x) => x && placeOf.has(x),
  );
  const sample = opened.value.get(span?.closest("[data-sample]")?.getAttribute("data-sample") ?? "");
  if (!line) return;
  if (!span || !sample) {
    line.textContent = "";
    return;
  }
  const t = placeOf.get(span) ?? 0;
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
