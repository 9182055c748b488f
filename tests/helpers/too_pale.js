// Return the visible texts of a page whose contrast with what is behind them is below a limit (WCAG 2.2).
(least) => {
  const channels = (colour) => (colour.match(/[\d.]+/g) || []).map(Number);
  const luminance = (rgb) => {
    const linear = rgb.slice(0, 3).map((of) => of / 255).map((of) => (of <= 0.04045 ? of / 12.92 : ((of + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const mixed = (front, back) => front.slice(0, 3).map((of, place) => of * (front[3] ?? 1) + back[place] * (1 - (front[3] ?? 1)));
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      // A text of SVG lies on the shape that was drawn just before it.
      const before = at.previousElementSibling;
      if (at instanceof SVGTextElement && before instanceof SVGRectElement) layers.push(channels(getComputedStyle(before).fill));
      layers.push(channels(getComputedStyle(at).backgroundColor));
      if ((layers.at(-1)[3] ?? 1) === 1) break;
    }
    const start = layers.length && (layers.at(-1)[3] ?? 1) === 1 ? layers.pop() : [255, 255, 255];
    return layers.reverse().filter((of) => of.length).reduce((below, layer) => mixed(layer, below), start);
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.trim();
    if (!text || !element.checkVisibility({ visibilityProperty: true }) || element.closest("script, style, template, .visually-hidden, option")) continue;
    const style = getComputedStyle(element);
    const back = behind(element);
    const front = mixed(channels(element instanceof SVGElement ? style.fill : style.color), back);
    const [high, low] = [luminance(front), luminance(back)].sort((one, other) => other - one);
    const contrast = (high + 0.05) / (low + 0.05);
    if (contrast < least) found.push(`${text}: ${contrast.toFixed(2)}`);
  }
  return found;
};
