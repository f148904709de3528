import { currentAddress, letGo } from '../address/address.ts';
import { tabKeeps, valueOf } from '../ui/kept.ts';
import { routeOf } from './router.ts';

/*
 * The way to the sign-in page and back. The page to return to is kept by this tab until it is signed in; no address
 * names it, so no link can lead elsewhere.
 */

/** Why nobody is signed in: the session ended under an open page, a page was opened without one, or a sign-out. */
type Why = 'ended' | 'asked' | 'signed-out';

const PLACE = 'muster-return';

let isLeaving = false;

/**
 * Leaves for the sign-in page with all that the page holds in memory. The first reason counts: what was under way is
 * refused while the sign-in page is on its way.
 * @param to where the provider ends its session
 */
export function leave(why: Why, to = '/sign-in'): void {
  if (isLeaving) return;
  isLeaving = true;
  const { path, query } = currentAddress();
  const page = why === 'signed-out' ? '' : query === '' ? path : `${path}?${query}`;
  // The first address alone asks for no page: there is nothing to say of it.
  if (why === 'asked' && NO_RETURN.has(routeOf(path).page)) forgetReturn();
  else tabKeeps.write(PLACE, JSON.stringify({ why, page }));
  letGo();
  location.replace(to);
}

function left(): { readonly why: Why | undefined; readonly page: string } {
  const { why, page } = (valueOf(tabKeeps.read(PLACE)) ?? {}) as { why?: Why; page?: unknown };
  return { why, page: typeof page === 'string' ? page : '' };
}

export const whyLeft = (): Why | undefined => left().why;

const NO_RETURN = new Set(['home', 'unknown', 'sign-in', 'link', 'proved']);

/** Forgets it: the person is signed in, and has gone on by another way. */
export const forgetReturn = (): boolean => tabKeeps.write(PLACE, undefined);

/** The page that was left, once; undefined where there is none. */
export function takeReturn(): string | undefined {
  const { page } = left();
  forgetReturn();
  const { page: name } = routeOf(page.split('?', 1)[0] ?? '');
  return NO_RETURN.has(name) ? undefined : page;
}
