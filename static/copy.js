// Copying: a link with data-copy copies its URL, a button with data-copy="id" the value of that field.
// Without access to the clipboard the link is followed and the field is selected.
import { delegate } from "./events.js";

async function copyLink(link) {
  await navigator.clipboard.writeText(link.href);
  link.textContent = "Copied";
  setTimeout(() => { link.textContent = "Copy link"; }, 1500);
}

async function copyField(button) {
  const field = document.getElementById(button.dataset.copy);
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Selected: press Ctrl+C";
  }
}

delegate("click", "[data-copy]", (trigger, event) => {
  if (trigger.dataset.copy) copyField(trigger);
  else if (navigator.clipboard) {
    event.preventDefault();
    copyLink(trigger);
  }
});
document.getElementById("secret")?.select();
