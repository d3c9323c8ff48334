/** The beginning: render the frame, bind the keys that work everywhere. */

import { render } from "preact";
import { effect } from "@preact/signals";
import { PAGES } from "./base/text/url.js";
import { bind } from "./keys.js";
import { Frame, ready } from "./parts/frame/frame.js";
import { h } from "./parts/html.js";
import { closeOverlay, copyLink, openPalette, overlay, say } from "./parts/frame/overlay.js";
import { thicker, turnTheme } from "./prefs.js";
import { findings, go, lastStep, place, run, runs, step, tape, view, visit } from "./state.js";
import { ROOT } from "./wire/api.js";

/** @param {number} by */
const moveStep = (by) => {
  if (view.value.run)
    go({ step: Math.max(tape.value?.first ?? 0, Math.min(lastStep.value, step.value + by)) }, "replace");
};

/** @param {number} sign */
function nextFinding(sign) {
  const steps = [...new Set(findings.value.map((f) => f.step))].sort((a, b) => a - b);
  const found = sign > 0 ? steps.find((s) => s > step.value) : steps.findLast((s) => s < step.value);
  const finding = findings.value.find((f) => f.step === found);
  if (finding) {
    go({ step: finding.step }, "replace");
    say(`${finding.claim}, step ${finding.step}`);
  }
}

function back() {
  if (overlay.value) closeOverlay();
  else if (view.value.table) go({ table: "" });
  else if (view.value.open) {
    const trail = view.value.open.split(" < ");
    go({ open: trail.slice(1).join(" < ") });
  } else if (view.value.large) go({ large: "" });
  else if (document.activeElement && document.activeElement !== document.body)
    /** @type {HTMLElement} */ (document.activeElement).blur();
  else if (view.value.group) go({ group: "", sample: "" });
}

/** @param {number} slot */
function turnRun(slot) {
  const mine = (runs.value ?? []).filter((r) => r.project === run.value?.project)[slot];
  if (!mine || mine.id === view.value.run) return;
  go(
    {
      runs: view.value.runs.includes(mine.id)
        ? view.value.runs.filter((r) => r !== mine.id)
        : [...view.value.runs, mine.id],
    },
    "replace",
  );
}

const AXES = /** @type {const} */ (["step", "time", "tokens", "relative", "samples"]);
const SCALES = /** @type {const} */ (["linear", "log", "symlog", "robust"]);
const SMOOTH = [0, 0.6, 0.8, 0.9, 0.97];

bind([
  {
    keys: ["ctrl+k"],
    says: "search everything",
    run: () => (overlay.value === "palette" ? closeOverlay() : openPalette()),
  },
  {
    keys: ["?"],
    says: "these keys",
    run: () => {
      overlay.value = "keys";
    },
  },
  {
    keys: ["/"],
    says: "search on this page",
    run: () => /** @type {HTMLElement | null} */ (document.querySelector("[data-search]"))?.focus(),
  },
  { keys: ["Escape"], says: "back, then close", run: back },
  ...PAGES.map(([page, title, key]) => ({
    keys: [`g ${key}`],
    says: title,
    run: () => {
      if (view.value.run || page === "glossary")
        visit(view.value.run ? place(view.value.run, page) : new URL("glossary", ROOT).href);
    },
  })),
  { keys: ["g l"], says: "Runs", run: () => visit(ROOT.href) },
  { keys: ["ArrowLeft"], says: "step back", run: () => moveStep(-1) },
  { keys: ["ArrowRight"], says: "step on", run: () => moveStep(1) },
  { keys: ["shift+ArrowLeft"], says: "ten back", run: () => moveStep(-10) },
  { keys: ["shift+ArrowRight"], says: "ten on", run: () => moveStep(10) },
  { keys: ["["], says: "previous finding", run: () => nextFinding(-1) },
  { keys: ["]"], says: "next finding", run: () => nextFinding(1) },
  { keys: ["Home"], says: "first step", run: () => go({ step: tape.value?.first ?? 0 }, "replace") },
  { keys: ["End", "."], says: "last step, and follow", run: () => go({ step: null }, "replace") },
  { keys: ["z"], says: "whole run", run: () => go({ range: null }) },
  {
    keys: ["x"],
    says: "x axis",
    run: () => {
      const x = AXES[(AXES.indexOf(view.value.x) + 1) % AXES.length] ?? "step";
      go({ x }, "replace");
      say(`x is ${x}`);
    },
  },
  {
    keys: ["y"],
    says: "y scale",
    run: () => {
      const y = SCALES[(SCALES.indexOf(view.value.y) + 1) % SCALES.length] ?? "linear";
      go({ y }, "replace");
      say(`y is ${y}`);
    },
  },
  {
    keys: ["s"],
    says: "smoothing",
    run: () => {
      const smooth = SMOOTH[(SMOOTH.findIndex((v) => v >= view.value.smooth) + 1) % SMOOTH.length] ?? 0;
      go({ smooth }, "replace");
      say(smooth ? `smoothing ${smooth}` : "no smoothing");
    },
  },
  { keys: ["n"], says: "normalise to ranges", run: () => go({ norm: !view.value.norm }, "replace") },
  { keys: ["u"], says: "copy link", run: copyLink },
  {
    keys: ["m"],
    says: "note here",
    run: () => {
      if (view.value.run) go({ open: "notes:" });
    },
  },
  {
    keys: ["c"],
    says: "compare",
    run: () => {
      if (view.value.run) visit(place(view.value.run, "compare"));
    },
  },
  { keys: ["+", "="], says: "larger", run: () => thicker(1) },
  { keys: ["-"], says: "denser", run: () => thicker(-1) },
  { keys: ["\\"], says: "light or dark", run: turnTheme },
  ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => ({
    keys: [String(n)],
    says: `show or hide run ${n}`,
    run: () => turnRun(n - 1),
  })),
]);

effect(() => {
  const r = run.value;
  const page = PAGES.find(([p]) => p === view.value.page)?.[1] ?? "Runs";
  document.title = view.value.run ? `${r?.name || view.value.run}, ${page} · Rollscope` : `${page} · Rollscope`;
});

ready().then(() => render(h(Frame, {}), /** @type {HTMLElement} */ (document.getElementById("app"))));
