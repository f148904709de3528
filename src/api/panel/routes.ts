import { changeMe, endMySession, listMySessions, readMe, signOut } from './operations/me.ts';

/** The operations of `/panel/v1`. */
export const ROUTES = [readMe, changeMe, signOut, listMySessions, endMySession] as const;
