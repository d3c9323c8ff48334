/** A list in which only the rows in view are elements. All rows have the same height, which gives
 * their positions. */

import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "../parts/html.js";

/** `seen` is called with the range of rows that are elements.
 * @param {{count: number, row: number, at: number, render: (index: number) => any,
 *   seen?: (first: number, last: number) => void, label: string, id?: string}} props */
export function WindowedList({ count, row, at, render, seen, label, id }) {
  const host = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(800);
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => {
      if (entry) setHeight(entry.contentRect.height);
    });
    if (host.current) watch.observe(host.current);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    const box = host.current;
    if (!box || at < 0) return;
    if (at * row < box.scrollTop) box.scrollTop = at * row;
    else if ((at + 1) * row > box.scrollTop + box.clientHeight) box.scrollTop = (at + 1) * row - box.clientHeight;
  }, [at, count]);
  const first = Math.max(0, Math.min(Math.floor(top / row) - 3, count - 1));
  const last = Math.min(count, first + Math.ceil(height / row) + 7);
  useEffect(() => seen?.(first, last), [first, last, count, seen]);
  const rows = [];
  for (let i = first; i < last; i++) rows.push(render(i));
  return html`
    <div
      class="windowed"
      ref=${host}
      role="listbox"
      aria-label=${label}
      id=${id}
      data-count=${count}
      onScroll=${(/** @type {any} */ e) => setTop(e.target.scrollTop)}>
      <div class="all" style=${{ height: `${count * row}px` }}>
        <div class="some" style=${{ transform: `translateY(${first * row}px)` }}>${rows}</div>
      </div>
    </div>
  `;
}
