/** Metrics: a card for every metric, by section and group. All cards share the cursor and the
 * range, and a screen of cards is one request. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { effect, untracked, useComputed } from "@preact/signals";
import { count } from "../base/text/format.js";
import { arranged } from "../base/text/metric-names.js";
import { bind } from "../keys.js";
import { CardSection, FIRST, countCards, lazy } from "../parts/cards/card-section.js";
import { pin } from "../parts/cards/chart-card.js";
import { Toolbar } from "../parts/cards/toolbar.js";
import { Status } from "../parts/controls.js";
import { h, html } from "../parts/html.js";
import { pins } from "../prefs.js";
import { coming, drawnOrLate, failure, findings, firstDrawing, go, names, view, watch } from "../state.js";
import { get, part } from "../wire/api.js";
import { ahead } from "../wire/series.js";

/** @typedef {import("../state.js").MetricInfo} MetricInfo */
/** @typedef {import("../parts/cards/card-section.js").Section} Section */

const NOTHING = /** @type {Set<string>} */ (new Set());

/** Metrics pinned by the link or in this browser. */
const pinned = () => [...new Set([...view.value.pin, ...pins.value])];

const SCREEN = 12; // metrics that are requested before any card is rendered
effect(() => {
  const all = coming.value;
  untracked(() => {
    if (all && view.value.page === "metrics" && !view.value.section && !view.value.board)
      ahead(
        arranged(all, { q: view.value.q, pinned: pinned(), still: NOTHING, watch: watch.value })
          .flatMap((s) => s.groups.flatMap((g) => g.metrics.map((m) => m.name)))
          .slice(0, SCREEN),
      );
  });
});

export function Page() {
  const all = names.value;
  const q = useComputed(() => view.value.q).value;
  const large = useComputed(() => view.value.large).value;
  const table = useComputed(() => view.value.table).value;
  const [columns, setColumns] = useState(3);
  const body = useRef(/** @type {HTMLDivElement | null} */ (null));
  const top = useComputed(() => pinned().join("\n")).value;
  const run = useComputed(() => view.value.run).value;
  const board = useComputed(() => view.value.board).value;
  const still = useStill(run, useComputed(() => view.value.show === "moving").value);
  const asked = useAsked(run, q, all);
  const list = useMemo(
    () =>
      all
        ? [
            ...asked.sections,
            ...arranged(all, { q, pinned: top.split("\n").filter(Boolean), still, watch: watch.value }),
          ]
        : [],
    [all, q, top, still, asked],
  );
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => {
      if (entry) setColumns(Math.max(1, Math.floor((entry.contentRect.width + 12) / 332)));
    });
    if (body.current) watch.observe(body.current);
    return () => watch.disconnect();
  }, [all !== null]);
  useLayoutEffect(() => bind(cardKeys()), []);
  const complete = useFirstDrawing() || Boolean(view.value.section);
  useEffect(() => {
    if (view.value.section) document.getElementById(`s-${view.value.section}`)?.scrollIntoView();
  }, [all !== null, complete]);
  if (!all)
    return failure.value
      ? html`
          <p class="bare-page">${failure.value}</p>
        `
      : null;
  if (!all.length)
    return html`
      <div class="bare-page">
        <h1>No metrics yet</h1>
        <p class="ink2">
          Record one with ${" "}
          <code>run.log({"reward/mean": 0.3}, step=0)</code>
          .
        </p>
      </div>
    `;
  const shownCount = list.reduce((n, s) => n + (["pinned", "watched"].includes(s.section) ? 0 : counted(s)), 0);
  return html`
    ${board ? null : h(Toolbar, { found: shownCount, total: all.length })}
    <div class="metrics">
      ${h(Index, { list, complete, still: still.size })}
      ${
        board
          ? html`
              <div>${h(LazyBoard, { name: board, watch: watch.value, key: board })}</div>
            `
          : null
      }
      <div ref=${body} hidden=${Boolean(board)}>
        ${(board ? [] : complete ? list : firstSections(list)).map((s, i) =>
          h(CardSection, { s, columns, large, start: countCards(list.slice(0, i)), key: s.section }),
        )}${
          shownCount || board
            ? null
            : html`
                <p class="bare-page ink3">No metric of this run fits “${q}”, by any framework's name. ${asked.says}</p>
              `
        }
      </div>
    </div>
    ${table ? h(LazyTable, { name: table }) : null}
  `;
}

/** Metrics of a section, with those that are folded into others. @param {Section} s */
const counted = (s) => s.groups.reduce((n, g) => n + g.metrics.reduce((k, m) => k + 1 + (m.folded?.length ?? 0), 0), 0);

/** Names of the run that are constant or empty, if they are to be left out.
 * @param {string} run @param {boolean} on */
function useStill(run, on) {
  const [still, setStill] = useState(NOTHING);
  useEffect(() => {
    if (!on) return setStill(NOTHING);
    const abort = new AbortController();
    get(`runs/${part(run)}/still`, abort.signal).then(
      (answer) => setStill(new Set(answer.names)),
      () => {},
    );
    return () => abort.abort();
  }, [run, on]);
  return still;
}

/** The boards, then the sections with their counts. Scrolling marks the section in view without
 * rendering.
 * @param {{list: Section[], complete: boolean, still: number}} props */
