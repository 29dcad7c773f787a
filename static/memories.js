// Selecting memories: one checkbox for the whole page, and the number selected. Each checkbox also works without script.
import { isShortcut } from "./keyboard.js";

function updateSelection() {
  const all = document.querySelector("[data-choose-all]");
  if (!all) return;
  const boxes = [...document.querySelectorAll("[name=ids]")];
  const selected = boxes.filter((box) => box.checked).length;
  all.hidden = false;
  all.checked = selected > 0 && selected === boxes.length;
  all.indeterminate = selected > 0 && selected < boxes.length;
  document.querySelector("[data-chosen]").textContent = selected ? `With the ${selected} chosen:` : "Choose all";
  for (const button of document.querySelectorAll(".bulk button")) button.disabled = !selected;
}

function onChange(event) {
  if (event.target.matches("[data-choose-all]")) {
    for (const box of document.querySelectorAll("[name=ids]")) box.checked = event.target.checked;
  }
  if (event.target.matches("[data-choose-all], [name=ids]")) updateSelection();
}

// j and k move the focus from memory to memory.
function onKeydown(event) {
  const step = { j: 1, k: -1 }[event.key];
  if (!step || !isShortcut(event)) return;
  const rows = [...document.querySelectorAll("[data-row]")];
  const index = rows.indexOf(event.target.closest("tr")?.querySelector("[data-row]"));
  rows[Math.min(Math.max(index + step, 0), rows.length - 1)]?.focus();
}

document.addEventListener("change", onChange);
document.addEventListener("keydown", onKeydown);
document.addEventListener("htmx:afterSettle", updateSelection);
updateSelection();
