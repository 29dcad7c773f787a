// The frame of every page: switching the theme without a reload, closing open menus, the key that asks, and what
// stands there when the server does not answer.
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

let failed = null; // what asked last in vain

// htmx leaves the page as it was when a request fails; that it did is said where one looks, until it works again.
function fail(event) {
  const { elt, xhr } = event.detail;
  const told = new DOMParser().parseFromString(xhr.responseText, "text/html").querySelector(".problem")?.textContent.trim();
  const why = xhr.status ? `${told || "The server refused it."} (${xhr.status})` : "The server cannot be reached.";
  const id = xhr.status && xhr.getResponseHeader("X-Request-ID");
  const box = document.createElement("div");
  Object.assign(box, { id: "failure", className: "problem" });
  box.setAttribute("role", "alert");
  box.append(line("b", why), line("p", "The page stands as it was before, and what you typed is kept; try again."));
  if (id) box.append(line("p", "request ", line("code", id)));
  failed = elt;
  if (document.getElementById("failure")?.textContent === box.textContent) return; // said once, however often it is asked
  mend();
  document.getElementById("main").prepend(box);
}

function line(name, ...parts) {
  const element = document.createElement(name);
  element.append(...parts);
  return element;
}

function mend(event) {
  if (event && !(event.detail.successful && (event.detail.elt === failed || !failed?.isConnected))) return;
  document.getElementById("failure")?.remove();
}

document.addEventListener("submit", chooseTheme);
document.addEventListener("click", closeMenus);
document.addEventListener("keydown", closeMenus);
document.addEventListener("keydown", ask);
document.addEventListener("htmx:afterSwap", markScrollers);
addEventListener("resize", markScrollers);
markScrollers();
document.addEventListener("htmx:responseError", fail);
document.addEventListener("htmx:sendError", fail);
document.addEventListener("htmx:afterRequest", mend);
