/** What the person looks at and what is known about it. The view is the address; everything else is fetched for it. */

import { batch, computed, effect, signal, untracked } from "@preact/signals";
import { format, parse } from "./base/text/url.js";
import { ROOT, get, part, server } from "./wire/api.js";
import { listen } from "./wire/live.js";
import { refresh as refreshSeries, shown, window_ } from "./wire/series.js";

/** @typedef {import("./base/text/url.js").View} View */
/** @typedef {import("./wire/types.gen").RunRow} RunRow */
/** @typedef {import("./wire/types.gen").RunDetail} RunDetail */
/** @typedef {import("./wire/types.gen").MetricInfo & import("./wire/types.gen").EntryBrief} MetricInfo */
/** @typedef {import("./wire/types.gen").Tape} Tape */

const read = () => parse(location.pathname.slice(ROOT.pathname.length), location.search);

export const view = signal(read());
export const runs = signal(/** @type {RunRow[] | null} */ (null));
export const detail = signal(/** @type {RunDetail | null} */ (null));
export const names = signal(/** @type {MetricInfo[] | null} */ (null));
/** The same a moment earlier: what they make a page ask for is on its way before the page is made of them. */
export const coming = signal(/** @type {MetricInfo[] | null} */ (null));
export const tape = signal(/** @type {Tape | null} */ (null));
export const failure = signal("");
/** x under the pointer, on any chart; null when it is nowhere. */
export const cursor = signal(/** @type {number | null} */ (null));
/** When the last event of this run was heard (ms), and a clock that ticks each second. */
export const heard = signal(0);
export const now = signal(Date.now());
/** The runs to be compared or overlaid, picked on the Runs page. */
export const picked = signal(/** @type {string[]} */ ([]));

/** Resolved when the first chart has ink: what is not in it may come after it. @type {PromiseWithResolvers<void>} */
export const ink = Promise.withResolvers();

export const run = computed(
  () =>
    runs.value?.find((r) => r.id === view.value.run) ??
    (detail.value?.run.id === view.value.run ? detail.value.run : null),
);
export const lastStep = computed(() => tape.value?.last ?? run.value?.step ?? 0);
/** The step: where the caret is. Without one in the address, the last. */
export const step = computed(() => view.value.step ?? lastStep.value);
/** Findings of the run that are not hidden. */
export const findings = computed(() => (tape.value?.findings ?? []).filter((f) => !f.hidden));

/** The address of a view that differs from this one. @param {Partial<View>} patch */
export const href = (patch) => new URL(format({ ...view.value, ...patch }), ROOT).href;
/** The address of another place, with nothing carried over but what belongs to a run. @param {string} id @param {string} page */
export const place = (id, page) => {
  const v = view.value;
  const same = id === v.run;
  return href({
    page,
    run: id,
    open: "",
    large: "",
    table: "",
    group: "",
    q: "",
    section: "",
    sample: "",
    view: "",
    name: "",
    sort: "",
    ...(same ? {} : { step: null, range: null, runs: [], from: 0 }),
  });
};

/** Moving replaces, opening pushes; back undoes what a person did. @param {Partial<View>} patch @param {"push" | "replace"} [how] */
export function go(patch, how = "push") {
  const next = { ...view.value, ...patch };
  const to = new URL(format(next), ROOT).href;
  if (to !== location.href) history[how === "push" ? "pushState" : "replaceState"](null, "", to);
  view.value = next;
}

/** Follow a link without loading the page again. @param {string} to */
export function visit(to) {
  history.pushState(null, "", to);
  view.value = read();
}

addEventListener("popstate", () => {
  view.value = read();
});
document.addEventListener("click", (event) => {
  const link = /** @type {Element} */ (event.target).closest?.("a");
  if (
    !link ||
    event.defaultPrevented ||
    event.button ||
    event.metaKey ||
    event.ctrlKey ||
    event.shiftKey ||
    event.altKey ||
    link.target ||
    link.hasAttribute("download")
  )
    return;
  if (!link.href.startsWith(ROOT.href) || link.href.startsWith(new URL("api", ROOT).href)) return;
  event.preventDefault();
  visit(link.href);
});

/** @param {() => Promise<void>} work */
const quietly = (work) =>
  work().catch((error) => {
    if (error.name !== "AbortError") failure.value = error.message;
  });

export const loadRuns = () =>
  quietly(async () => {
    runs.value = (await get("runs")).runs;
  });

/** @type {AbortController | null} */
let loading = null;

/** Everything about a run that all its pages need. @param {string} id */
function loadRun(id) {
  loading?.abort();
  const abort = (loading = new AbortController());
  return quietly(async () => {
    const path = `runs/${part(id)}`;
    await Promise.all([
      get(path, abort.signal).then((d) => {
        detail.value = d;
        heard.value = d.run.heard_ns / 1e6;
      }),
      get(`${path}/tape`, abort.signal).then((t) => {
        tape.value = t;
      }),
    ]);
  });
}

/** What each run logs: one more run on the charts is one more question. @type {Map<string, Promise<any>>} */
const lists = new Map();

/** @param {string} id */
function listOf(id) {
  const list = lists.get(id) ?? get(`runs/${part(id)}/names`);
  lists.set(id, list);
  list.catch(() => lists.delete(id));
  return list;
}

