/** The top bar: the run, its state, the step, notes, the x axis, and the search. */

import { useEffect, useRef } from "preact/hooks";
import { computed } from "@preact/signals";
import { count, duration, plural, rough } from "../../base/text/format.js";
import { go, heard, lastStep, now, run, tape, view } from "../../state.js";
import { ROOT } from "../../wire/api.js";
import { IconButton, Segments } from "../controls.js";
import { h, html } from "../html.js";
import { openPalette } from "./overlay.js";

/** @typedef {import("../../state.js").RunRow} RunRow */

export function Bar() {
  const r = run.value;
  const { page } = view.value;
  const id = view.value.run;
  return html`
    <header class="bar">
      ${
        id
          ? html`
              ${
                r?.project
                  ? html`
                      <a class="project cut" href=${ROOT.href}>${r.project}</a>
                    `
                  : null
              }
              <span class="name cut">${r?.name || id}</span>
              ${r ? h(State, { r }) : null}
            `
          : html`
              <span class="name">${page === "glossary" ? "Glossary" : "Runs"}</span>
            `
      }
      <span class="gap"></span>
      ${r && r.step !== null ? h(Progress, { r }) : null}
      ${id ? h(IconButton, { icon: "note", label: "Notes (m)", act: () => go({ open: "notes:" }) }) : null}
      ${id ? h(AxisChoice, {}) : null}
      <button class="button search" type="button" onClick=${() => openPalette()}>
        Search ${" "}
        <kbd>${/Mac|iPhone/.test(navigator.platform) ? "⌘K" : "Ctrl K"}</kbd>
      </button>
    </header>
  `;
}

export function AxisChoice() {
  /** @type {[string, string][]} */
  const options = [
    ["step", "step"],
    ["time", "time"],
    ["relative", "elapsed"],
    ["tokens", "tokens"],
  ];
  if (view.value.x === "samples") options.push(["samples", "samples"]);
  if (view.value.x === "gpu") options.push(["gpu", "GPU time"]);
  const pick = (/** @type {string} */ x) => go({ x: /** @type {any} */ (x) }, "replace");
  return h(Segments, { label: "x axis", value: view.value.x, options, pick });
}

/** A running run is quiet if it sent nothing for three of its steps and half a minute.
 * @param {RunRow} r @param {number} silent seconds */
export const isQuiet = (r, silent) => silent > Math.max(30, 3 * (r.step_seconds ?? 10));

/** Finished, crashed, live or quiet. @param {{r: RunRow}} props */
export function State({ r }) {
  const silent = Math.max(0, (now.value - (heard.value || r.heard_ns / 1e6)) / 1000);
  if (r.state === "finished") {
    const took = (r.ended_ns - r.started_ns) / 1e9;
    return html`
      <span class="state finished">
        finished
        <span class="more">
          ${r.steps ? `, ${stepWords(r)}` : ""}${took > 0 ? ` in ${duration(Math.round(took))}` : ""}
        </span>
      </span>
    `;
  }
  if (r.state !== "running")
    return html`
      <span class="state crashed">
        <i class="dot"></i>
        ${r.state}${r.step === null ? "" : ` at step ${count(r.step)}`}${r.reason ? `: ${r.reason.slice(0, 80)}` : ""}
      </span>
    `;
  const quiet = isQuiet(r, silent);
  return html`
    <span class=${quiet ? "state quiet" : "state live"}>
      ${h(Dot, { beat: heard.value })}${quiet ? "quiet" : "live"}
    </span>
    <span class="heard n">heard ${rough(silent)} ago</span>
  `;
}

/** How many steps, with their numbers where the last is not how many: "73 steps (0 to 72)".
 * @param {RunRow} r */
function stepWords(r) {
  const [words, first, last] = [plural(r.steps, "step"), tape.value?.first ?? 0, lastStep.value];
  return r.steps < 2 || last === r.steps ? words : `${words} (${count(first)} to ${count(last)})`;
}

/** A dot that pulses once for each event of the run. @param {{beat: number}} props */
function Dot({ beat }) {
  const dot = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    const element = dot.current;
    if (!element || !beat) return;
    element.classList.remove("beat");
    void element.offsetWidth;
    element.classList.add("beat");
  }, [beat]);
  return html`
    <i class="dot" ref=${dot}></i>
  `;
}

/** The last step of the planned ones: 80 steps from step 0 on end at step 79. Null if none are. */
export const lastPlanned = computed(() => {
  const planned = run.value?.steps_planned;
  return planned ? (tape.value?.first ?? 0) + planned - 1 : null;
});

/** Step, the last planned step, and the time left. @param {{r: RunRow}} props */
function Progress({ r }) {
  const last = lastStep.value;
  const end = lastPlanned.value;
  const left = end !== null && r.state === "running" && r.step_seconds ? (end - last) * r.step_seconds : 0;
  return html`
    <span class="at n">
      step ${" "}
      <b>${count(last)}</b>
      ${
        end !== null && last <= end
          ? html`
              <span class="of">${" "}of ${count(end)}</span>
            `
          : ""
      }
    </span>
    ${
      left > 0
        ? html`
            <span class="at left n">${rough(left)} left</span>
          `
        : null
    }
  `;
}