function Index({ list, complete, still }) {
  const host = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    const nav = /** @type {HTMLElement} */ (host.current);
    let later = 0;
    const mark = (/** @type {string} */ section) => {
      nav.querySelector("[aria-current]")?.removeAttribute("aria-current");
      const now = /** @type {HTMLElement | null} */ (nav.querySelector(`[data-section="${CSS.escape(section)}"]`));
      now?.setAttribute("aria-current", "true");
      clearTimeout(later);
      later = setTimeout(() => now && reveal(nav, now), REST);
    };
    const watch = new IntersectionObserver(
      (entries) => {
        for (const entry of entries) if (entry.isIntersecting) mark(entry.target.id.slice(2));
      },
      { root: nav.closest(".page"), rootMargin: "0px 0px -85% 0px" },
    );
    for (const s of list) {
      const section = document.getElementById(`s-${s.section}`);
      if (section) watch.observe(section);
    }
    return () => {
      clearTimeout(later);
      watch.disconnect();
    };
  }, [list, complete]);
  const open = (/** @type {string} */ section) => {
    go({ section, board: "" }, view.value.board ? "push" : "replace");
    document.getElementById(`s-${section}`)?.scrollIntoView();
  };
  return html`
    <nav class="index" aria-label="Boards and sections" ref=${host}>
      ${h(LazyBoardList, {})}
      <h3>All metrics</h3>
      <button
        type="button"
        class="quiet"
        aria-pressed=${String(view.value.show === "moving")}
        title="Leave out metrics that are constant or empty"
        onClick=${() => go({ show: view.value.show === "moving" ? "" : "moving" }, "replace")}>
        ${still ? `${count(still)} constant hidden` : "hide constant"}
      </button>
      ${list.map(
        (s) => html`
          <button type="button" data-section=${s.section} onClick=${() => open(s.section)}>
            <span class="cut">${s.title}</span>
            ${worst(s) ? h(Status, { is: worst(s) }) : null}
            <span class="n">${count(s.count)}</span>
          </button>
        `,
      )}
    </nav>
  `;
}

/** Milliseconds after the last scroll. Measuring earlier would force a layout while scrolling. */
const REST = 150;

/** Scroll only the index to an item. @param {HTMLElement} nav @param {HTMLElement} item */
function reveal(nav, item) {
  nav.scrollTop = Math.max(
    item.offsetTop + item.offsetHeight - nav.clientHeight,
    Math.min(nav.scrollTop, item.offsetTop),
  );
}

/** The highest severity of findings about a metric of the section. @param {Section} s */
function worst(s) {
  const mine = findings.value.filter((f) => s.groups.some((g) => g.metrics.some((x) => x.name === f.metrics[0])));
  return mine.some((f) => f.severity === "bad") ? "bad" : mine.some((f) => f.severity === "watch") ? "watch" : "";
}

/** The sections that the first cards are in. @param {Section[]} list */
const firstSections = (list) => list.filter((_, i) => countCards(list.slice(0, i)) < FIRST);

/** True after the first drawing, or 400 ms. A thousand metrics have many sections, and the first
 * chart must not wait for them. */
function useFirstDrawing() {
  const [drawn, setDrawn] = useState(false);
  useEffect(() => {
    const late = setTimeout(() => setDrawn(true), LATE);
    firstDrawing.promise.then(() => setTimeout(() => setDrawn(true)));
    return () => clearTimeout(late);
  }, []);
  return drawn;
}

const LATE = 400; // ms

const LazyBoardList = lazy(() => import("../boards/list.js").then((m) => m.BoardList));
const loadBoard = () => import("../boards/board.js").then((m) => m.BoardView);
const LazyBoard = lazy(loadBoard, 0);
if (view.peek().board) loadBoard(); // while the names are on their way
const LazyTable = lazy(() => import("../parts/cards/metric-table.js").then((m) => m.MetricTable));

/** Keys for the cards: j and k move, the others act on the card at the cursor. */
function cardKeys() {
  /** @returns {HTMLElement[]} */
  const cards = () => [...document.querySelectorAll(".card.chart")].map((c) => /** @type {HTMLElement} */ (c));
  const here = () => document.querySelector(".card.chart.at") ?? document.querySelector(".card.chart:hover");
  const name = () => here()?.getAttribute("data-metric") ?? "";
  const walk = (/** @type {number} */ by) => {
    const list = cards();
    const now = list.findIndex((c) => c.classList.contains("at"));
    list[now]?.classList.remove("at");
    const next = list[Math.max(0, Math.min(list.length - 1, now + by))];
    next?.classList.add("at");
    next?.dispatchEvent(new PointerEvent("pointerenter")); // shows its tools
    next?.scrollIntoView({ block: "nearest" });
  };
  return [
    { keys: ["j"], says: "next card", run: () => walk(1) },
    { keys: ["k"], says: "previous card", run: () => walk(-1) },
    {
      keys: ["Enter"],
      says: "open the point at the step",
      run: () => {
        if (name()) go({ open: `point:${name()}` });
      },
    },
    {
      keys: ["p"],
      says: "pin",
      run: () => {
        if (name()) pin(name());
      },
    },
    { keys: ["e"], says: "enlarge", run: () => go({ large: view.value.large === name() ? "" : name() }) },
    {
      keys: ["t"],
      says: "show as a table",
      run: () => {
        if (name()) go({ table: name() });
      },
    },
  ];
}

const UNASKED = { q: "", sections: /** @type {Section[]} */ ([]), says: "" };

/** What a typed name means in this run, if the run logged it under another one.
 * @param {string} run @param {string} q @param {MetricInfo[] | null} all */
function useAsked(run, q, all) {
  const [asked, setAsked] = useState(UNASKED);
  useEffect(() => {
    if (!q || !all) return undefined;
    const abort = new AbortController();
    drawnOrLate()
      .then(() => import("../parts/cards/asked-section.js"))
      .then((m) => m.meant(run, q, all, abort.signal))
      .then((found) => setAsked({ q, ...found }))
      .catch(() => {}); // the search by words still stands
    return () => abort.abort();
  }, [run, q, all]);
  return asked.q === q ? asked : UNASKED;
}
