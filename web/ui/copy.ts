import { common } from '../text/common.ts';

/** Copies a text, or selects where it stands so that the person can. @returns what is to be said of it */
export async function copy(text: string, shownIn: HTMLElement | null | undefined): Promise<string> {
  // A page that comes by plain http from another machine has no clipboard.
  const clipboard = navigator.clipboard as Clipboard | undefined;
  try {
    if (!clipboard) throw new Error('There is no clipboard.');
    await clipboard.writeText(text);
    return common.copied;
  } catch {
    if (!shownIn) return common.copyFailed;
    getSelection()?.selectAllChildren(shownIn);
    return common.copyByHand;
  }
}
