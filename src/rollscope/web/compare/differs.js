/** What differs between groups: settings, packages, code and hardware. Equal ones are counted. */

import { number, plural } from "../base/text/format.js";
import { h, html } from "../parts/html.js";
import { Letter } from "./card.js";

/** @typedef {import("../wire/types.gen").ComparisonShape} ComparisonShape */

const MOST_FILES = 6;
const [NAMES, VALUE] = [144, 110]; // pixels of the columns: more groups than fit are scrolled to

/** @param {{found: ComparisonShape, colors: string[]}} props */
export function Differs({ found, colors }) {
  const rows = found.differs;
  return html`
    <section class="card what-differs">
      <h2>What differs</h2>
      ${
        rows.length
          ? html`
              <table class="table" style=${{ minWidth: `${NAMES + VALUE * found.groups.length}px` }}>
                <thead>
                  <tr>
                    <th></th>
                    <th></th>
                    ${found.groups.map(
                      (g, i) => html`
                        <th>
                          ${h(Letter, { letter: g.letter, color: colors[i] ?? "" })}${" "}
                          <span class="model">${g.name}</span>
                        </th>
                      `,
                    )}
                  </tr>
                </thead>
                <tbody>
                  ${rows.map(
                    (d, i) => html`
                      <tr>
                        <td class="ink3">${d.kind === rows[i - 1]?.kind ? "" : d.kind}</td>
                        <td class="mono">${broken(d.key)}</td>
                        ${d.values.map(
                          (v) => html`
                            <td class="mono model">${shown(v)}</td>
                          `,
                        )}
                      </tr>
                    `,
                  )}
                </tbody>
              </table>
            `
          : html`
              <p class="ink2">Nothing but seeds and places of files.</p>
            `
      }
      <p class="ink3 n">${h(Files, { files: found.files })}${equal(found.equal)}</p>
    </section>
  `;
}

/** Files that were changed and not committed, in any group. @param {{files: string[]}} props */
function Files({ files }) {
  if (!files.length) return null;
  const names = files.map((f) => f.split("/").at(-1) ?? f);
  const more = names.length > MOST_FILES ? ` and ${names.length - MOST_FILES} more` : "";
  return html`
    <span title=${files.join("\n")}>
      ${plural(files.length, "file")} changed since the commits: ${names.slice(0, MOST_FILES).join(", ")}${more}.${" "}
    </span>
  `;
}

/** @param {Record<string, number>} counts */
function equal(counts) {
  const parts = ["setting", "package"].filter((k) => counts[k]).map((k) => plural(counts[k] ?? 0, k));
  return parts.length ? `${parts.join(" and ")} are equal.` : "";
}

/** A name that may be broken between its parts. @param {string} key */
const broken = (key) => key.split(/(?<=[._/])/).flatMap((word) => [word, h("wbr", {})]);

/** @param {any} v */
const shown = (v) =>
  v === null ? "–" : typeof v === "boolean" ? (v ? "on" : "off") : typeof v === "number" ? number(v, 6) : String(v);
