// Annotating by keys: 1 to 5 for the type, y and n for right and wrong, + and − for trust, Enter keeps, s skips.
"use strict";

const word = () => document.getElementById("word");
const trust = () => document.getElementById("confidence");

function tell() {
  if (trust()) trust().nextElementSibling.value = trust().value;
}

function move(by) {
  if (by > 0) trust().stepUp();
  else trust().stepDown();
  tell();
}

function press(event) {
  const elsewhere = event.target.matches("a, button, summary, select, textarea, input:not([type=range]):not([type=radio])");
  if (!word() || event.ctrlKey || event.metaKey || event.altKey || elsewhere) return;
  const choice = word().querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  const keys = { "+": () => move(1), "-": () => move(-1), "−": () => move(-1), Enter: () => word().requestSubmit(), s: () => word().querySelector("[data-skip]").click() };
  if (choice) choice.checked = true;
  else if (keys[event.key]) keys[event.key]();
  else return;
  event.preventDefault();
}

document.addEventListener("keydown", press);
document.addEventListener("input", tell);
