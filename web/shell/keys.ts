import { useEffect, useRef } from 'preact/hooks';
import { browserKeeps } from '../ui/kept.ts';

/* Single keys that do something on a page, outside of fields and dialogs. */

/** What each key does, in the order in which it is told. */
export type KeyLines = readonly (readonly [key: string, does: string])[];

interface Keys {
  readonly lines: KeyLines;
  /** @returns whether the key was one of these */
  readonly press: (key: string) => boolean;
}

const OFF = 'muster-single-keys-off';
const held = new Set<{ current: Keys }>();

/** Those who speak to their computer turn single keys off, in this browser (WCAG 2.1.4). */
export const areKeysOn = (): boolean => browserKeeps.read(OFF) === undefined;

export function turnKeys(isOn: boolean): void {
  browserKeeps.write(OFF, isOn ? undefined : '1');
}

/** What the keys of this page do. */
export const keyLines = (): KeyLines => [...held].flatMap(({ current }) => current.lines);

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest('input, textarea, select, dialog') !== null;

/** Takes single keys for as long as it is rendered. */
export function useKeys(lines: KeyLines, press: (key: string) => boolean): void {
  const keys = useRef<Keys>({ lines, press });
  keys.current = { lines, press };
  useEffect(() => {
    held.add(keys);
    return () => void held.delete(keys);
  }, []);
}

/** The dialogs that the frame of every page opens. */
interface Opens {
  /** Shows what the keys of this page do. */
  readonly sheet: () => void;
  /** Searches pages, apps and accounts. */
  readonly finder: () => void;
}

let opens: Opens | undefined;
/** @returns a function that ends it */
export function onOpens(frame: Opens): () => void {
  opens = frame;
  return () => (opens = undefined);
}

export const showKeySheet = (): void => opens?.sheet();

/** The keys of every page. */
function pressAnywhere(key: string): boolean {
  if (key === '?') showKeySheet();
  else if (key === '/') {
    const search = document.querySelector<HTMLElement>('main [role=search] input');
    if (search) search.focus();
    else opens?.finder();
  } else return false;
  return true;
}

addEventListener('keydown', (event) => {
  const { key, target, ctrlKey, metaKey, altKey, defaultPrevented } = event;
  if (defaultPrevented || ctrlKey || metaKey || altKey || isTyping(target) || !areKeysOn()) return;
  if ([...held].some(({ current }) => current.press(key)) || pressAnywhere(key)) event.preventDefault();
});
