/** The tape: the run as a strip, on every page. A click sets the step, a drag the range, dragging
 * the caret moves the step, a double click shows the full run. */

import { useEffect, useRef, useState } from "preact/hooks";
import { useSignalEffect } from "@preact/signals";
import { series } from "../../base/chart/color.js";
import { count } from "../../base/text/format.js";
import { slotOf } from "../../charts/theme-colors.js";
import { drawOver, drawTape, toStep, toX } from "../../charts/run-drawings.js";
import { theme } from "../../prefs.js";
import { cursor, go, lastStep, run, step, tape, toStepOf, view } from "../../state.js";
import { html } from "../html.js";
import { lastPlanned } from "./bar.js";

/** @typedef {import("../../charts/run-drawings.js").Frame} Frame */

/** @param {import("../../state.js").RunRow} r */
const hasCrashed = (r) => ["crashed", "killed"].includes(r.state);

export function Tape() {
  const host = useRef(/** @type {HTMLDivElement | null} */ (null));
  const base = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const over = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const [size, setSize] = useState({ width: 0, height: 56 });
  const drag = useRef(/** @type {{kind: string, from: number, at: number} | null} */ (null));
  const t = tape.value;

  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => {
      if (entry) setSize({ width: entry.contentRect.width, height: entry.contentRect.height });
    });
    if (host.current) watch.observe(host.current);
    return () => watch.disconnect();
  }, []);

  const pad = size.width < 700 ? 16 : 20;
  /** @type {Frame} */
  const f = { ...size, pad, lo: t?.first ?? 0, hi: Math.max(t?.last ?? 1, (t?.first ?? 0) + 1) };

  useSignalEffect(() => {
    const [now, slot, mode] = [tape.value, slotOf(view.value.run), theme.value];
    if (now && run.value && base.current && size.width)
      drawTape(base.current, now, f, series(slot, mode).color, hasCrashed(run.value));
  });
  useEffect(() => {
    if (t && run.value && base.current && size.width)
      drawTape(base.current, t, f, series(slotOf(run.value.id), theme.value).color, hasCrashed(run.value));
    drawCaret(); // the caret needs no colour, which may come later than the steps
  }, [size, t]);

  const drawCaret = () => {
    const d = drag.current;
    /** @type {[number, number] | null} */
    const range = d?.kind === "range" ? [Math.min(d.from, d.at), Math.max(d.from, d.at)] : view.value.range;
    if (over.current && size.width && tape.value)
      drawOver(
        over.current,
        { ...f, lo: tape.value.first, hi: Math.max(tape.value.last, tape.value.first + 1) },
        { step: step.value, range, hover: cursor.value === null ? null : toStepOf(cursor.value) },
      );
  };
  useSignalEffect(() => {
    step.value;
    view.value;
    cursor.value;
    theme.value;
    tape.value;
    drawCaret();
  });

  /** @param {PointerEvent} e */
  const stepAt = (e) =>
    Math.max(
      f.lo,
      Math.min(f.hi, toStep(f)(e.clientX - /** @type {Element} */ (host.current).getBoundingClientRect().left)),
    );
  /** @param {PointerEvent} e */
  const down = (e) => {
    if (e.button || !t) return;
    const at = stepAt(e);
    const onCaret = Math.abs(toX(f)(step.value) - toX(f)(at)) < 7;
    drag.current = { kind: e.pointerType === "touch" || onCaret ? "scrub" : "click", from: at, at };
    host.current?.setPointerCapture(e.pointerId);
    host.current?.focus({ preventScroll: true });
  };
  /** @param {PointerEvent} e */
  const move = (e) => {
    const d = drag.current;
    if (!d) return;
    d.at = stepAt(e);
    if (d.kind === "scrub") go({ step: Math.round(d.at) }, "replace");
    else if (Math.abs(toX(f)(d.at) - toX(f)(d.from)) > 4) {
      d.kind = "range";
      drawCaret();
    }
  };
  /** Open the finding or note of a flag; returns false beside the flags.
   * @param {PointerEvent} e @param {number} at */
  const openFlag = (e, at) => {
    if (!t || e.clientY - /** @type {Element} */ (host.current).getBoundingClientRect().top > 16) return false;
    const near = (/** @type {number} */ s) => {
      const far = toX(f)(at) - toX(f)(s);
      return far > -7 && far < 20;
    };
    const finding = t.findings.find((x) => !x.hidden && x.severity !== "info" && near(x.step));
    const note = t.notes.find((n) => n.step !== null && near(n.step));
    if (finding) go({ step: finding.step, open: `finding:${finding.rule}@${finding.step}` });
    else if (note) go({ step: note.step, open: "notes:" });
    return Boolean(finding || note);
  };
  /** @param {PointerEvent} e */
  const up = (e) => {
    const d = drag.current;
    drag.current = null;
    if (!d) return;
    const [lo, hi] = [Math.round(Math.min(d.from, d.at)), Math.round(Math.max(d.from, d.at))];
    if (d.kind === "range") go({ range: [lo, Math.max(lo + 1, hi)] });
    else if (d.at === d.from && openFlag(e, d.from)) return;
    else if (d.kind === "click") go({ step: Math.round(d.from) }, "replace");
  };
  const range = view.value.range;
  const toGo = t && run.value?.state === "running" ? Math.max(0, (lastPlanned.value ?? 0) - t.last) : 0;
  const news = t && view.value.step !== null && run.value?.state === "running" ? t.last - step.value : 0;
  return html`
    <div
      class="tape"
      ref=${host}
      role="slider"
      tabindex="0"
      aria-label="Step"
      aria-valuemin=${f.lo}
      aria-valuemax=${t?.last ?? 0}
      aria-valuenow=${step.value}
      aria-valuetext=${`step ${count(step.value)} of ${count(lastStep.value)}`}
      onPointerDown=${down}
      onPointerMove=${move}
      onPointerUp=${up}
      onPointerCancel=${() => {
        drag.current = null;
      }}
      onDblClick=${() => go({ range: null })}>
      <canvas ref=${base}></canvas>
      <canvas class="over" ref=${over}></canvas>
      ${
        range
          ? html`
              <button
                class="button whole n"
                type="button"
                title="Show the full run (z)"
                onPointerDown=${(/** @type {Event} */ e) => e.stopPropagation()}
                onClick=${() => go({ range: null })}
                style=${{ left: `${Math.min(size.width - 110, toX(f)(Math.min(range[1], f.hi)) + 4)}px` }}>
                ${count(range[0])} to ${count(range[1])}
                <i aria-hidden="true">×</i>
              </button>
            `
          : null
      }
      ${
        toGo
          ? html`
              <span class="end n">${count(toGo)} to go</span>
            `
          : null
      }
      ${
        news > 0
          ? html`
              <button
                class="button news n"
                type="button"
                onPointerDown=${(/** @type {Event} */ e) => e.stopPropagation()}
                onClick=${() => go({ step: null }, "replace")}>
                ${count(t?.last ?? 0)}, ${count(news)} new
              </button>
            `
          : null
      }
    </div>
  `;
}
