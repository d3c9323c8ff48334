/** The sign-in page: a token from the field, or of a shared link from behind the `#`, becomes a
 * cookie. The token is never part of a request's address. A provider of the server's is a link. */

const HERE = new URL("./", location.href);
const form = /** @type {HTMLFormElement} */ (document.querySelector("form"));
const field = /** @type {HTMLInputElement} */ (document.getElementById("token"));
const button = /** @type {HTMLButtonElement} */ (form.querySelector("button"));
const says = /** @type {HTMLElement} */ (document.getElementById("says"));

try {
  const theme = localStorage.getItem("rollscope.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // A private window may not store anything.
}

/** Where to go afterwards: an address of this server, never another one.
 * @param {string} path @returns {string} */
function target(path) {
  const url = new URL(path.replace(/^[/\\]+/, ""), HERE);
  return url.origin === HERE.origin && url.pathname.startsWith(HERE.pathname) ? url.href : HERE.href;
}

/** @param {string} token @returns {Promise<string>} why it failed; nothing if it did not */
async function signIn(token) {
  const body = JSON.stringify({ token });
  try {
    const headers = { "content-type": "application/json" };
    const response = await fetch(new URL("api/session", HERE), { method: "POST", headers, body });
    if (response.ok) return "";
    return (await response.json()).says ?? `the server answered with status ${response.status}`;
  } catch {
    return "the server does not answer";
  }
}

/** @param {string} token @param {string} to */
async function enter(token, to) {
  button.disabled = true;
  says.textContent = "";
  const wrong = await signIn(token.trim());
  button.disabled = false;
  if (!wrong) return location.replace(target(to));
  says.textContent = `${wrong[0]?.toUpperCase() ?? ""}${wrong.slice(1)}`;
  field.select();
}

const asked = new URLSearchParams(location.search).get("to") ?? "";
const provider = /** @type {HTMLAnchorElement} */ (document.getElementById("provider"));
if (asked) provider.href = `${new URL("sign-in/openid", HERE)}?to=${encodeURIComponent(asked)}`;
form.addEventListener("submit", (event) => {
  event.preventDefault();
  enter(field.value, asked);
});

const shared = new URLSearchParams(location.hash.slice(1));
if (shared.has("token")) {
  history.replaceState(null, "", location.pathname); // no token stays in the address
  enter(shared.get("token") ?? "", shared.get("to") ?? "");
}
