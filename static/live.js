// Polling: an element with data-poll="3" and hx-trigger="recall:poll" is refreshed every 3 seconds,
// never while the tab is hidden, and, if data-pausable, not while a button with data-pause is pressed.
import { delegate, listen } from "./events.js";

const MAX_ROWS = 200; // new rows before polling pauses by itself

let seconds = 0;

function isPaused() {
  return document.querySelector('[data-pause][aria-pressed="true"]') !== null;
}

function poll() {
  if (document.hidden) return;
  seconds += 1;
  for (const element of document.querySelectorAll("[data-poll]")) {
    const skipped = element.hasAttribute("data-pausable") && isPaused();
    if (!skipped && seconds % Number(element.dataset.poll) === 0) element.dispatchEvent(new Event("recall:poll"));
  }
}

function togglePause(button) {
  const pressed = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", pressed);
  button.textContent = pressed ? "Resume" : "Pause";
  announce();
}

// The number of new rows, in a live region.
function announce() {
  const line = document.querySelector("[data-arrivals]");
  if (!line) return;
  const button = document.querySelector("[data-pause]");
  const arrived = document.querySelectorAll("tbody.arrived tr").length;
  if (arrived >= MAX_ROWS && !isPaused()) {
    button.setAttribute("aria-pressed", "true");
    button.disabled = true;
  }
  if (arrived >= MAX_ROWS) line.textContent = `${arrived} new; reload the page to continue`;
  else if (isPaused()) line.textContent = arrived ? `Paused after ${arrived}` : "Paused";
  else line.textContent = arrived ? `Live, ${arrived} new` : "Live";
}

delegate("click", "[data-pause]", togglePause);
listen({ "htmx:afterSettle": announce });
setInterval(poll, 1000);
announce();
