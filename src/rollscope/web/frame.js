/** The sandboxed frame: a worker without network turns its input into HTML, and the frame shows it.
 *
 * The frame has no origin of its own and its policy allows no request and no inline script, so
 * what is drawn can neither reach the server nor run. The worker is stopped after a time limit,
 * which begins when its code is read, and again when it draws: a busy machine starts it late.
 * The page sends `{job, sources, input, seconds, dark}`: `sources` are modules by name, of which
 * `draw` exports `draw(input, modules)`. The frame answers `{job, height}` or `{job, error}`. */

const LARGEST = 4_000_000; // characters of HTML
const WORK = `
onmessage = async ({ data: { sources, input } }) => {
  try {
    postMessage({ begun: "reading" });
    const modules = {};
    for (const [name, text] of Object.entries(sources))
      modules[name] = await import(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
    postMessage({ begun: "drawing" });
    const html = await modules.draw.draw(input, modules);
    if (typeof html !== "string") throw new Error("draw() returned no text of HTML");
    postMessage({ html });
  } catch (error) {
    postMessage({ error: String(error) });
  }
};`;

/** @param {any} ask @returns {Promise<{html?: string, error?: string}>} */
function work({ sources, input, seconds }) {
  const url = URL.createObjectURL(new Blob([WORK], { type: "text/javascript" }));
  const worker = new Worker(url); // a module worker cannot be read without an origin
  return new Promise((done) => {
    let [limit, begun] = [0, 0];
    const late = () => done({ error: `it did not finish within ${seconds} s` });
    worker.onmessage = ({ data }) => {
      clearTimeout(limit);
      if (data.begun && begun++ < 2) limit = setTimeout(late, seconds * 1000);
      else done(data);
    };
    worker.onerror = (event) => done({ error: event.message || "its code cannot be read" });
    worker.postMessage({ sources, input });
  }).finally(() => worker.terminate());
}

addEventListener("message", async (event) => {
  if (event.source !== parent || !event.data?.sources) return;
  const { job, dark } = event.data;
  document.documentElement.style.colorScheme = dark ? "dark" : "light";
  const { html = "", error } = await work(event.data);
  const wrong = error ?? (html.length > LARGEST ? "it drew more than 4 million characters" : "");
  if (wrong) return parent.postMessage({ job, error: wrong }, "*");
  const host = /** @type {HTMLElement} */ (document.getElementById("drawn"));
  const parsed = new DOMParser().parseFromString(html, "text/html"); // its scripts never run
  host.replaceChildren(...parsed.body.childNodes);
  parent.postMessage({ job, height: Math.ceil(host.getBoundingClientRect().height) }, "*");
  return undefined;
});
