/** Console: what the run printed, with search; it follows while one is at the end. */

import { useEffect, useRef, useState } from "preact/hooks";
import { count, plural } from "../base/text/format.js";
import { h, html } from "../parts/html.js";
import { ModelLine } from "../parts/model-text.js";
import { go, ticks, view } from "../state.js";
import { get, part } from "../wire/api.js";

export const pane = true;
const ROW = 18;
const MORE = 20; // lines above and below the view
const NEAR = 40; // pixels from the end at which it follows

export function Page() {
  const { run, q } = view.value;
  const [lines, total] = useOutput(run);
  const wanted = q.toLowerCase();
  const found = wanted
    ? lines.map((text, at) => ({ text, at })).filter(({ text }) => text.toLowerCase().includes(wanted))
    : lines.map((text, at) => ({ text, at }));
  return html`
    <div class="console">
      <div class="runs-head">
        <input
          class="field"
          data-search
          value=${q}
          placeholder="Search the output"
          aria-label="Search the output"
          spellcheck=${false}
          onInput=${(/** @type {any} */ e) => go({ q: e.target.value }, "replace")} />
        <span class="ink3 n">
          ${q ? `${count(found.length)} of ` : ""}${plural(total, "line")}${
            total > lines.length ? `, the newest ${count(lines.length)} here` : ""
          }
        </span>
      </div>
      ${
        total
          ? h(Lines, { found, first: total - lines.length, key: run })
          : html`
              <p class="bare-page ink2">
                No output was recorded. ${" "}
                <code>rollscope run -- python train.py</code>
                ${" "} records what a program prints.
              </p>
            `
      }
    </div>
  `;
}

/** The lines so far; new ones are added as they come. @param {string} run
 * @returns {[string[], number]} */
function useOutput(run) {
  const [known, setKnown] = useState({ run: "", lines: /** @type {string[]} */ ([]), total: 0 });
  const beat = ticks.value;
  useEffect(() => {
    const abort = new AbortController();
    const mine = known.run === run ? known : { run, lines: [], total: 0 };
    get(`runs/${part(run)}/output?after=${mine.total}`, abort.signal).then(
      (answer) => {
        const kept = answer.first === mine.total ? mine.lines : [];
        setKnown({ run, lines: [...kept, ...answer.lines], total: answer.total });
      },
      () => {},
    );
    return () => abort.abort();
  }, [run, beat]);
  return known.run === run ? [known.lines, known.total] : [[], 0];
}

/** @param {{found: {text: string, at: number}[], first: number}} props */
function Lines({ found, first: before }) {
  const host = useRef(/** @type {HTMLDivElement | null} */ (null));
  const follows = useRef(true);
  const [at, setAt] = useState({ top: 0, height: 800 });
  useEffect(() => {
    const box = host.current;
    if (box && follows.current) box.scrollTop = box.scrollHeight;
    if (box) setAt({ top: box.scrollTop, height: box.clientHeight });
  }, [found.length]);
  const first = Math.max(0, Math.floor(at.top / ROW) - MORE);
  const last = Math.min(found.length, Math.ceil((at.top + at.height) / ROW) + MORE);
  return html`
    <div
      class="output mono"
      ref=${host}
      tabindex="0"
      role="log"
      data-lines=${found.length}
      onScroll=${(/** @type {any} */ e) => {
        const box = e.target;
        follows.current = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR;
        setAt({ top: box.scrollTop, height: box.clientHeight });
      }}>
      <div style=${{ height: `${found.length * ROW}px`, position: "relative" }}>
        ${found.slice(first, last).map(
          ({ text, at: number }, i) => html`
            <div class="out" key=${number} style=${{ top: `${(first + i) * ROW}px` }}>
              <span class="ink3 n">${before + number + 1}</span>
              ${h(ModelLine, { text: text.slice(0, 2000) })}
            </div>
          `,
        )}
      </div>
    </div>
  `;
}
