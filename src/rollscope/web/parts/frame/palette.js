/** The palette: one search for pages, runs, metrics, findings, steps and actions. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { score } from "../../base/text/ranking.js";
import { count, value } from "../../base/text/format.js";
import { PAGES } from "../../base/text/url.js";
import { bound } from "../../keys.js";
import { findings, go, href, lastStep, loadNames, names, pageOf, runs, view, visit } from "../../state.js";
import { ROOT, part } from "../../wire/api.js";
import { html } from "../html.js";
import { useFound } from "../use-found.js";
import { closeBeside, closeOverlay } from "./overlay.js";

/** @typedef {{kind: string, text: string, more: string, also?: string[], act: () => void}} Item */

const MOST = 40; // items that are listed

/** All items. @returns {Item[]} */
function everything() {
  const id = view.value.run;
  /** @type {Item[]} */
  const items = [{ kind: "page", text: "Runs", more: "g l", act: () => visit(ROOT.href) }];
  if (id)
    for (const [page, title, key] of PAGES)
      items.push({ kind: "page", text: title, more: `g ${key}`, act: () => visit(pageOf(id, page)) });
  else items.push({ kind: "page", text: "Glossary", more: "g w", act: () => visit(new URL("glossary", ROOT).href) });
  for (const f of findings.value)
    items.push({
      kind: "finding",
      text: f.claim,
      more: `step ${count(f.step)}`,
      act: () => go({ step: f.step, open: `finding:${f.rule}@${f.step}` }),
    });
  for (const r of runs.value ?? [])
    items.push({ kind: "run", text: r.name || r.id, more: r.project, act: () => visit(pageOf(r.id, "overview")) });
  for (const m of names.value ?? [])
    items.push({
      kind: "metric",
      text: m.name,
      more: m.title || value(1, m.unit).unit,
      also: m.also,
      act: () => visit(href({ page: "metrics", q: m.name, open: "" })),
    });
  for (const k of bound())
    if (!k.keys[0]?.startsWith("g ") && k.keys[0] !== "ctrl+k")
      items.push({
        kind: "action",
        text: k.says,
        more: k.keys[0] ?? "",
        act: () => k.run(new KeyboardEvent("keydown")),
      });
  return items;
}

/** How well a framework's name fits: in full as well as our own, in part a little less.
 * @param {string} name @param {string} query */
const alias = (name, query) => score(name, query) - (name === query.trim() ? 1 : 300);

/** Items that fit the query, best first; a number is a step.
 * @param {Item[]} items @param {string} query */
function ranked(items, query) {
  const at = Number(query);
  /** @type {Item[]} */
  const steps =
    query.trim() && Number.isInteger(at) && at >= 0 && at <= lastStep.value && view.value.run
      ? [{ kind: "step", text: `Go to step ${count(at)}`, more: "", act: () => go({ step: at }, "replace") }]
      : [];
  const fitting = items
    .map((item) => ({ item, fit: Math.max(score(item.text, query), ...(item.also ?? []).map((a) => alias(a, query))) }))
    .filter((r) => !query || r.fit >= 0)
    .sort((a, b) => b.fit - a.fit)
    .map((r) => r.item);
  return [...steps, ...fitting];
}

/** The metric that a name means if the run logged it under another one. @param {any} asked
 * @returns {Item[]} */
function meant(asked) {
  const found = (asked?.found ?? []).filter((/** @type {any} */ one) => one.stored !== one.asked);
  return found.map((/** @type {any} */ one) => ({
    kind: "metric",
    text: one.asked,
    more: one.stored,
    act: () => visit(href({ page: "metrics", q: one.asked, open: "" })),
  }));
}

export function Palette() {
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const box = useRef(/** @type {HTMLInputElement | null} */ (null));
  const items = useMemo(everything, [names.value, runs.value, findings.value]);
  const asked = useFound(view.value.run ? `runs/${part(view.value.run)}/find` : "", query);
  const list = useMemo(() => [...meant(asked), ...ranked(items, query)].slice(0, MOST), [items, query, asked]);
  useLayoutEffect(() => {
    box.current?.focus();
  }, []); // before the next key press
  useEffect(() => {
    if (!names.value && view.value.run) loadNames();
  }, []);
  const choose = (/** @type {Item | undefined} */ item) => {
    closeOverlay();
    item?.act();
  };
  const key = (/** @type {KeyboardEvent} */ e) => {
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      e.preventDefault();
      setAt((at + (e.key === "ArrowDown" ? 1 : list.length - 1)) % Math.max(1, list.length));
    }
    if (e.key === "Enter") {
      e.preventDefault();
      choose(list[at]);
    }
    if (e.key === "Escape") {
      e.preventDefault();
      e.stopPropagation();
      closeOverlay();
    }
  };
  return html`
    <div class="veil" onPointerDown=${closeBeside}>
      <div class="palette" role="dialog" aria-label="Search everything">
        <input
          ref=${box}
          value=${query}
          placeholder="Search pages, runs, metrics by any framework's name, findings, steps"
          aria-label="Search everything"
          spellcheck=${false}
          autocomplete="off"
          onInput=${(/** @type {any} */ e) => {
            setQuery(e.target.value);
            setAt(0);
          }}
          onKeyDown=${key} />
        ${
          list.length
            ? html`
                <ul role="listbox">
                  ${list.map(
                    (item, i) => html`
                      <li
                        role="option"
                        aria-selected=${String(i === at)}
                        onPointerMove=${() => setAt(i)}
                        onClick=${() => choose(item)}>
                        <span class="kind">${item.kind}</span>
                        <span class="cut">${item.text}</span>
                        <span class="more cut">${item.more}</span>
                      </li>
                    `,
                  )}
                </ul>
              `
            : html`
                <p class="none">Nothing has a name like this.</p>
              `
        }
      </div>
    </div>
  `;
}
