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

  /** The rows of a table by the instants in them, with the texts of their cells. */
  timedRows: (table) =>
    [...table.querySelectorAll('tr:has(time)')].map((row) => [
      Date.parse(row.querySelector('time').dateTime),
      [...row.querySelectorAll('td')].map(({ textContent }) => textContent).join(' '),
    ]),

  /** Whether a line of a chart is in one of its columns. `share`: of its width; `token`: of the line's colour. */
  hasLine(chart, share, token) {
    const canvas = chart.querySelector('canvas');
    const [frame, plot] = [canvas, chart.querySelector('.u-over')].map((one) => one.getBoundingClientRect());
    const x = (plot.left - frame.left + plot.width * share) * (canvas.width / frame.width);
    const probe = chart.appendChild(document.createElement('span'));
    probe.style.color = `var(${token})`;
    const wanted = rgba(paint(), getComputedStyle(probe).color);
    probe.remove();
    const { data } = canvas.getContext('2d').getImageData(Math.round(x), 0, 1, canvas.height);
    const isLine = (at) => [0, 1, 2].every((part) => Math.abs(wanted[part] - data[at + part]) < 12);
    return Array.from({ length: data.length / 4 }, (_, pixel) => 4 * pixel).some(isLine);
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
