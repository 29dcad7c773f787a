// Choosing memories: one box for all of the page, and how many are chosen. Without script each box works by itself.
"use strict";

function tell() {
  const all = document.querySelector("[data-choose-all]");
  if (!all) return;
  const boxes = [...document.querySelectorAll("[name=ids]")];
  const chosen = boxes.filter((box) => box.checked).length;
  all.hidden = false;
  all.checked = chosen > 0 && chosen === boxes.length;
  all.indeterminate = chosen > 0 && chosen < boxes.length;
  document.querySelector("[data-chosen]").textContent = chosen ? `With the ${chosen} chosen:` : "Choose all";
  for (const button of document.querySelectorAll(".bulk button")) button.disabled = !chosen;
}

function choose(event) {
  if (event.target.matches("[data-choose-all]")) {
    for (const box of document.querySelectorAll("[name=ids]")) box.checked = event.target.checked;
  }
  if (event.target.matches("[data-choose-all], [name=ids]")) tell();
}

// j and k go from memory to memory, never while typing.
function walk(event) {
  const step = { j: 1, k: -1 }[event.key];
  if (!step || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input:not([type=checkbox]), select, textarea")) return;
  const rows = [...document.querySelectorAll("[data-row]")];
  const at = rows.indexOf(event.target.closest("tr")?.querySelector("[data-row]"));
  rows[Math.min(Math.max(at + step, 0), rows.length - 1)]?.focus();
}

document.addEventListener("change", choose);
document.addEventListener("keydown", walk);
document.addEventListener("htmx:afterSettle", tell);
tell();
