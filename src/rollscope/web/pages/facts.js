/** Facts: what differs from the run before, the whole configuration, code, packages, command and
 * host. */

import { useState } from "preact/hooks";
import { fitting, nodes, setting, written } from "../base/text/config-tree.js";
import { plural } from "../base/text/format.js";
import { IconButton } from "../parts/controls.js";
import { Difference } from "../parts/difference.js";
import { say } from "../parts/frame/overlay.js";
import { h, html } from "../parts/html.js";
import { detail, go, view } from "../state.js";

/** @typedef {import("../base/text/config-tree.js").Node} Node */

export function Page() {
  const d = detail.value;
  const { q } = view.value;
  if (!d) return null;
  const { git, packages, command, ...rest } = d.environment;
  const machine = { ...(command ? { command: shellWords(command) } : {}), ...rest };
  return html`
    <div class="runs-head">
      <input
        class="field"
        data-search
        value=${q}
        placeholder="Search settings, packages, host"
        aria-label="Search facts"
        spellcheck=${false}
        onInput=${(/** @type {any} */ e) => go({ q: e.target.value }, "replace")} />
    </div>
    <div class="facts-page">
      ${h(Difference, { most: Infinity })}
      ${h(Block, { title: "Configuration", value: d.config, q, none: "None was recorded." })} ${h(Code, { git, q })}
      ${h(Block, { title: "Command and host", value: machine, q, none: "None was recorded." })}
      ${h(Block, { title: "Packages", value: packages ?? {}, q, none: "None were recorded." })}
      ${h(Block, { title: "Declared", value: d.declared, q, none: "Nothing was declared." })}
    </div>
  `;
}

/** @param {{title: string, value: any, q: string, none: string}} props */
function Block({ title, value, q, none }) {
  const all = nodes(value);
  const list = fitting(all, q);
  if (q && !list.length) return null;
  const act = () => copy(JSON.stringify(value, null, 2));
  return html`
    <section class="card block" data-block=${title}>
      <h2>
        ${title}
        ${all.length ? h(IconButton, { icon: "copy", label: `Copy ${title.toLowerCase()} as JSON`, act }) : null}
      </h2>
      ${
        all.length
          ? html`
              <ul class="tree">
                ${list.map((node) => h(Branch, { node, open: Boolean(q) || all.length < 40, key: node.path }))}
              </ul>
            `
          : html`
              <p class="read">${none}</p>
            `
      }
    </section>
  `;
}

/** @param {{node: Node, open: boolean}} props */
function Branch({ node, open }) {
  const [mine, setMine] = useState(/** @type {boolean | null} */ (null));
  const shown = mine ?? open;
  if (!node.children)
    return html`
      <li class="leaf">
        <span class="ink3">${node.key}</span>
        <button type="button" class="value" title="Copy" onClick=${() => copy(written(node.value))}>
          ${setting(node.value)}
        </button>
      </li>
    `;
  return html`
    <li>
      <button type="button" class="branch" aria-expanded=${String(shown)} onClick=${() => setMine(!shown)}>
        ${shown ? "▾" : "▸"} ${node.key} ${" "}
        <span class="ink3">${plural(node.children.length, "entry", "entries")}</span>
      </button>
      ${
        shown
          ? html`
              <ul class="tree">
                ${node.children.map((child) => h(Branch, { node: child, open, key: child.path }))}
              </ul>
            `
          : null
      }
    </li>
  `;
}

/** @param {{git: any, q: string}} props */
function Code({ git, q }) {
  if (!git || typeof git !== "object" || q) return null;
  const { diff, changed, ...rest } = git;
  return html`
    <section class="card block" data-block="Code">
      <h2>Code</h2>
      <ul class="tree">
        ${nodes(rest).map((node) => h(Branch, { node, open: true, key: node.path }))}
      </ul>
      ${
        Array.isArray(changed) && changed.length
          ? html`
              <h3>${plural(changed.length, "changed file")}</h3>
              <pre class="model">${changed.join("\n")}</pre>
            `
          : null
      }
      ${
        typeof diff === "string" && diff
          ? html`
              <h3>Difference to the commit</h3>
              <pre class="diff">
                ${diff.split("\n").map(
                  (line) => html`
                    <span class=${line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : ""}>
                      ${`${line}\n`}
                    </span>
                  `,
                )}
              </pre>
            `
          : null
      }
    </section>
  `;
}

/** A command as one would type it. @param {any} command */
const shellWords = (command) =>
  Array.isArray(command)
    ? command
        .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${String(word).replaceAll("'", `'\\''`)}'`))
        .join(" ")
    : command;

/** @param {string} words */
const copy = (words) =>
  navigator.clipboard?.writeText(words).then(
    () => say("Copied"),
    () => say("The browser did not allow copying"),
  );
