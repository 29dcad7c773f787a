// Every text that can be read, with its own colour over what the elements around it are painted with. Left out are what
// only a screen reader meets and what cannot be used now, which WCAG leaves out too.
({text, large}) => {
  const pixel = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const rgba = (colour) => {
    if (!known.has(colour)) {
      pixel.clearRect(0, 0, 1, 1);
      pixel.fillStyle = colour;
      pixel.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = pixel.getImageData(0, 0, 1, 1).data;
      known.set(colour, [r, g, b, a / 255]);
    }
    return known.get(colour);
  };
  const over = (top, below, alpha) => top.slice(0, 3).map((one, i) => one * alpha + below[i] * (1 - alpha));
  const paper = (element) => {
    const around = [];
    for (let one = element; one; one = one.parentElement) around.unshift(one);
    const lies = around.reduce((below, one) => {
      const [r, g, b, a] = rgba(getComputedStyle(one).backgroundColor);
      return over([r, g, b], below, a);
    }, rgba("Canvas"));
    return element instanceof SVGElement ? [...shapes(element)].reduce((below, one) => over(one, below, one[3]), lies) : lies;
  };
  // What a drawing has painted before a text where its middle lies.
  function* shapes(text) {
    const box = text.getBoundingClientRect(), x = box.x + box.width / 2, y = box.y + box.height / 2;
    for (const one of text.ownerSVGElement.querySelectorAll("rect, path, circle")) {
      if (!(one.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING)) return;
      const { left, right, top, bottom } = one.getBoundingClientRect(), style = getComputedStyle(one);
      if (style.fill === "none" || x < left || x > right || y < top || y > bottom) continue;
      const [r, g, b, a] = rgba(style.fill);
      yield [r, g, b, a * Number(style.fillOpacity) * Number(style.opacity)];
    }
  }
  const light = (colour) => {
    const [r, g, b] = colour.map((one) => one / 255).map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const seen = (element) => {
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return false;
    for (let one = element; one; one = one.parentElement) if (getComputedStyle(one).clipPath !== "none" && one.matches(".vh")) return false;
    return !element.closest(":disabled, [aria-disabled=true], .param.off, [aria-hidden=true], .htmx-request");
  };
  const faint = new Map();
  const hold = (element, words, colour) => {
    const style = getComputedStyle(element);
    let alpha = 1;
    for (let one = element; one; one = one.parentElement) alpha *= Number(getComputedStyle(one).opacity);
    // A text with a seam around it is read against that.
    const seam = element instanceof SVGElement && style.paintOrder.startsWith("stroke") && parseFloat(style.strokeWidth) >= 2;
    const below = seam ? rgba(style.stroke).slice(0, 3) : paper(element), top = rgba(colour);
    const drawn = over(top, below, top[3] * alpha);
    const [low, high] = [light(drawn), light(below)].sort((a, b) => a - b);
    const ratio = (high + 0.05) / (low + 0.05);
    const size = parseFloat(style.fontSize), big = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (big ? large : text) - 0.005) {
      const place = element.closest("[class]")?.getAttribute("class") ?? "";
      faint.set(`${element.localName}.${place}`, `${ratio.toFixed(2)} ${element.localName}.${place} "${words.trim().slice(0, 40)}"`);
    }
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let count = 0;
  while (texts.nextNode()) {
    const node = texts.currentNode, element = node.parentElement;
    if (!node.data.trim() || element.matches("script, style, noscript, title, option, template") || !seen(element)) continue;
    const style = getComputedStyle(element);
    count += 1;
    hold(element, node.data, element instanceof SVGElement ? style.fill : style.color);
  }
  for (const field of document.querySelectorAll("input, textarea, select")) {
    if (!seen(field) || ["hidden", "range", "checkbox", "radio", "file"].includes(field.type)) continue;
    count += 1;
    hold(field, field.name, getComputedStyle(field).color);
    if (field.placeholder) hold(field, field.placeholder, getComputedStyle(field, "::placeholder").color);
  }
  return { count, faint: [...faint.values()] };
}
