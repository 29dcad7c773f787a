// A button with data-copy="id" copies what the field with that id holds; where the browser has no clipboard for us, it marks it.
"use strict";

async function copy(event) {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const field = document.getElementById(button.dataset.copy);
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Marked: press Ctrl+C";
  }
}

document.addEventListener("click", copy);
document.getElementById("secret")?.select();
