// Judging by keys: 0 to 3 grade the pair, s skips it, u takes the last grade back.
"use strict";

const KEYS = { s: "skip", u: "undo" };

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.target.matches("input, select, textarea")) return;
  const button = document.querySelector(`#pair button[name="act"][value="${CSS.escape(KEYS[event.key] ?? event.key)}"]`);
  if (!button) return;
  event.preventDefault();
  button.click();
}

document.addEventListener("keydown", press);
