/** The entry: render the frame and bind the keys that work on every page. */

import { render } from "preact";
import { effect } from "@preact/signals";
import { PAGES } from "./base/text/url.js";
import { bind } from "./keys.js";
import { Frame, ready } from "./parts/frame/frame.js";
import { h } from "./parts/html.js";
import { closeOverlay, copyLink, openPalette, overlay, say } from "./parts/frame/overlay.js";
import { changeDensity, printing, switchTheme } from "./prefs.js";
import { findings, firstDrawing, go, lastStep, pageOf, run, runs, step, tape, view, visit } from "./state.js";
import { ROOT } from "./wire/api.js";

/** @param {number} by */
const moveStep = (by) => {
  if (view.value.run)
    go({ step: Math.max(tape.value?.first ?? 0, Math.min(lastStep.value, step.value + by)) }, "replace");
};

/** Go to the next finding (1) or the one before (-1). @param {number} sign */
function nextFinding(sign) {
  const steps = [...new Set(findings.value.map((f) => f.step))].sort((a, b) => a - b);
  const next = sign > 0 ? steps.find((s) => s > step.value) : steps.findLast((s) => s < step.value);
  const finding = findings.value.find((f) => f.step === next);
  if (finding) {
    go({ step: finding.step }, "replace");
    say(`${finding.claim}, step ${finding.step}`);
  }
}

/** Close one thing, the topmost first. */
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

/** Show or hide the nth run of the project on the charts. @param {number} slot */
function toggleRun(slot) {
  const mine = (runs.value ?? []).filter((r) => r.project === run.value?.project)[slot];
  if (!mine || mine.id === view.value.run) return;
  const others = view.value.runs.filter((r) => r !== mine.id);
  go({ runs: view.value.runs.includes(mine.id) ? others : [...others, mine.id] }, "replace");
}

const AXES = /** @type {import("./base/text/url.js").XAxis[]} */ (["step", "time", "tokens", "relative", "samples"]);
const SCALES = /** @type {const} */ (["linear", "log", "symlog", "robust"]);
const SMOOTH = [0, 0.6, 0.8, 0.9, 0.97];

bind([
  {
    keys: ["ctrl+k"],
    says: "search everywhere",
    run: () => (overlay.value === "palette" ? closeOverlay() : openPalette()),
  },
  {
    keys: ["?"],
    says: "show these keys",
    run: () => {
      overlay.value = "keys";
    },
  },
  {
    keys: ["/"],
    says: "search on this page",
    run: () => /** @type {HTMLElement | null} */ (document.querySelector("[data-search]"))?.focus(),
  },
  { keys: ["Escape"], says: "go back or close", run: back },
  ...PAGES.map(([page, title, key]) => ({
    keys: [`g ${key}`],
    says: title,
    run: () => {
      if (view.value.run || page === "glossary")
        visit(view.value.run ? pageOf(view.value.run, page) : new URL("glossary", ROOT).href);
    },
  })),
  { keys: ["g l"], says: "Runs", run: () => visit(ROOT.href) },
  { keys: ["ArrowLeft"], says: "previous step", run: () => moveStep(-1) },
  { keys: ["ArrowRight"], says: "next step", run: () => moveStep(1) },
  { keys: ["shift+ArrowLeft"], says: "ten steps back", run: () => moveStep(-10) },
  { keys: ["shift+ArrowRight"], says: "ten steps on", run: () => moveStep(10) },
  { keys: ["["], says: "previous finding", run: () => nextFinding(-1) },
  { keys: ["]"], says: "next finding", run: () => nextFinding(1) },
  { keys: ["Home"], says: "first step", run: () => go({ step: tape.value?.first ?? 0 }, "replace") },
  { keys: ["End", "."], says: "last step, follow the run", run: () => go({ step: null }, "replace") },
  { keys: ["z"], says: "whole run", run: () => go({ range: null }) },
  {
    keys: ["x"],
    says: "change the x axis",
    run: () => {
      const x = AXES[(AXES.indexOf(view.value.x) + 1) % AXES.length] ?? "step";
      go({ x }, "replace");
      say(`x axis: ${x}`);
    },
  },
  {
    keys: ["y"],
    says: "change the y scale",
    run: () => {
      const y = SCALES[(SCALES.indexOf(view.value.y) + 1) % SCALES.length] ?? "linear";
      go({ y }, "replace");
      say(`y scale: ${y}`);
    },
  },
  {
    keys: ["s"],
    says: "change the smoothing",
    run: () => {
      const smooth = SMOOTH[(SMOOTH.findIndex((v) => v >= view.value.smooth) + 1) % SMOOTH.length] ?? 0;
      go({ smooth }, "replace");
      say(smooth ? `smoothing ${smooth}` : "no smoothing");
    },
  },
  { keys: ["n"], says: "normalise to ranges", run: () => go({ norm: !view.value.norm }, "replace") },
  { keys: ["u"], says: "copy the link", run: copyLink },
  {
    keys: ["ctrl+p"],
    says: "print the whole page",
    run: () => import("./parts/frame/print.js").then((m) => m.printPage()),
  },
  {
    keys: ["m"],
    says: "write a note here",
    run: () => {
      if (view.value.run) go({ open: "notes:" });
    },
  },
  {
    keys: ["c"],
    says: "compare",
    run: () => {
      if (view.value.run) visit(pageOf(view.value.run, "compare"));
    },
  },
  { keys: ["+", "="], says: "larger", run: () => changeDensity(1) },
  { keys: ["-"], says: "denser", run: () => changeDensity(-1) },
  { keys: ["\\"], says: "light or dark", run: switchTheme },
  ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => ({
    keys: [String(n)],
    says: `show or hide run ${n}`,
    run: () => toggleRun(n - 1),
  })),
]);

// Printed from the browser's own menu, or looked at as on paper.
matchMedia("print").addEventListener("change", (event) => {
  printing.value = event.matches;
});

effect(() => {
  const r = run.value;
  const page = PAGES.find(([p]) => p === view.value.page)?.[1] ?? "Runs";
  document.title = view.value.run ? `${r?.name || view.value.run}, ${page} · Rollscope` : `${page} · Rollscope`;
});

ready().then(() => render(h(Frame, {}), /** @type {HTMLElement} */ (document.getElementById("app"))));

// Several runs on the charts may be held against a baseline; it is looked for after the first ink.
firstDrawing.promise.then(() => import("./charts/baseline.js"));
