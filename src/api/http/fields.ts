import * as z from 'zod';
import { textFault } from './text.ts';

/** A schema for a text of at most so many Unicode code points, without lone surrogates (A1). */
export const text = ({ codePointsMax }: { codePointsMax: number }): z.ZodString =>
  z.string().check((ctx) => {
    const fault = textFault(ctx.value, { codePointsMax });
    if (!fault) return;
    const message =
      fault === 'too_long' ? `must have at most ${codePointsMax} characters` : 'must not contain lone surrogates';
    ctx.issues.push({ code: 'custom', message, input: undefined });
  });

/** A schema for printable ASCII without control characters. */
export const asciiText = (charactersMax: number): z.ZodString =>
  z
    .string()
    .max(charactersMax)
    .regex(/^[\x20-\x7e]*$/, 'must be printable ASCII');
