// The frame of every page: theme, menus, the "/" key, keyboard access to scrollers, failed requests.
import { listen } from "./events.js";
import { isShortcut } from "./keyboard.js";

const YEAR = 365 * 24 * 3600; // seconds

// Without script the form posts and the server sets the same cookie.
function chooseTheme(event) {
  if (!event.target.matches("[data-theme-form]")) return;
  event.preventDefault();
  const theme = event.submitter.value;
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  document.cookie = `theme=${theme}; path=/; max-age=${YEAR}; samesite=lax`;
  for (const button of document.querySelectorAll("[data-theme-form] button")) {
    button.setAttribute("aria-pressed", button.value === theme);
  }
  document.dispatchEvent(new CustomEvent("recall:theme"));
}

function closeMenus(event) {
  for (const menu of document.querySelectorAll("details.menu[open], details.switch[open]")) {
    const escaped = event.type === "keydown" && event.key === "Escape";
    if (escaped) menu.querySelector("summary").focus();
    if (escaped || (event.type === "click" && !menu.contains(event.target))) menu.open = false;
  }
}

// A box that scrolls sideways is a tab stop; one that fits is not.
function markScrollers() {
  for (const box of document.querySelectorAll(".scroll, .math, .example")) {
    if (box.scrollWidth > box.clientWidth + 1) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}

function focusQuery(event) {
  if (event.key !== "/" || !isShortcut(event)) return;
  const query = document.querySelector(".ask .q, [data-ask]");
  if (!query) return;
  event.preventDefault();
  query.focus();
}

// A query is one paragraph: Enter sends it, and the box grows with it.
function sendQuery(event) {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || !event.target.matches?.("[data-grow]")) return;
  event.preventDefault();
  event.target.form.requestSubmit();
}

function growQuery(box) {
  box.style.height = "auto";
  box.style.height = `${box.scrollHeight + box.offsetHeight - box.clientHeight}px`;
}

function growQueries() {
  document.querySelectorAll("[data-grow]").forEach(growQuery);
}

let failedElement = null; // element whose request failed last

// htmx leaves the page as it was when a request fails: report it until a request succeeds.
function showFailure(event) {
  const { elt, xhr } = event.detail;
  const response = new DOMParser().parseFromString(xhr.responseText, "text/html");
  const reason = response.querySelector(".problem")?.textContent.trim() || "The server refused it.";
  const id = xhr.status && xhr.getResponseHeader("X-Request-ID");
  const box = element("div", element("b", xhr.status ? `${reason} (${xhr.status})` : "The server cannot be reached."));
  Object.assign(box, { id: "failure", className: "problem" });
  box.setAttribute("role", "alert");
  box.append(element("p", "The page is unchanged and your input is kept; try again."));
  if (id) box.append(element("p", "request ", element("code", id)));
  failedElement = elt;
  if (document.getElementById("failure")?.textContent === box.textContent) return; // not announced twice
  removeFailure();
  document.getElementById("main").prepend(box);
}

function element(name, ...children) {
  const created = document.createElement(name);
  created.append(...children);
  return created;
}

function removeFailure() {
  document.getElementById("failure")?.remove();
}

function onRequestEnd({ detail }) {
  if (detail.successful && (detail.elt === failedElement || !failedElement?.isConnected)) removeFailure();
}

function onKeydown(event) {
  closeMenus(event);
  focusQuery(event);
  sendQuery(event);
}

listen({
  submit: chooseTheme,
  click: closeMenus,
  keydown: onKeydown,
  "htmx:afterSwap": markScrollers,
  "htmx:responseError": showFailure,
  "htmx:sendError": showFailure,
  "htmx:afterRequest": onRequestEnd,
});
addEventListener("resize", markScrollers);
markScrollers();
addEventListener("input", (event) => { if (event.target.matches("[data-grow]")) growQuery(event.target); });
growQueries();
