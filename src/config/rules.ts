import * as z from 'zod';
import { DURATION_FORMS, durationWithin } from '../time/duration.ts';

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
    const ms = durationWithin(value, min, max);
    if (ms !== undefined) return ms;
    ctx.addIssue(`must be a duration from ${min} to ${max}, such as ${DURATION_FORMS}`);
    return z.NEVER;
  });

export const file = z.string().min(1, 'must be the path of a file');

export const words = (max: number): z.ZodString => {
  const rule = `must have 1 to ${max} characters`;
  return z.string().min(1, rule).max(max, rule);
};
