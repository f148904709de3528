/* Runs in the page before anything else: tells of violations of the policy, and judges what is shown. */

addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
  globalThis.violated(`${violatedDirective} ${blockedURI}`),
);

const paint = () => document.createElement('canvas').getContext('2d', { willReadFrequently: true });

/** Red, green and blue from 0 to 255, and the opacity from 0 to 1, of any colour that CSS computes. */
function rgba(context, colour) {
  context.clearRect(0, 0, 1, 1);
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  const [red, green, blue, alpha] = context.getImageData(0, 0, 1, 1).data;
  return [red, green, blue, alpha / 255];
}

const over = ([red, green, blue, alpha], below) =>
  [red, green, blue].map((part, index) => part * alpha + below[index] * (1 - alpha));

/** The relative luminance of WCAG 2. */
function luminance(colour) {
  const [red, green, blue] = colour.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function withAncestors(element) {
  const all = [];
  for (let at = element; at; at = at.parentElement) all.unshift(getComputedStyle(at));
  return all;
}

globalThis.judge = {
  /** Clicks an element, or says what stands in the way. */
  press(element) {
    element.scrollIntoView({ block: 'center', behavior: 'instant' });
    const { left, top, width, height } = element.getBoundingClientRect();
    const hit = document.elementFromPoint(left + width / 2, top + height / 2);
    if (!element.contains(hit)) return `covered by ${hit?.outerHTML.slice(0, 80)}`;
    if (element.matches(':disabled')) return 'disabled';
    element.click();
    return 'pressed';
  },

  /** Every shown text, with its contrast to the colours behind it. */
  contrasts() {
    // A colour that is on its way to another is none that anybody reads.
    for (const animation of document.getAnimations()) {
      if (animation instanceof CSSTransition) animation.finish();
    }
    const context = paint();
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    while (texts.nextNode()) {
      const { parentElement: element, textContent } = texts.currentNode;
      const text = textContent.trim();
      if (text === '' || element.closest('option, script, noscript')) continue;
      if (!element.checkVisibility({ visibilityProperty: true })) continue;
      const styles = withAncestors(element);
      const ground = styles.reduce(
        (below, { backgroundColor }) => over(rgba(context, backgroundColor), below),
        [255, 255, 255],
      );
      const [red, green, blue, alpha] = rgba(context, getComputedStyle(element).color);
      const opacity = styles.reduce((product, style) => product * Number(style.opacity), alpha);
      const [dark, light] = [luminance(over([red, green, blue, opacity], ground)), luminance(ground)].sort(
        (a, b) => a - b,
      );
      found.push({ text: text.slice(0, 40), contrast: (light + 0.05) / (dark + 0.05) });
    }
    return found;
  },

  /** By how many pixels the page is wider than its window. */
  overflow: () => document.documentElement.scrollWidth - document.documentElement.clientWidth,

  /** What the page has stored, in words. */
  async stored() {
    const databases = await indexedDB.databases();
    return [
      ...Object.keys(localStorage),
      ...Object.keys(sessionStorage),
      document.cookie,
      ...databases.map(({ name }) => name),
    ].filter((name) => name !== '');
  },
};
