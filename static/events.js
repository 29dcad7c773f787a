// Event listeners on the document, which survive what htmx swaps in.

// Handlers by event type.
export function listen(handlers) {
  for (const [type, handler] of Object.entries(handlers)) document.addEventListener(type, handler);
}

// Calls the handler with the closest element that matches, if there is one, and the event.
export function delegate(type, selector, handler, options) {
  document.addEventListener(type, (event) => {
    const element = event.target.closest?.(selector);
    if (element) handler(element, event);
  }, options);
}
