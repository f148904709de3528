/*
 * The address of the page: its path, and in its query what the page shows, so that Back, a reload and a link that is
 * sent to somebody show the same. Each step of the browser's history keeps how far its page was scrolled.
 */

export interface Address {
  readonly path: string;
  /** Without its question mark. */
  readonly query: string;
}

/** What a step of the history keeps beside its address. */
interface Step {
  /** Its place among the steps of this tab. */
  readonly index: number;
  /** How far each scroller was scrolled, in pixels; `''` is the window. */
  readonly scrolled: Readonly<Record<string, number>>;
}

/** Safari refuses more than 100 changes of the history within 30 s: the pauses allow 60. Steps take some of them. */
const WRITE_PAUSE_MS = 500;
const WRITES_WITHOUT_PAUSE_MAX = 20;
const WRITES_COUNTED_MS = 30_000;

const here = (): Address => ({ path: location.pathname, query: location.search.slice(1) });

function stepHere(): Step {
  const { index = 0, scrolled = {} } = (history.state ?? {}) as Partial<Step>;
  return { index, scrolled };
}

let current = here();
let step = stepHere();
// A step without a place is then one that the browser has made.
tryTo(() => history.replaceState(step, ''));
/** Changes made right before a step was left, by the place of the step: the browser's history does not have them. */
const unwritten = new Map<number, { readonly step: Step; readonly address: Address }>();
let writing: ReturnType<typeof setTimeout> | undefined;
/** The instants of the writes without a pause. */
let written: readonly number[] = [];
const listeners = new Set<() => void>();

export const currentAddress = (): Address => current;

