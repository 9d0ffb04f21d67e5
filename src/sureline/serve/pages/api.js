// Every endpoint of /openapi.json, with a form to try it.

import { NeedsToken, askForToken, element, get, request } from "./service.js";

const main = document.getElementById("main");

function field(id, name, input) {
  input.id = id;
  return [element("label", { for: id }, name), input];
}

function operation(path, method, each, models) {
  const id = `${method}${path}`.replace(/\W+/g, "-");
  const inputs = {};
  const form = element("form", {});
  for (const parameter of each.parameters) {
    const input = element("input", { autocomplete: "off" });
    if (parameter.in === "path") input.value = models[0] ?? "";
    inputs[parameter.name] = [parameter, input];
    form.append(...field(`${id}-${parameter.name}`, `${parameter.name}${parameter.required ? "" : " (optional)"}`, input));
  }
  let body;
  if (each.requestBody) {
    body = element("textarea", { spellcheck: "false" });
    const content = each.requestBody.content["application/json"];
    body.value = JSON.stringify(content.example ?? {}, null, 2);
    form.append(...field(`${id}-body`, "Body", body));
  }
  const output = element("pre", { hidden: "", tabindex: "0", "aria-label": "Answer" });
  form.append(element("button", { type: "submit" }, "Send"), output);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    let target = path;
    const query = {};
    for (const [name, [parameter, input]] of Object.entries(inputs)) {
      if (parameter.in === "path") target = target.replace(`{${name}}`, encodeURIComponent(input.value));
      else if (input.value) query[name] = input.value;
    }
    output.hidden = false;
    output.textContent = "…";
    try {
      const response = await request(method.toUpperCase(), target, body?.value, query);
      const text = await response.text();
      let shown = text;
      try { shown = JSON.stringify(JSON.parse(text), null, 2); } catch { /* not JSON: as it is */ }
      output.textContent = `${response.status}\n${shown}`;
    } catch (problem) {
      output.textContent = String(problem.message);
    }
  });
  const role = each["x-role"] ? ` (${each["x-role"]})` : "";
  return element(
    "details", {},
    element(
      "summary", {},
      element("span", { class: "method" }, method.toUpperCase()), element("code", {}, path), ` ${each.summary}`,
      element("span", { class: "soft" }, role),
    ),
    element("div", {}, form),
  );
}

async function show() {
  try {
    const [document_, { models }] = await Promise.all([get("/openapi.json"), get("/v1/models")]);
    const made = [element("p", { class: "soft" }, document_.info.description)];
    for (const [path, methods] of Object.entries(document_.paths)) {
      for (const [method, each] of Object.entries(methods)) made.push(operation(path, method, each, models));
    }
    main.replaceChildren(...made);
    main.querySelector("details").open = true;
  } catch (problem) {
    if (problem instanceof NeedsToken) askForToken(main, show);
    else main.replaceChildren(element("p", { class: "problem", role: "alert" }, problem.message));
  }
}

show();
