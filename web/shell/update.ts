import { tabKeeps } from '../ui/kept.ts';

/* Another version of the service under an open page: its files have other names. */

/** When this tab was last loaded anew for another version, and whether its person was told. */
const RELOADED = 'muster-updated';
const TOLD = ' told';
/** Behind a balancer the first page and its files may come from replicas of two versions for a while. */
const AGAIN_MS = 30_000;

const reloadedAt = (): number => Number.parseInt(tabKeeps.read(RELOADED) ?? '0', 10);

/** Whether the service answers, and its first page leads to other files than the one that is open. */
export async function isUpdated(): Promise<boolean> {
  if (Date.now() - reloadedAt() < AGAIN_MS) return false;
  try {
    const page = await (await fetch('/', { cache: 'no-store', redirect: 'error' })).text();
    const own = [...document.scripts].map(({ src }) => new URL(src).pathname);
    return own.some((path) => !page.includes(path));
  } catch {
    return false;
  }
}

/**
 * Loads this page anew for another version. A tab that cannot keep when it did so might never end: its person does it.
 * @returns whether it is loaded anew
 */
export function reloadUpdated(): boolean {
  const isKept = tabKeeps.write(RELOADED, String(Date.now()));
  if (isKept) location.reload();
  return isKept;
}

/** Whether this page was loaded anew for another version; told once. */
export function takeUpdated(): boolean {
  const kept = tabKeeps.read(RELOADED);
  if (kept === undefined || kept.endsWith(TOLD)) return false;
  tabKeeps.write(RELOADED, `${kept}${TOLD}`);
  return true;
}
