"use strict";
(() => {
  const tools = document.getElementById("tools");
  if (!tools) return;
  const pair = document.getElementById("pair");
  const save = document.getElementById("save");
  const count = document.getElementById("count");
  const suspects = [...document.querySelectorAll(".suspect")];
  const box = (suspect) => suspect.querySelector(".chosen");
  const written = (suspect) => suspect.querySelector(".new").value;
  const chosen = () => suspects.filter(
    (each) => box(each).checked && written(each) !== each.dataset.label);

  function refresh() {
    for (const each of suspects) each.hidden = pair.value !== "" && each.dataset.pair !== pair.value;
    const number = chosen().length;
    count.textContent = number === 1 ? "1 correction" : `${number} corrections`;
    save.disabled = number === 0;
  }

  function tick(on) {
    for (const each of suspects) if (!each.hidden) box(each).checked = on;
    refresh();
  }

  const field = (value) => /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;

  function table() {
    const several = suspects.some((each) => each.dataset.file !== undefined);
    const lines = [["row", "label", "suggested", ...(several ? ["file"] : [])]];
    for (const each of chosen()) {
      const cells = [each.dataset.row, each.dataset.label, written(each)];
      lines.push(several ? [...cells, each.dataset.file] : cells);
    }
    return lines.map((cells) => `${cells.map(field).join(",")}\n`).join("");
  }

  document.addEventListener("change", refresh);
  document.addEventListener("input", (event) => {
    if (!event.target.classList.contains("new")) return;
    box(event.target.closest(".suspect")).checked = true;
    refresh();
  });
  document.getElementById("tick").addEventListener("click", () => tick(true));
  document.getElementById("untick").addEventListener("click", () => tick(false));
  save.addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([table()], { type: "text/csv" }));
    link.download = "fixes.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  tools.hidden = false;
  refresh();
})();
