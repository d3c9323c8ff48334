/** Metrics: every metric by section and group. One cursor, one range, one request for a screen. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { effect, untracked, useComputed } from "@preact/signals";
import { count, plural } from "../base/text/format.js";
import { find, heading, tree } from "../base/text/metric-names.js";
import { bind } from "../keys.js";
import { pins } from "../prefs.js";
import { coming, failure, findings, go, ink, names, view } from "../state.js";
import { MetricCard, pin } from "../parts/cards/chart-card.js";
import { h, html } from "../parts/html.js";
import { Status } from "../parts/controls.js";
import { Toolbar } from "../parts/cards/toolbar.js";
import { ahead } from "../wire/series.js";

/** @typedef {import("../state.js").MetricInfo} MetricInfo */
/** @typedef {{section: string, title: string, groups: {group: string, metrics: MetricInfo[]}[], count: number}} Section */
/** @typedef {{info: MetricInfo, heat: boolean}} Cell (a metric's chart, or beside it its distribution) */

/** @param {MetricInfo[]} all @param {string} q @param {string[]} pinned @returns {Section[]} */
function sections(all, q, pinned) {
  const found = find(all, q);
  const out = tree(found).map((s) => ({ ...s, title: heading(s.section) }));
  const top = pinned.map((name) => all.find((m) => m.name === name)).filter((m) => m !== undefined);
  return top.length && !q
    ? [
        {
          section: "pinned",
          title: "Pinned",
          groups: [{ group: "", metrics: /** @type {MetricInfo[]} */ (top) }],
          count: top.length,
        },
        ...out,
      ]
    : out;
}

/** Pinned here and by the link. */
const pinned = () => [...new Set([...view.value.pin, ...pins.value])];

