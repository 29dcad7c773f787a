// The frame of every page: switching the theme without a reload, closing open menus, and the key that asks.
"use strict";

const YEAR = 365 * 24 * 3600;

// Without script the form posts and the server writes the same cookie.
function chooseTheme(event) {
  if (!event.target.matches("[data-theme-form]")) return;
  event.preventDefault();
  const theme = event.submitter.value;
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  document.cookie = `theme=${theme}; path=/; max-age=${YEAR}; samesite=lax`;
  for (const button of document.querySelectorAll("[data-theme-form] button")) button.setAttribute("aria-pressed", button.value === theme);
  document.dispatchEvent(new CustomEvent("recall:theme"));
}

function closeMenus(event) {
  for (const menu of document.querySelectorAll("details.menu[open], details.switch[open]")) {
    const escaped = event.type === "keydown" && event.key === "Escape";
    if (escaped) menu.querySelector("summary").focus();
    if (escaped || (event.type === "click" && !menu.contains(event.target))) menu.open = false;
  }
}

// What scrolls sideways can be reached and scrolled by keyboard; what fits is no stop on the way.
function markScrollers() {
  for (const box of document.querySelectorAll(".scroll, .math, .example")) {
    if (box.scrollWidth > box.clientWidth + 1) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}

// "/" goes to the page's own question, never while typing.
function ask(event) {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
  const question = document.querySelector(".ask .q, [data-ask]");
  if (!question) return;
  event.preventDefault();
  question.focus();
}

document.addEventListener("submit", chooseTheme);
document.addEventListener("click", closeMenus);
document.addEventListener("keydown", closeMenus);
document.addEventListener("keydown", ask);
document.addEventListener("htmx:afterSwap", markScrollers);
addEventListener("resize", markScrollers);
markScrollers();