/** @returns a function that ends it */
export function onAddress(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const textOf = ({ path, query }: Address): string => (query === '' ? path : `${path}?${query}`);

function tell(): void {
  for (const listener of listeners) listener();
}

/** @returns whether the browser did it, which refuses a change of the history that is one too many */
function tryTo(change: () => void): boolean {
  try {
    change();
    return true;
  } catch {
    return false;
  }
}

function write(): void {
  clearTimeout(writing);
  writing = undefined;
  if (!tryTo(() => history.replaceState(step, '', textOf(current)))) writeSoon();
}

function keepUnwritten(): void {
  if (writing === undefined) return;
  clearTimeout(writing);
  writing = undefined;
  unwritten.set(step.index, { step, address: current });
}

function writeSoon(): void {
  writing ??= setTimeout(write, WRITE_PAUSE_MS);
}

/** A reload reads the address that the browser has at its begin: a change that waited would be lost. */
function writeNow(): void {
  const now = performance.now();
  written = written.filter((at) => now - at < WRITES_COUNTED_MS);
  if (written.length >= WRITES_WITHOUT_PAUSE_MAX) return writeSoon();
  written = [...written, now];
  write();
}

/** Changes the query of this page; undefined takes a name out. With `adds` Back leads to the query of before. */
export function changeQuery(change: Readonly<Record<string, string | undefined>>, { adds = false } = {}): void {
  const parameters = new URLSearchParams(current.query);
  for (const [name, value] of Object.entries(change)) {
    if (value === undefined) parameters.delete(name);
    else parameters.set(name, value);
  }
  const query = parameters.toString();
  if (query === current.query) return;
  if (adds) push({ path: current.path, query });
  else {
    current = { ...current, query };
    writeNow();
  }
  tell();
}

function push(to: Address): void {
  if (writing !== undefined) write();
  keepUnwritten();
  step = { index: step.index + 1, scrolled: {} };
  current = to;
  for (const index of unwritten.keys()) if (index >= step.index) unwritten.delete(index);
  if (!tryTo(() => history.pushState(step, '', textOf(to)))) location.assign(textOf(to));
}

/* Whoever has something to lose is asked before the page is left. */

const guards = new Set<object>();
/** The thing that is left: this page, or a dialog on it that shows a secret once. */
export type Left = 'page' | 'dialog';
/** Asks the person; `leave` goes on. */
type Ask = (leave: () => void, left: Left) => void;
let ask: Ask = (leave) => leave();
/** The step at which the page was left without a question is taken back. */
let isReturning = false;
/** The steps that the person has agreed to. */
let agreed: number | undefined;

export function whenLeaving(asks: Ask): void {
  ask = asks;
}

const beforeUnload = (event: BeforeUnloadEvent): void => event.preventDefault();

/** Holds the page until the returned function is called: a link, Back and a reload ask first. */
export function holdPage(): () => void {
  const guard = {};
  guards.add(guard);
  // Browsers keep no page in memory that listens to it.
  addEventListener('beforeunload', beforeUnload);
  return () => {
    guards.delete(guard);
    if (guards.size === 0) removeEventListener('beforeunload', beforeUnload);
  };
}

/** Lets the page go, whatever is lost: its session has ended. */
export function letGo(): void {
  guards.clear();
  removeEventListener('beforeunload', beforeUnload);
}

function guarded(isDone: boolean, leave: () => void): void {
  if (isDone || guards.size === 0) leave();
  else ask(leave, 'page');
}

/** Leaves by another way than a page of the panel, such as the sign-out; asks first where something would be lost. */
export const leaveBy = (leave: () => void): void => guarded(false, leave);

/** Closes a dialog whose secret would be lost, once the person has said so. */
export const closeBy = (close: () => void): void => ask(close, 'dialog');

/**
 * Goes to a page of the panel.
 * @param options `replace` adds no step to the history; `isDone` asks nothing: what the page held is saved
 */
export function goTo(to: string, { replace = false, isDone = false } = {}): void {
  guarded(isDone, () => {
    const { pathname: path, search } = new URL(to, location.origin);
    const address = { path, query: search.slice(1) };
    if (replace) {
      step = { ...step, scrolled: {} };
      current = address;
      write();
    } else push(address);
    restoring = undefined;
    scrollTo(0, 0);
    tell();
    // Those who hear the page learn that it is another one.
    requestAnimationFrame(() => document.querySelector<HTMLElement>('main')?.focus({ preventScroll: true }));
  });
}

addEventListener('popstate', () => {
  if (history.state === null) {
    // A link within the page: it leaves nothing, and is a further step of this page.
    step = { index: step.index + 1, scrolled: step.scrolled };
    tryTo(() => history.replaceState(step, ''));
    return;
  }
  keepUnwritten();
  const to = stepHere();
  const by = to.index - step.index;
  const isBackHere = isReturning && by === 0;
  isReturning = false;
  if (isBackHere) {
    if (unwritten.delete(step.index)) writeSoon();
    return;
  }
  if (by !== 0 && by !== agreed && guards.size > 0) {
    isReturning = true;
    history.go(-by);
    ask(() => {
      agreed = by;
      history.go(by);
    }, 'page');
    return;
  }
  agreed = undefined;
  const kept = unwritten.get(to.index);
  step = kept?.step ?? to;
  current = kept?.address ?? here();
  if (unwritten.delete(to.index)) writeSoon();
  restoring = step.scrolled;
  tell();
  restoreWindow();
});

/* How far the page was scrolled. */

history.scrollRestoration = 'manual';
/** What is still to be scrolled; undefined once the person scrolls, or goes elsewhere. */
let restoring: Step['scrolled'] | undefined = step.scrolled;

/** How far the scroller of a name was scrolled at this step. */
export const scrolledHere = (name: string): number | undefined => restoring?.[name];

function restoreWindow(): void {
  const wanted = restoring?.[''];
  if (wanted === undefined || wanted === 0) return;
  // The page of before may be long enough, and this one grows as it reads.
  scrollTo(0, wanted);
}

addEventListener(
  'scroll',
  ({ target }) => {
    const name = target instanceof HTMLElement ? target.dataset['scroller'] : '';
    if (name === undefined) return;
    const top = target instanceof HTMLElement ? target.scrollTop : scrollY;
    // What is still being restored is not overwritten by a page that is too short yet.
    if (restoring?.[name] !== undefined && restoring[name] > top) return;
    step = { ...step, scrolled: { ...step.scrolled, [name]: top } };
    writeSoon();
  },
  { capture: true, passive: true },
);
for (const event of ['wheel', 'touchstart', 'keydown', 'pointerdown']) {
  addEventListener(event, () => (restoring = undefined), { passive: true, capture: true });
}
new ResizeObserver(restoreWindow).observe(document.documentElement);
addEventListener('pagehide', () => {
  if (writing !== undefined) write();
});
