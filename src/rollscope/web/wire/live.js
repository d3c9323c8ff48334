/** Live events, over one stream for all tabs of a browser. The tab that holds the lock listens and
 * tells the other tabs; a hidden tab releases the lock. Six streams would use up the browser's
 * connections to a host, and the seventh tab would not load. */

import { AT, ROOT } from "./api.js";

/** @typedef {{kind: "run", run: string, step: number | null, state: string, heard_ns: number,
 *   tables: string[]} | {kind: "runs"} | {kind: "project", kinds: string[]} | {kind: "hello",
 *   digest: string}} Event */

/** @type {Set<(event: any) => void>} */
const listeners = new Set();
const channel = new BroadcastChannel(`rollscope ${ROOT.pathname}`);
channel.onmessage = (message) => tell(message.data);
/** @type {(() => void) | null} */
let release = null;
/** This tab has every event up to this time, by the server's clock. */
let since = AT;

/** @param {any} event */
function tell(event) {
  since = event.at ?? since;
  for (const listener of listeners) listener(event);
}

/** Listen to events; returns the function that stops.
 * @param {(event: any) => void} listener @returns {() => void} */
export function listen(listener) {
  listeners.add(listener);
  if (listeners.size === 1) take();
  return () => {
    listeners.delete(listener);
    if (!listeners.size) release?.();
  };
}

/** Wait for the lock, then hold it and the stream until this tab is hidden or closed. */
function take() {
  if (document.hidden || release) return;
  const abort = new AbortController();
  release = () => abort.abort();
  const done = () => {
    release = null;
  };
  navigator.locks
    .request(`rollscope live ${ROOT.pathname}`, { signal: abort.signal }, () => hold(abort.signal))
    .then(done, done);
}

/** @param {AbortSignal} abort */
function hold(abort) {
  return new Promise((resolve) => {
    if (abort.aborted) return resolve(null);
    const source = new EventSource(new URL(`api/live${since ? `?since=${since}` : ""}`, ROOT));
    document.documentElement.dataset.stream = "mine";
    source.onmessage = (message) => {
      const event = { ...JSON.parse(message.data), at: message.lastEventId };
      tell(event);
      channel.postMessage(event);
    };
    const close = () => {
      source.close();
      delete document.documentElement.dataset.stream;
      resolve(null);
    };
    release = close;
    abort.addEventListener("abort", close);
  });
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) release?.();
  else if (listeners.size) {
    take();
    tell({ kind: "woke" });
  }
});
