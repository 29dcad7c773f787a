// Shortcuts are single keys: not combined with a modifier, and not while the user types.

const TEXT_INPUTS = "input:not([type=range]):not([type=checkbox]):not([type=radio]), select, textarea";

export function isShortcut(event, ignored = TEXT_INPUTS) {
  return !(event.ctrlKey || event.metaKey || event.altKey || event.target.matches(ignored));
}

// Runs the action of the pressed key, if it has one.
export function runAction(event, actions) {
  if (!Object.hasOwn(actions, event.key)) return;
  event.preventDefault();
  actions[event.key]();
}

// The item so many steps away; the first or the last one at the ends.
export function stepFrom(items, index, offset) {
  return items[Math.min(Math.max(index + offset, 0), items.length - 1)];
}
