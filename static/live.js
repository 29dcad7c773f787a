// Asks again while one looks: an element with data-poll="3" and hx-trigger="recall:poll" is asked every 3 seconds,
// never while the tab is hidden, and not while a button with data-pause says so.
"use strict";

const MOST = 200; // rows that come in by themselves; then a person decides

let waited = 0;

function paused() {
  return document.querySelector('[data-pause][aria-pressed="true"]') !== null;
}

function look() {
  if (document.hidden) return;
  waited += 1;
  for (const place of document.querySelectorAll("[data-poll]")) {
    const stopped = place.hasAttribute("data-pausable") && paused();
    if (!stopped && waited % Number(place.dataset.poll) === 0) place.dispatchEvent(new Event("recall:poll"));
  }
}

function pause(event) {
  const button = event.target.closest("[data-pause]");
  if (!button) return;
  const now = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", now);
  button.textContent = now ? "Go on" : "Pause";
  tell();
}

// How many came in is said in words, for eyes and for ears.
function tell() {
  const line = document.querySelector("[data-arrivals]");
  if (!line) return;
  const button = document.querySelector("[data-pause]");
  const came = document.querySelectorAll("tbody.arrived tr").length;
  if (came >= MOST && !paused()) {
    button.setAttribute("aria-pressed", "true");
    button.disabled = true;
  }
  const rows = came === 1 ? "1 came in" : `${came} came in`;
  if (came >= MOST) line.textContent = `${rows}; load the page again to go on`;
  else if (paused()) line.textContent = came ? `Paused after ${rows.replace(" came in", "")}` : "Paused";
  else line.textContent = came ? `Live, ${rows}` : "Live";
}

document.addEventListener("click", pause);
document.addEventListener("htmx:afterSettle", tell);
setInterval(look, 1000);
tell();
