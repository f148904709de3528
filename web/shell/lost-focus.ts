/*
 * An element that is taken out of the page takes the focus with it, and a keyboard or a screen reader would begin again
 * at the top of the document. The focus goes to what opened the dialog, or else to the heading (WCAG 2.4.3).
 */

/** The element that had the focus last, and its page; undefined once somebody has pressed elsewhere. */
let last: { readonly element: Node; readonly path: string } | undefined;

/** The element outside of dialogs that had the focus last: it has opened the one that is there now. */
let opener: HTMLElement | undefined;

function findFocus(): void {
  if (document.activeElement !== document.body || !last || last.element.isConnected) return;
  const isHere = last.path === location.pathname;
  last = undefined;
  // On another page its content has the focus.
  if (!isHere) return;
  const dialog = [...document.querySelectorAll('dialog[open]')].at(-1);
  if (!dialog && opener?.isConnected === true) return opener.focus({ preventScroll: true });
  const heading = dialog?.querySelector<HTMLElement>('h2') ?? document.querySelector<HTMLElement>('main h1');
  if (!heading) return;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
}

export function keepFocus(): void {
  addEventListener('focusin', ({ target }) => {
    if (!(target instanceof HTMLElement)) return;
    last = { element: target, path: location.pathname };
    if (!target.closest('dialog')) opener = target;
  });
  addEventListener('pointerdown', ({ target }) => {
    if (target instanceof Node && last?.element.contains(target) === false) last = undefined;
  });
  // A dialog that opens, or gives the focus back, comes first.
  new MutationObserver(() => setTimeout(findFocus)).observe(document.body, { childList: true, subtree: true });
}
