// The state of every model, read again every few seconds.

import { NeedsToken, askForToken, element, get } from "./service.js";

const EVERY = 3000; // milliseconds
const main = document.getElementById("main");
const whole = new Intl.NumberFormat("en");

function percent(part, all) {
  return all ? `${((100 * part) / all).toFixed(1)} %` : "–";
}

function figures(pairs) {
  return element(
    "dl", { class: "figures" },
    ...pairs.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))),
  );
}

function svg(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function curve(parts) {
  if (parts.length < 2) return element("p", { class: "soft" }, "It appears once some examples were learned.");
  const width = 640, height = 180, left = 48, bottom = 24, top = 8;
  const rates = parts.map(([, count, mistakes]) => mistakes / count);
  const most = Math.max(0.05, ...rates);
  const x = (k) => left + ((width - left - 8) * k) / (parts.length - 1);
  const y = (rate) => height - bottom - ((height - bottom - top) * rate) / most;
  const points = rates.map((rate, k) => `${x(k)},${y(rate)}`).join(" ");
  const latest = (100 * rates.at(-1)).toFixed(1);
  return svg(
    "svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Error over time; the latest is ${latest} %` },
    svg("line", { class: "axis", x1: left, y1: y(0), x2: width - 8, y2: y(0) }),
    svg("line", { class: "axis", x1: left, y1: y(most), x2: width - 8, y2: y(most) }),
    svg("text", { x: left - 6, y: y(0) + 4, "text-anchor": "end" }, "0 %"),
    svg("text", { x: left - 6, y: y(most) + 4, "text-anchor": "end" }, `${(100 * most).toFixed(0)} %`),
    svg("text", { x: left, y: height - 4 }, "first examples"),
    svg("text", { x: width - 8, y: height - 4, "text-anchor": "end" }, `example ${whole.format(parts.at(-1)[0])}`),
    svg("polyline", { class: "curve", points }),
  );
}

function table(heads, rows) {
  return element(
    "div", { class: "scroll" },
    element(
      "table", {},
      element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))),
      element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row))),
    ),
  );
}

function section(found) {
  const { progress, shadow } = found;
  const shown = found.classes.slice(0, 8).join(", ");
  const more = found.classes.length > 8 ? ` and ${whole.format(found.classes.length - 8)} more` : "";
  const made = element(
    "section", { "aria-label": found.name },
    element("h2", {}, found.name),
    element("p", { class: "soft" }, `Version ${found.version}. Classes: ${shown}${more}.`),
  );
  if (found.problem) made.append(element("p", { class: "problem", role: "alert" }, found.problem));
  made.append(
    figures([
      ["Learned here", whole.format(found.learned)],
      ["Error before learning", percent(progress.mistakes, progress.examples)],
      [`Error, last ${whole.format(progress.recent_examples)}`, percent(progress.recent_mistakes, progress.recent_examples)],
      ["Features", whole.format(found.features)],
      ["Waiting", whole.format(found.waiting)],
    ]),
    element("h3", {}, "Error over time"),
    curve(found.curve),
  );
  if (shadow) {
    made.append(
      element("h3", {}, `In the shadow: ${shadow.name}`),
      element("p", {}, `Error before learning ${percent(shadow.progress.mistakes, shadow.progress.examples)} on ${whole.format(shadow.progress.examples)} examples.`),
    );
  }
  if (found.alarms.length) {
    made.append(
      element("h3", {}, "Alarms"),
      table(["At example", "Decided at", "Model"], found.alarms.map((each) => [
        element("td", { class: "number" }, whole.format(each.at)),
        element("td", { class: "number" }, whole.format(each.decided)),
        element("td", {}, each.model),
      ])),
    );
  }
  made.append(element("h3", {}, "Recent unsure texts"));
  made.append(
    found.unsure.length
      ? table(["Label", "Probability", "Text"], found.unsure.map((each) => [
          element("td", {}, String(each.label)),
          element("td", { class: "number" }, each.probability.toFixed(2)),
          element("td", { class: "text" }, each.text),
        ]))
      : element("p", { class: "soft" }, "None since the start."),
  );
  return made;
}

async function show() {
  try {
    const { models } = await get("/v1/models");
    const found = await Promise.all(models.map((name) => get(`/v1/models/${encodeURIComponent(name)}`)));
    main.replaceChildren(...found.map(section));
    setTimeout(show, EVERY);
  } catch (problem) {
    if (problem instanceof NeedsToken) {
      askForToken(main, show);
      return;
    }
    main.replaceChildren(element("p", { class: "problem", role: "alert" }, `The service does not answer: ${problem.message}`));
    setTimeout(show, EVERY);
  }
}

show();
