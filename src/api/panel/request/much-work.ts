import type { RouteOptions } from '../../serve/route.ts';

/** P9: a read that somebody asks for, and no page by itself: it is much work. */
export const MUCH_WORK: RouteOptions = { charged: 'change' };
