/** Why a mean moved: what each group adds to the change, as bars that add up to it; then by kind,
 * split into "more of them" and "each of them". */

import { useEffect, useState } from "preact/hooks";
import { filter } from "../base/samples/filter-words.js";
import { count, number, plural, worded } from "../base/text/format.js";
import { spelled } from "../base/text/model-text.js";
import { h, html } from "../parts/html.js";
import { ModelLine } from "../parts/model-text.js";
import { go, href, view } from "../state.js";
import { get, part } from "../wire/api.js";
import { WhyRanges, useRanges } from "./why-ranges.js";

/** @typedef {import("../wire/types.gen").WhyShape} WhyShape */

/** A number with its sign. @param {number | null} v */
export const signed = (v) => (v === null ? "–" : `${v > 0 ? "+" : ""}${number(v)}`);

/** The answer and the error message. The old answer stays until the new one comes.
 * @param {string} run "" to ask nothing yet @param {string} metric @param {number} step
 * @param {number | null} against @param {number} top @param {"" | "all"} over
 * @param {import("./why-ranges.js").Ranges | null} ranges to compare instead of two steps
 * @returns {[WhyShape | null, string]} */
export function useWhy(run, metric, step, against, top, over = "", ranges = null) {
  const [answer, setAnswer] = useState(/** @type {WhyShape | null} */ (null));
  const [error, setError] = useState("");
  useEffect(() => {
    if (!run) return;
    const abort = new AbortController();
    setError("");
    const path = `runs/${part(run)}/why`;
    const point = `metric=${part(metric)}&step=${ranges ? ranges.now[1] : step}`;
    const other = ranges
      ? `&since=${ranges.now[0]}&against_since=${ranges.before[0]}&against=${ranges.before[1]}`
      : against === null
        ? ""
        : `&against=${against}`;
    const options = `top=${top}${other}${over ? `&over=${over}` : ""}`;
    get(`${path}/able?${point}`, abort.signal)
      .then((a) => (a.able ? get(`${path}?${point}&${options}`, abort.signal) : Promise.reject(new Error(a.says))))
      .then(setAnswer, (e) => {
        if (e.name !== "AbortError") {
          setAnswer(null);
          setError(e.message);
        }
      });
    return () => abort.abort();
  }, [run, metric, step, against, top, over, ranges]);
  return [answer, error];
}

/** Which steps are compared: "19 → 20", "10–19 → 20–29". @param {WhyShape} why */
export function between(why) {
  const side = (/** @type {number} */ a, /** @type {number} */ b) => (a === b ? count(b) : `${count(a)}–${count(b)}`);
  return `${side(why.against_since, why.against)} → ${side(why.since, why.step)}`;
}

/** True if ranges are compared: then the parts are prompts. @param {WhyShape} why */
export const overRanges = (why) => why.since !== why.step || why.against_since !== why.against;

/** The class of a change: the colour of its bar, which does not mean good or bad.
 * @param {WhyShape} why */
export const moved = (why) => (!why.change ? "" : why.change < 0 ? "fell" : "rose");

/** The sentence for a change that cannot be computed. @param {WhyShape} why */
export function nothingToCompare(why) {
  const empty = count(why.counted[1] ? why.step : why.against);
  return `No sample of this kind has a value at step ${empty}, so there is no change to explain.`;
}

/** Which samples the mean is over. @param {WhyShape} why */
function population(why) {
  const [now, before] = why.counted.map((n) => count(n));
  const [none, noneBefore] = why.left_out.map((n) => count(n));
  const without = why.left_out.some(Boolean) ? `, without ${noneBefore} and ${none} that have no value` : "";
  return `Over ${why.population}: ${before} and ${now}${without}.`;
}

/** A warning that the logged values differ from the means of the samples.
 * @param {WhyShape} why @param {string} unit */
function disagreement(why, unit) {
  const [now, before] = why.recorded.map((v) => worded(v ?? null, unit));
  const logged = `The values logged under this name, ${before} → ${now}, differ from these samples.`;
  return `${logged} The bars below explain the samples.`;
}

/** @param {{why: WhyShape, unit?: string}} props */
const Population = ({ why, unit = "" }) => html`
  <p class="small ink3" data-agrees=${String(why.agrees)}>${population(why)}</p>
  ${
    why.agrees === false
      ? html`
          <p class="small watch">${disagreement(why, unit)}</p>
        `
      : null
  }
`;

/** A bar from zero to a value, on the scale of its list.
 * @param {{adds: number, lo: number, hi: number}} props */
function Bar({ adds, lo, hi }) {
  const share = (/** @type {number} */ v) => (hi > lo ? ((v - lo) / (hi - lo)) * 100 : 0);
  const [a, b] = [share(Math.min(0, adds)), share(Math.max(0, adds))];
  const size = adds ? Math.max(1.5, b - a) : 0; // only 0 has no bar
  return html`
    <span class="whybar">
      <i class=${adds < 0 ? "down" : "up"} style=${{ left: `${Math.min(a, 100 - size)}%`, width: `${size}%` }}></i>
    </span>
  `;
}

/** What each group adds.
 * @param {{why: WhyShape, open: (group: string, step: number) => void}} props */
