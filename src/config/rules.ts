import * as z from 'zod';
import { parseDuration } from '../time/duration.ts';

/* Rules that several variables have. The message of a rule is also its text in docs/CONFIGURATION.md. */

declare module 'zod' {
  interface GlobalMeta {
    /** The effect, in words, when a variable without a default is not set. */
    unset?: string;
    /** The value opens something: it is never shown. */
    secret?: true;
  }
}

export const whole = (min: number, max: number): z.ZodPipe<z.ZodString, z.ZodTransform<number, string>> =>
  z.string().transform((value, ctx) => {
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
    if (number >= min && number <= max) return number;
    ctx.addIssue(`must be a whole number from ${min} to ${max}`);
    return z.NEVER;
  });

/** A duration with its unit; milliseconds. @param min such as `5m` @param max such as `30d` */
export const duration = (min: string, max: string): z.ZodPipe<z.ZodString, z.ZodTransform<number, string>> =>
  z.string().transform((value, ctx) => {
    const ms = parseDuration(value) ?? Number.NaN;
    if (ms >= (parseDuration(min) ?? 0) && ms <= (parseDuration(max) ?? 0)) return ms;
    ctx.addIssue(`must be a duration from ${min} to ${max}, such as 90s, 5m, 12h or 7d`);
    return z.NEVER;
  });

/** The seconds that a connection stays open without a request. A stranger's, which is told 5, is never kept longer. */
export const idleSeconds = whole(5, 604_800);

/** Longer than the 60 s for which most clients and load balancers keep a connection. */
export const IDLE_SECONDS = 65;
/** Longer than the proxies keep one that have no setting for it: 600 s at Google's load balancers. */
export const IDLE_BEHIND_PROXIES_SECONDS = 620;
/** The idle time of a listener that none is set for. */
export const IDLE_UNSET = `\`${IDLE_SECONDS}\`, and \`${IDLE_BEHIND_PROXIES_SECONDS}\` with \`MUSTER_TRUSTED_PROXIES\``;

export const file = z.string().min(1, 'must be the path of a file');

export const words = (max: number): z.ZodString => {
  const rule = `must have 1 to ${max} characters`;
  return z.string().min(1, rule).max(max, rule);
};