const SCREEN = 12; // cards that are asked for before any is made
const FIRST = 18; // cards that are made for the first ink, and the sections they are in
effect(() => {
  const all = coming.value;
  untracked(() => {
    if (all && view.value.page === "metrics" && !view.value.section)
      ahead(
        sections(all, view.value.q, pinned())
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
  const list = useMemo(() => (all ? sections(all, q, top.split("\n").filter(Boolean)) : []), [all, q, top]);
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => {
      if (entry) setColumns(Math.max(1, Math.floor((entry.contentRect.width + 12) / 332)));
    });
    if (body.current) watch.observe(body.current);
    return () => watch.disconnect();
  }, [all !== null]);
  useLayoutEffect(() => bind(cardKeys()), []);
  const whole = useInked() || Boolean(view.value.section);
  useEffect(() => {
    if (view.value.section) document.getElementById(`s-${view.value.section}`)?.scrollIntoView();
  }, [all !== null]);
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
          <code>run.log({"reward/mean": 0.3}, step=0)</code>
          ${" "} draws this page.
        </p>
      </div>
    `;
  const shownCount = list.reduce((n, s) => n + (s.section === "pinned" ? 0 : s.count), 0);
  return html`
    ${h(Toolbar, { shown: shownCount, total: all.length })}
    <div class="metrics">
      ${h(Index, { list, whole })}
      <div ref=${body}>
        ${(whole ? list : opening(list)).map((s, i) => h(SectionPart, { s, columns, large, start: cards(list.slice(0, i)), key: s.section }))}${
          shownCount
            ? null
            : html`
                <p class="bare-page ink3">No metric of this run fits “${q}”, under any framework's name for it.</p>
              `
        }
      </div>
    </div>
    ${table ? h(LazyTable, { name: table }) : null}
  `;
}

/** The sections with their counts. The one at the top of the view is marked, by hand: nothing is rendered while one scrolls.
 * @param {{list: Section[], whole: boolean}} props */
function Index({ list, whole }) {
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
  }, [list, whole]);
  const open = (/** @type {string} */ section) => {
    go({ section }, "replace");
    document.getElementById(`s-${section}`)?.scrollIntoView();
  };
  return html`
    <nav class="index" aria-label="Sections" ref=${host}>
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

const REST = 150; // ms without another section: asking where things lie would lay the page out while it scrolls

/** Scroll the index, and only it. @param {HTMLElement} nav @param {HTMLElement} item */
function reveal(nav, item) {
  nav.scrollTop = Math.max(
    item.offsetTop + item.offsetHeight - nav.clientHeight,
    Math.min(nav.scrollTop, item.offsetTop),
  );
}

/** The gravest finding about a metric of the section. @param {Section} s */
function worst(s) {
  const mine = findings.value.filter((f) => s.groups.some((g) => g.metrics.some((x) => x.name === f.metrics[0])));
  return mine.some((f) => f.severity === "bad") ? "bad" : mine.some((f) => f.severity === "watch") ? "watch" : "";
}

/** @param {{s: Section, columns: number, large: string, start: number}} props (`start`: the cards before it) */
function SectionPart({ s, columns, large, start }) {
  return html`
    <section class="section" id=${`s-${s.section}`}>
      <h2>
        ${s.title}
        <span class="n">${plural(s.count, "metric")}</span>
      </h2>
      ${s.groups.map(
        (g, gi) => html`
          ${
            g.group || gi
              ? html`
                  <h3>${heading(g.group || "others")}</h3>
                `
              : null
          }${blocks(g.metrics, columns).map((block, b, all) => h(Block, { block, columns, large, labelled: gi === s.groups.length - 1 && b === all.length - 1, section: s.section, first: start + cards(s.groups.slice(0, gi)) + b * ROWS * columns < FIRST, key: block[0]?.info.name }))}
        `,
      )}
    </section>
  `;
}

/** How many cards these sections or groups have. @param {{count?: number, metrics?: MetricInfo[]}[]} parts */
const cards = (parts) => parts.reduce((n, p) => n + (p.count ?? p.metrics?.length ?? 0), 0);

/** The sections that the first cards are in. @param {Section[]} list */
const opening = (list) => list.filter((_, i) => cards(list.slice(0, i)) < FIRST);

/** True once there is ink: a thousand metrics have hundreds of places, and the first chart must not wait for them. */
function useInked() {
  const [inked, setInked] = useState(false);
  useEffect(() => {
    const late = setTimeout(() => setInked(true), LATE);
    ink.promise.then(() => setTimeout(() => setInked(true)));
    return () => clearTimeout(late);
  }, []);
  return inked;
}

const LATE = 400; // ms
const ROWS = 2; // of cards that are made at once: more would take longer than a frame

/** Whole rows of cards. @param {MetricInfo[]} metrics @param {number} columns @returns {Cell[][]} */
function blocks(metrics, columns) {
  const size = ROWS * columns;
  const cells = metrics.flatMap((info) => (info.heat ? [false, true] : [false]).map((heat) => ({ info, heat })));
  return Array.from({ length: Math.ceil(cells.length / size) }, (_, i) => cells.slice(i * size, (i + 1) * size));
}

/** Cards that become elements when the view comes near: a thousand at once would hold up the first ink. @param {{block: Cell[], columns: number, large: string, labelled: boolean, section: string, first: boolean}} props */
function Block({ block, columns, large, labelled, section, first }) {
  const host = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [near, setNear] = useState(first);
  useEffect(() => {
    if (first) return;
    const watch = new IntersectionObserver(
      ([entry]) => {
        if (entry?.isIntersecting) {
          setNear(true);
          watch.disconnect();
        }
      },
      { root: host.current?.closest(".page") ?? null, rootMargin: "1800px" },
    );
    const soon = setTimeout(() => {
      if (host.current) watch.observe(host.current);
    }, 120); // after the first ink
    return () => {
      clearTimeout(soon);
      watch.disconnect();
    };
  }, []);
  if (!near)
    return html`
      <div class="cards coming" ref=${host} style=${{ height: `${Math.ceil(block.length / columns) * 192}px` }}></div>
    `;
  return html`
    <div class="cards" ref=${host}>
      ${block.map(({ info, heat }, i) => {
        const xLabels = labelled && i >= Math.floor((block.length - 1) / columns) * columns;
        return heat
          ? h(LazyHeat, { info, xLabels, key: `heat ${section} ${info.name}` })
          : h(MetricCard, {
              info,
              xLabels,
              large: large === info.name,
              full: section === "pinned",
              key: `${section} ${info.name}`,
            });
      })}
    </div>
  `;
}

/** Loaded when first shown, so that the first ink does not wait for it. @param {() => Promise<any>} load */
function lazy(load) {
  /** @type {any} */
  let known = null;
  return (/** @type {any} */ props) => {
    const [part, setPart] = useState(() => known);
    useEffect(() => {
      if (!known)
        setTimeout(
          () =>
            load().then((found) => {
              known = found;
              setPart(() => found);
            }),
          80,
        );
    }, []);
    return part ? h(part, props) : null;
  };
}
const LazyHeat = lazy(() => import("../parts/cards/heat-card.js").then((m) => m.HeatCard));
const LazyTable = lazy(() => import("../parts/cards/metric-table.js").then((m) => m.MetricTable));

/** j and k walk the cards; the rest acts on the one reached. */
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
    next?.dispatchEvent(new PointerEvent("pointerenter")); // its tools are shown
    next?.scrollIntoView({ block: "nearest" });
  };
  return [
    { keys: ["j"], says: "next card", run: () => walk(1) },
    { keys: ["k"], says: "previous card", run: () => walk(-1) },
    {
      keys: ["Enter"],
      says: "open the card's point",
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
    { keys: ["e"], says: "large", run: () => go({ large: view.value.large === name() ? "" : name() }) },
    {
      keys: ["t"],
      says: "as a table",
      run: () => {
        if (name()) go({ table: name() });
      },
    },
  ];
}