export function WhyGroups({ why, open }) {
  const { rest } = why;
  const adds = [...why.parts.map((p) => p.adds), rest.down_adds, rest.up_adds];
  const [lo, hi] = [Math.min(0, ...adds), Math.max(0, ...adds)];
  const names = new Map(why.parts.map((p) => [p.group, p.prompt || p.task || p.group]));
  return html`
    <ul class="whylist" data-sum=${adds.reduce((a, b) => a + b, 0)}>
      ${why.parts.map(
        (p) => html`
          <li key=${p.group}>
            <button
              type="button"
              title=${spelled(`${p.group}: ${plural(p.count, "sample")}, mean ${number(p.mean)}`)}
              onClick=${() => open(p.group, why.step)}>
              <span class="cut">${h(ModelLine, { text: names.get(p.group) ?? p.group })}</span>
              <span class="n">${signed(p.adds)}</span>
              ${h(Bar, { adds: p.adds, lo, hi })}
            </button>
          </li>
        `,
      )}
      ${
        rest.down
          ? html`
              <li>
                <span class="cut">${count(rest.down)} other ${rest.down === 1 ? "group" : "groups"} down</span>
                <span class="n">${signed(rest.down_adds)}</span>
                ${h(Bar, { adds: rest.down_adds, lo, hi })}
              </li>
            `
          : null
      }
      ${
        rest.up
          ? html`
              <li>
                <span class="cut">${count(rest.up)} other ${rest.up === 1 ? "group" : "groups"} up</span>
                <span class="n">${signed(rest.up_adds)}</span>
                ${h(Bar, { adds: rest.up_adds, lo, hi })}
              </li>
            `
          : null
      }
    </ul>
  `;
}

/** What each kind adds, by its number and by its mean. @param {{why: WhyShape}} props */
export function WhyKinds({ why }) {
  const dimensions = Object.entries(why.kinds);
  if (!dimensions.length) return null;
  return html`
    ${dimensions.map(([name, kinds]) => {
      const [first, rest] = kinds.length > KINDS ? [kinds.slice(0, KINDS - 1), kinds.slice(KINDS - 1)] : [kinds, []];
      const sum = (/** @type {"more" | "each"} */ f) => rest.reduce((a, k) => a + k[f], 0);
      const parts = [...first.flatMap((k) => [k.more, k.each]), sum("more"), sum("each")];
      const [lo, hi] = [Math.min(0, ...parts), Math.max(0, ...parts)];
      const adds = (/** @type {number} */ more, /** @type {number} */ each) => html`
        <span>${signed(more)}${h(Bar, { adds: more, lo, hi })}</span>
        <span>${signed(each)}${h(Bar, { adds: each, lo, hi })}</span>
      `;
      return html`
        <section class="whykinds" key=${name} data-sum=${kinds.reduce((a, k) => a + k.more + k.each, 0)}>
          <h3>By ${name}</h3>
          <div class="ways n">
            <span></span>
            <span class="ink3 small">more of them</span>
            <span class="ink3 small">each of them</span>
            ${first.map(
              (k) => html`
                <span class="cut" title=${kindWords(k)}>${h(ModelLine, { text: k.name || "none" })}</span>
                ${adds(k.more, k.each)}
              `,
            )}
            ${
              rest.length
                ? html`
                    <span class="cut ink3">${count(rest.length)} others</span>
                    ${adds(sum("more"), sum("each"))}
                  `
                : null
            }
          </div>
        </section>
      `;
    })}
  `;
}
const KINDS = 6; // kinds of a dimension that are shown

/** @param {WhyShape["kinds"][string][number]} k */
const kindWords = (k) =>
  `${Math.round(k.share_before * 100)} % of samples before, ${Math.round(k.share * 100)} % now; ` +
  `mean ${number(k.mean_before)} before, ${number(k.mean)} now`;

/** Open a group in Rollouts. @param {string} group @param {number} step */
const openGroup = (group, step) =>
  go({ page: "rollouts", group, step, sample: "", q: "", open: "", view: "all", sort: "" });

/** Show the groups of a prompt in Rollouts. @param {string} task @param {number} step */
export const findTask = (task, step) =>
  go({
    page: "rollouts",
    step,
    q: filter("task", "=", task).text,
    group: "",
    sample: "",
    open: "",
    view: "all",
    sort: "",
  });

/** Why a point of a chart moved, in the drawer. Empty for a metric that is not a mean over samples.
 * @param {{metric: string, step: number, unit?: string}} props */
export function WhyMoved({ metric, step, unit = "" }) {
  const against = view.value.range && view.value.range[0] < step ? Math.round(view.value.range[0]) : null;
  const [ranges, choose] = useRanges();
  const [why, error] = useWhy(view.value.run, metric, step, against, 6, "", ranges);
  if (!why)
    return error
      ? null
      : html`
          <section class="why" data-why="asked"></section>
        `;
  const open = overRanges(why) ? findTask : openGroup;
  return html`
    <section class="why" data-why=${why.step}>
      <h3>
        Why it moved ${" "}
        <span class="n">${between(why)}</span>
      </h3>
      ${h(WhyRanges, { step, ranges, choose })}
      <dl class="facts n">
        <dt>Mean over samples</dt>
        <dd>${worded(why.before, unit)} → ${worded(why.now, unit)}</dd>
        <dt>Change</dt>
        <dd class=${moved(why)}><b>${signed(why.change)}</b></dd>
      </dl>
      ${
        why.change === null
          ? html`
              <p class="read ink3">${nothingToCompare(why)}</p>
            `
          : null
      }${h(Population, { why, unit })}${h(WhyGroups, { why, open })}${h(WhyKinds, { why })}
      <p class="small ink3">
        The ${overRanges(why) ? "prompts'" : "groups'"} parts add up to the
        change.${against === null ? " Drag a range on the tape to compare with its first step." : ""}
      </p>
      <p>
        <a href=${href({ page: "rollouts", step: why.step, open: "", q: "", group: "", sample: "", view: "" })}>
          All groups of step ${count(why.step)}
        </a>
      </p>
    </section>
  `;
}