/** Names of every run on the charts, merged. @param {string[]} ids */
export const loadNames = (ids) =>
  quietly(async () => {
    const found = await Promise.all(ids.map(listOf));
    /** @type {Map<string, MetricInfo>} */
    const all = new Map();
    for (const { names: list, entries } of found)
      for (const m of list)
        if (!all.has(m.name))
          all.set(m.name, { ...m, ...(entries[m.entry] ?? { meaning: "", good: "context", also: [] }) });
    if (ids[0] !== view.value.run) return;
    coming.value = [...all.values()];
    await new Promise((done) => setTimeout(done)); // a request begins when the task that made it ends
    if (ids[0] === view.value.run) names.value = coming.value;
  });

const current = computed(() => view.value.run);
effect(() => {
  const id = current.value;
  untracked(() =>
    batch(() => {
      detail.value = null;
      tape.value = null;
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
  untracked(() => loadNames(ids.value.split("\n")));
});

const windowKey = computed(() =>
  JSON.stringify([view.value.x, view.value.range, view.value.from, view.value.smooth > 0]),
);
effect(() => {
  const [x, range, from, smooth] = JSON.parse(windowKey.value);
  window_.value = {
    x,
    lo: range?.[0] ?? null,
    hi: range?.[1] ?? null,
    from,
    points: 400,
    warm: smooth && range !== null,
  };
});

let waiting = 0;
let looked = 0;
/** Look again: now, but at most once in 400 ms. */
function soon() {
  if (!waiting) waiting = setTimeout(look, Math.max(0, looked + 400 - performance.now()));
}

function look() {
  [waiting, looked] = [0, performance.now()];
  const id = view.value.run;
  if (!id) {
    loadRuns();
    return;
  }
  refreshSeries();
  quietly(async () => {
    tape.value = await get(`runs/${part(id)}/tape`);
  });
  ticks.value++;
}
/** Somebody wrote something here: what all pages know of the run is asked for anew, at once. */
export function lookAgain() {
  const id = view.value.run;
  if (id)
    quietly(async () => {
      tape.value = await get(`runs/${part(id)}/tape`);
      ticks.value += 8;
    });
}

/** Grows when the run has new rows: pages that hold more than series look at it. */
export const ticks = signal(0);

listen((event) => {
  if (event.kind === "run") {
    const known = runs.value?.find((r) => r.id === event.run);
    if (known && event.state && event.state !== known.state) loadRuns(); // how long it took and why it ended are in the list
    if (runs.value)
      runs.value = runs.value.map((r) =>
        r.id === event.run
          ? { ...r, step: event.step ?? r.step, state: event.state || r.state, heard_ns: event.heard_ns }
          : r,
      );
    if (event.run === view.value.run) heard.value = event.heard_ns / 1e6;
    if (shown.value.includes(event.run) && event.tables.length) soon();
  }
  if (event.kind === "runs" || event.kind === "woke") {
    loadRuns();
    if (view.value.run) soon();
  }
});
/** How often the server has come back: what failed meanwhile is asked for again. */
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
      lookAgain();
      refreshSeries();
    });
});
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 1000);
/* The list of runs fills the rail: on a page of one run it lets the first ink pass. With several, their colours are in it. */
if (view.value.run && !view.value.runs.length)
  Promise.race([ink.promise, new Promise((done) => setTimeout(done, 500))]).then(loadRuns);
else loadRuns();

/* Between steps and the other clocks of a run: the tape carries pairs of readings, what lies between is interpolated. */

/** @param {number[]} from @param {number[]} to @param {number} v */
function between(from, to, v) {
  if (!from.length) return v;
  let [lo, hi] = [0, from.length - 1];
  if (v <= /** @type {number} */ (from[0])) return /** @type {number} */ (to[0]);
  if (v >= /** @type {number} */ (from[hi])) return /** @type {number} */ (to[hi]);
  while (hi - lo > 1) {
    const mid = (lo + hi) >> 1;
    if (/** @type {number} */ (from[mid]) <= v) lo = mid;
    else hi = mid;
  }
  const [a, b] = [/** @type {number} */ (from[lo]), /** @type {number} */ (from[hi])];
  const share = b > a ? (v - a) / (b - a) : 0;
  const [c, d] = [/** @type {number} */ (to[lo]), /** @type {number} */ (to[hi])];
  return c + share * (d - c);
}

/** @param {string} x @returns {[number[], number[]]} */
function pairs(x) {
  const clocks = tape.value?.clocks ?? {};
  const steps = clocks.step ?? [];
  const other = clocks[x] ?? [];
  /** @type {[number[], number[]]} */
  const out = [[], []];
  steps.forEach((s, i) => {
    const v = other[i];
    if (s !== null && v !== null && v !== undefined) {
      out[0].push(s);
      out[1].push(v);
    }
  });
  return out;
}

/** A place on the axis that is shown, as a step. @param {number} x */
export function toStepOf(x) {
  if (view.value.x === "step") return x;
  const [steps, other] = pairs(view.value.x);
  return between(other, steps, x);
}

/** A step as a place on the axis that is shown. @param {number} step */
export function toAxis(step) {
  if (view.value.x === "step") return step;
  const [steps, other] = pairs(view.value.x);
  return between(steps, other, step);
}
