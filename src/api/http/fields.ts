import * as z from 'zod';
import { mappedLogin } from '../../text/logins.ts';
import { hasUnseen } from '../../text/names.ts';
import { textFault } from './text.ts';

/**
 * A schema for a text of at most so many Unicode code points, without lone surrogates (A1).
 * @param trimmed blanks around it are left out, and do not count
 */
export const text = ({ codePointsMax, trimmed = false }: { codePointsMax: number; trimmed?: boolean }): z.ZodString =>
  (trimmed ? z.string().trim() : z.string())
    .check((ctx) => {
      const fault = textFault(ctx.value, { codePointsMax });
      if (!fault) return;
      const message =
        fault === 'too_long' ? `must have at most ${codePointsMax} characters` : 'must not contain lone surrogates';
      ctx.issues.push({ code: 'custom', message, input: undefined });
    })
    // JSON Schema counts code points, too.
    .meta({ maxLength: codePointsMax });

type Judgement = z.core.CheckFn<string>;

/** Refuses a text that is not as a rule has it. A text that is too long is not looked through. */
const ruled =
  (codePointsMax: number, isSound: (value: string) => boolean, message: string): Judgement =>
  (ctx) => {
    if (textFault(ctx.value, { codePointsMax }) !== undefined || isSound(ctx.value)) return;
    ctx.issues.push({ code: 'custom', message, input: undefined });
  };

/** The rule of `nameText`, which the documents tell in words: no pattern tells it in every language. */
const SEEN_ONLY = 'must not contain control, invisible or direction-changing characters';
/** The rule of `loginText`, likewise. */
const IDENTIFIERS_ONLY = 'must consist of letters, digits and ASCII punctuation, each part in one direction of writing';

/** A description of a field of `nameText` with its rule. */
export const describedName = (description: string): string => `${description} It ${SEEN_ONLY}.`;
/** A description of a field of `loginText` with its rule. */
export const describedLogin = (description: string): string => `${description} It ${IDENTIFIERS_ONLY}.`;

/**
 * A schema for the name of a person, an account or a key: without blanks around it, and without a character that is not
 * seen or turns the direction of a text.
 */
export const nameText = ({ codePointsMax }: { codePointsMax: number }): z.ZodString =>
  text({ codePointsMax, trimmed: true }).check(ruled(codePointsMax, (name) => !hasUnseen(name), SEEN_ONLY));

/** A schema for a new name to sign in with, as PRECIS has it (RFC 8265, 3.3). */
export const loginText = ({ codePointsMax }: { codePointsMax: number }): z.ZodString =>
  nameText({ codePointsMax })
    .min(1)
    .check(ruled(codePointsMax, (login) => login === '' || mappedLogin(login) !== undefined, IDENTIFIERS_ONLY));

/** A schema for printable ASCII without control characters. */
export const asciiText = (charactersMax: number): z.ZodString =>
  z
    .string()
    .max(charactersMax)
    .regex(/^[\x20-\x7e]*$/, 'must be printable ASCII');

const TYPES: Readonly<Record<string, string>> = {
  string: 'must be a text',
  boolean: 'must be true or false',
  number: 'must be a number',
  int: 'must be a whole number',
  array: 'must be a list',
  object: 'must be an object',
  record: 'must be an object',
};
const COUNTED: Readonly<Record<string, string>> = { string: 'character', array: 'entry' };

/**
 * Says what is wrong with a field whose schema has no words of its own: it names the rule, and never the value that
 * came. The library's own words would name its types and patterns.
 */
export function wordsOfIssue(issue: z.core.$ZodRawIssue): string {
  if (issue.code === 'invalid_type') {
    return `${issue.input === undefined ? 'is missing: it ' : ''}${TYPES[issue.expected] ?? 'is of another type'}`;
  }
  if (issue.code === 'too_small') return `must ${bound('least', issue.origin, issue.minimum)}`;
  if (issue.code === 'too_big') return `must ${bound('most', issue.origin, issue.maximum)}`;
  if (issue.code === 'invalid_value') return `must be ${oneOf(issue.values.map(String))}`;
  return 'has not the form that it must have';
}

/** Numbers are bounded as they are, texts and lists by how many they have. */
function bound(side: 'least' | 'most', origin: string, count: number | bigint): string {
  const counted = COUNTED[origin];
  if (counted === undefined) return `be at ${side} ${count}`;
  const plural = counted.endsWith('y') ? `${counted.slice(0, -1)}ies` : `${counted}s`;
  return `have at ${side} ${count} ${count === 1 ? counted : plural}`;
}

const oneOf = (values: readonly string[]): string =>
  values.length < 2 ? values.join('') : `${values.slice(0, -1).join(', ')} or ${values.at(-1)}`;
