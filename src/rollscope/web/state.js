/** What a person looks at, and what is known about it. The view is the address; all other signals
 * are fetched for it. */

import { batch, computed, effect, signal, untracked } from "@preact/signals";
import { bothRead, interpolate } from "./base/chart/scale.js";
import { mergedNames } from "./base/text/metric-names.js";
import { elsewhere, fitting, format, parse } from "./base/text/url.js";
import { ROOT, get, inOrder, part, server } from "./wire/api.js";
import { listen } from "./wire/live.js";
import { forgetExact, refresh as refreshSeries, shown, window_ } from "./wire/series.js";

/** @typedef {import("./base/text/url.js").View} View */
/** @typedef {import("./wire/types.gen").RunRow} RunRow */
/** @typedef {import("./wire/types.gen").RunDetail} RunDetail */
/** @typedef {import("./wire/types.gen").EntryBrief} EntryBrief */
/** @typedef {import("./wire/types.gen").MetricInfo & EntryBrief} MetricInfo */
/** @typedef {import("./wire/types.gen").Tape} Tape */

const read = () => parse(location.pathname.slice(ROOT.pathname.length), location.search);

export const view = signal(read());
export const runs = signal(/** @type {RunRow[] | null} */ (null));
export const detail = signal(/** @type {RunDetail | null} */ (null));
export const names = signal(/** @type {MetricInfo[] | null} */ (null));
/** The same names, one task earlier. A page requests the series of these before it renders its
 * cards. */
export const coming = signal(/** @type {MetricInfo[] | null} */ (null));
/** What the catalogue says to watch in the run. */
export const watch = signal(/** @type {import("./wire/types.gen").WatchList | null} */ (null));
export const tape = signal(/** @type {Tape | null} */ (null));
export const failure = signal("");
/** x under the pointer, on any chart; null if the pointer is on no chart. */
export const cursor = signal(/** @type {number | null} */ (null));
/** When the last event of this run arrived (ms). */
export const heard = signal(0);
/** The time (ms), every second. */
export const now = signal(Date.now());
/** Runs picked on the Runs page, to compare. */
export const picked = signal(/** @type {string[]} */ ([]));

/** Resolves when the first chart is drawn. Work that is not needed for it waits.
 * @type {PromiseWithResolvers<void>} */
export const firstDrawing = Promise.withResolvers();
/** Resolves then, but not later than in half a second. */
export const drawnOrLate = () => Promise.race([firstDrawing.promise, new Promise((done) => setTimeout(done, 500))]);

export const run = computed(
  () =>
    runs.value?.find((r) => r.id === view.value.run) ??
    (detail.value?.run.id === view.value.run ? detail.value.run : null),
);
export const lastStep = computed(() => tape.value?.last ?? run.value?.step ?? 0);
/** The step at the caret: the one in the address, else the last. */
export const step = computed(() => view.value.step ?? lastStep.value);
/** Findings of the run that are not hidden. */
export const findings = computed(() => (tape.value?.findings ?? []).filter((f) => !f.hidden));

/** The address of this view with changes. @param {Partial<View>} patch */
export const href = (patch) => new URL(format({ ...view.value, ...patch }), ROOT).href;
/** The address of a page of a run. @param {string} id @param {string} page */
export const pageOf = (id, page) => new URL(format(elsewhere(view.value, id, page)), ROOT).href;

/** Change the view and the address. Moving replaces the history entry, opening adds one.
 * @param {Partial<View>} patch @param {"push" | "replace"} [how] */
export function go(patch, how = "push") {
  const next = fitting({ ...view.value, ...patch });
  const to = new URL(format(next), ROOT).href;
  if (to !== location.href) history[how === "push" ? "pushState" : "replaceState"](null, "", to);
  view.value = next;
}

/** Follow a link without a page load. @param {string} to */
export function visit(to) {
  history.pushState(null, "", to);
  view.value = read();
}

