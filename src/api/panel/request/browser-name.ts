import { LIMITS } from '../../../domain/limits.ts';

/*
 * The User-Agent in a few words, for the list of one's own sessions. It is a hint for people; nothing is decided by it.
 */

const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdgA?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bFirefox\//, 'Firefox'],
  [/\b(?:Chrome|Chromium|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
  [/\bcurl\//, 'curl'],
];
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\bAndroid\b/, 'Android'],
  [/\biPhone|iPad\b/, 'iOS'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bLinux\b/, 'Linux'],
];

/** Such as `Firefox on Linux`; `Unknown browser` where the text tells none. */
export function browserName(userAgent: string | undefined): string {
  const text = (userAgent ?? '').slice(0, 1000);
  const nameIn = (names: typeof BROWSERS): string | undefined => names.find(([pattern]) => pattern.test(text))?.[1];
  const browser = nameIn(BROWSERS) ?? 'Unknown browser';
  const system = nameIn(SYSTEMS);
  return (system === undefined ? browser : `${browser} on ${system}`).slice(0, LIMITS.browserCharactersMax);
}
