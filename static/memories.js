// Selecting memories: one checkbox for the whole page, and the number selected.
// Each checkbox also works without script.
import { listen } from "./events.js";
import { isShortcut, runAction, stepFrom } from "./keyboard.js";

function updateSelection() {
  const all = document.querySelector("[data-choose-all]");
  if (!all) return;
  const boxes = [...document.querySelectorAll("[name=ids]")];
  const selected = boxes.filter((box) => box.checked).length;
  all.hidden = false;
  all.checked = selected > 0 && selected === boxes.length;
  all.indeterminate = selected > 0 && selected < boxes.length;
  document.querySelector("[data-chosen]").textContent = selected ? `With the ${selected} selected:` : "Select all";
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
  if (!isShortcut(event)) return;
  const rows = [...document.querySelectorAll("[data-row]")];
  const index = rows.indexOf(event.target.closest("tr")?.querySelector("[data-row]"));
  const focus = (offset) => stepFrom(rows, index, offset)?.focus();
  runAction(event, { j: () => focus(1), k: () => focus(-1) });
}

listen({ change: onChange, keydown: onKeydown, "htmx:afterSettle": updateSelection });
updateSelection();