addEventListener("popstate", () => {
  view.value = read();
});
document.addEventListener("click", (event) => {
  const link = /** @type {Element} */ (event.target).closest?.("a");
  const special = event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey;
  if (!link || event.defaultPrevented || special || link.target || link.hasAttribute("download")) return;
  if (!link.href.startsWith(ROOT.href) || link.href.startsWith(new URL("api", ROOT).href)) return;
  event.preventDefault();
  visit(link.href);
});

/** Run a request; a failure becomes the page's message. @param {() => Promise<void>} work */
const quietly = (work) =>
  work().catch((error) => {
    if (error.name !== "AbortError") failure.value = error.message;
  });

const takeRuns = inOrder((list) => {
  [runs.value, pendingRuns.value] = [list.runs, list.pending];
});
let listing = 0; // lists on their way
export const loadRuns = () => {
  listing++;
  return quietly(async () => {
    // A screenful comes before all of a large store.
    for (const path of runs.value ? ["runs"] : ["runs?newest=100", "runs"])
      if (!(await takeRuns(get(path))).pending) return;
  }).finally(() => listing--);
};
/** How many runs the server has still to read before it can list them; an event tells of them. */
export const pendingRuns = signal(0);

/** @type {AbortController | null} */
let loading = null;

/** Counts up when the run has new rows. Pages that show more than series depend on it. */
export const ticks = signal(0);
const takeTape = inOrder((/** @type {[string, Tape]} */ [id, answer]) => {
  if (id === view.value.run) tape.value = answer;
});

/** @param {string} id @param {number} by how much newer its rows are
 * @param {AbortSignal} [abort] */
const loadTape = (id, by, abort) =>
  quietly(async () => {
    ticks.value += by;
    await takeTape(get(`runs/${part(id)}/tape`, abort).then((answer) => [id, answer]));
  });

/** Load what all pages of a run need. @param {string} id */
function loadRun(id) {
  loading?.abort();
  const abort = (loading = new AbortController());
  loadTape(id, 0, abort.signal);
  quietly(async () => {
    const answer = await get(`runs/${part(id)}`, abort.signal);
    detail.value = answer;
    heard.value = answer.run.heard_ns / 1e6;
  });
}

/** The names that each run logs, so that one more run on the charts is one more request.
 * @type {Map<string, Promise<any>>} */
const lists = new Map();

/** @param {string} id */
function listOf(id) {
  const list = lists.get(id) ?? get(`runs/${part(id)}/names`);
  lists.set(id, list);
  list.catch(() => lists.delete(id));
  return list;
}

/** Load the names of all runs on the charts. The first run's make the first screen; the others may
 * add cards to it, and let its charts pass. */
export const loadNames = () =>
  quietly(async () => {
    const [wanted, all] = [ids.value, ids.value.split("\n")];
    if (all.length > 1 && !names.value) {
      await showNames(wanted, all.slice(0, 1));
      await drawnOrLate();
    }
    await showNames(wanted, all);
  });

/** Show the names of some runs, unless other runs are wanted by then.
 * @param {string} wanted @param {string[]} some */
async function showNames(wanted, some) {
  const replies = await Promise.all(some.map(listOf));
  if (wanted !== ids.value) return;
  watch.value = replies[0]?.watched ?? null;
  coming.value = mergedNames(replies);
  await new Promise((done) => setTimeout(done)); // the requests leave when this task ends
  if (wanted === ids.value) names.value = coming.value;
}

const current = computed(() => view.value.run);
effect(() => {
  const id = current.value;
  untracked(() =>
    batch(() => {
      detail.value = tape.value = null;
      names.value = coming.value = null;
      lists.clear();
      failure.value = "";
      cursor.value = null;
      if (id) loadRun(id);
    }),
  );
});

