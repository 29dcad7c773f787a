// Shortcuts are single keys: not combined with a modifier, and not while the user types.

const TEXT_INPUTS = "input:not([type=range]):not([type=checkbox]):not([type=radio]), select, textarea";

export function isShortcut(event, ignored = TEXT_INPUTS) {
  return !(event.ctrlKey || event.metaKey || event.altKey || event.target.matches(ignored));
}
