// Requests to the service, with a token where one is needed; it is kept until the tab is closed.

const KEY = "sureline-token";

export async function request(method, path, body, more = {}) {
  const headers = { ...more };
  const token = sessionStorage.getItem(KEY);
  if (token) headers.authorization = `Bearer ${token}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  return fetch(path, { method, headers, body });
}

export async function get(path) {
  const response = await request("GET", path);
  if (response.status === 401) throw new NeedsToken();
  const found = await response.json();
  if (!response.ok) throw new Error(found.error);
  return found;
}

export class NeedsToken extends Error {}

// An element with attributes and children; text is only ever a text node.
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export function askForToken(main, retry) {
  const input = element("input", { id: "token", type: "password", autocomplete: "off" });
  const form = element(
    "form", {},
    element("label", { for: "token" }, "This service needs a token"), input,
    element("button", { type: "submit" }, "Continue"),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem(KEY, input.value.trim());
    retry();
  });
  main.replaceChildren(form);
  input.focus();
}