const ids = computed(() =>
  view.value.run ? [view.value.run, ...view.value.runs.filter((r) => r !== view.value.run)].join("\n") : "",
);
const needsNames = computed(() => ["metrics", "compare", "glossary"].includes(view.value.page));
let namesOf = "";
effect(() => {
  shown.value = ids.value ? ids.value.split("\n") : [];
  if (!ids.value || !needsNames.value || (namesOf === ids.value && untracked(() => names.value))) return;
  namesOf = ids.value;
  untracked(loadNames);
});

/** The environment whose values charts show. Verdicts and findings are about the whole run. */
const chartEnv = () => (["metrics", "overview"].includes(view.value.page) ? view.value.env : "");
const windowKey = computed(() =>
  JSON.stringify([view.value.x, view.value.range, view.value.from, view.value.smooth > 0, chartEnv()]),
);
effect(() => {
  const [x, range, from, smooth, env] = JSON.parse(windowKey.value);
  window_.value = {
    x,
    lo: range?.[0] ?? null,
    hi: range?.[1] ?? null,
    from,
    points: 400,
    warm: smooth && range !== null,
    env,
  };
});

let [waiting, refreshed] = [0, 0];
/** Refresh now, but at most once in 400 ms. */
function refreshSoon() {
  if (!waiting) waiting = setTimeout(refresh, Math.max(0, refreshed + 400 - performance.now()));
}

function refresh() {
  [waiting, refreshed] = [0, performance.now()];
  const id = view.value.run;
  if (!id) return void loadRuns();
  refreshSeries();
  forgetExact();
  loadTape(id, 1);
}

/** Reload what all pages know of the run, at once: a note was written, or the server came back. */
export function reload() {
  if (view.value.run) loadTape(view.value.run, 8);
}

listen((event) => {
  if (event.kind === "run") {
    const known = runs.value?.find((r) => r.id === event.run);
    // The list has its duration and its reason. One that is on its way may be older than the event.
    const turned = known && event.state && event.state !== known.state;
    if (known ? turned : listing) loadRuns();
    if (turned && event.run === view.value.run) loadRun(event.run); // the last lines of a crash
    if (runs.value)
      runs.value = runs.value.map((r) =>
        r.id === event.run
          ? { ...r, step: event.step ?? r.step, state: event.state || r.state, heard_ns: event.heard_ns }
          : r,
      );
    if (event.run === view.value.run) heard.value = event.heard_ns / 1e6;
    if (shown.value.includes(event.run) && event.tables.includes("metrics")) refreshSoon();
    else if (event.run === view.value.run && event.tables.length) loadTape(event.run, 3);
  }
  if (event.kind === "project" && !event.kinds.every((/** @type {string} */ kind) => kind === "board")) loadRuns();
  if (event.kind === "project" && event.kinds.includes("edit")) reload();
  if (event.kind === "runs" || event.kind === "woke") loadRuns();
  if (event.kind === "woke" && view.value.run) refreshSoon();
});
/** Counts how often the server came back. Requests that failed meanwhile depend on it. */
export const returned = signal(0);
let gone = false;
effect(() => {
  const back = gone && !server.value.gone;
  gone = server.value.gone;
  if (back)
    untracked(() => {
      failure.value = "";
      returned.value++;
      loadRuns();
      reload();
      refreshSeries();
    });
});
setInterval(() => document.hidden || (now.value = Date.now()), 1000);
// The list fills the rail. Several runs need their colours at once; one run lets its charts pass.
if (view.value.run && !view.value.runs.length) drawnOrLate().then(loadRuns);
else loadRuns();

/** Readings of the step and of the axis that is shown, from the tape. */
function readings() {
  const clocks = tape.value?.clocks ?? {};
  return bothRead(clocks.step ?? [], clocks[view.value.x] ?? []);
}

/** The step at a value of the axis that is shown. @param {number} x */
export function toStepOf(x) {
  if (view.value.x === "step") return x;
  const [steps, other] = readings();
  return interpolate(other, steps, x);
}

/** The value of a step on the axis that is shown. @param {number} step */
export function toAxis(step) {
  if (view.value.x === "step") return step;
  const [steps, other] = readings();
  return interpolate(steps, other, step);
}
