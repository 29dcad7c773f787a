// Polling: an element with data-poll="3" and hx-trigger="recall:poll" is refreshed every 3 seconds,
// never while the tab is hidden, and, if data-pausable, not while a button with data-pause is pressed.
"use strict";

const MAX_ROWS = 200; // new rows before polling pauses by itself

let seconds = 0;

function paused() {
  return document.querySelector('[data-pause][aria-pressed="true"]') !== null;
}

function poll() {
  if (document.hidden) return;
  seconds += 1;
  for (const element of document.querySelectorAll("[data-poll]")) {
    const stopped = element.hasAttribute("data-pausable") && paused();
    if (!stopped && seconds % Number(element.dataset.poll) === 0) element.dispatchEvent(new Event("recall:poll"));
  }
}

function pause(event) {
  const button = event.target.closest("[data-pause]");
  if (!button) return;
  const now = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", now);
  button.textContent = now ? "Resume" : "Pause";
  announce();
}

// Announces the number of new rows in a live region.
function announce() {
  const line = document.querySelector("[data-arrivals]");
  if (!line) return;
  const button = document.querySelector("[data-pause]");
  const arrived = document.querySelectorAll("tbody.arrived tr").length;
  if (arrived >= MAX_ROWS && !paused()) {
    button.setAttribute("aria-pressed", "true");
    button.disabled = true;
  }
  if (arrived >= MAX_ROWS) line.textContent = `${arrived} new; reload the page to continue`;
  else if (paused()) line.textContent = arrived ? `Paused after ${arrived}` : "Paused";
  else line.textContent = arrived ? `Live, ${arrived} new` : "Live";
}

document.addEventListener("click", pause);
document.addEventListener("htmx:afterSettle", announce);
setInterval(poll, 1000);
announce();
