// The frame of every page: switching the theme without a reload, closing open menus, and the key that asks.
"use strict";

const YEAR = 365 * 24 * 3600;

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

// Without script the form posts and the server writes the same cookie.
function switchTheme(event) {
  if (!event.target.matches("[data-theme-form]")) return;
  event.preventDefault();
  const theme = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  document.cookie = `theme=${theme}; path=/; max-age=${YEAR}; samesite=lax`;
  document.dispatchEvent(new CustomEvent("recall:theme"));
}

function closeMenus(event) {
  for (const menu of document.querySelectorAll("details.menu[open], details.switch[open]")) {
    if (event.type === "keydown" ? event.key === "Escape" : !menu.contains(event.target)) menu.open = false;
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

document.addEventListener("submit", switchTheme);
document.addEventListener("click", closeMenus);
document.addEventListener("keydown", closeMenus);
document.addEventListener("keydown", ask);
