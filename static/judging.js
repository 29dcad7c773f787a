// Judging by keyboard: 0 to 3 grade the pair, s skips it, u undoes the last grade.
import { listen } from "./events.js";
import { isShortcut } from "./keyboard.js";

const ACTIONS = { s: "skip", u: "undo" };

function onKeydown(event) {
  if (event.repeat || !isShortcut(event)) return;
  const value = ACTIONS[event.key] ?? event.key;
  const button = document.querySelector(`#pair button[name="act"][value="${CSS.escape(value)}"]`);
  if (!button) return;
  event.preventDefault();
  button.click();
}

listen({ keydown: onKeydown });
