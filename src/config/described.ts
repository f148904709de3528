import type * as z from 'zod';
import { SECTIONS } from './environment.ts';

/** A variable as documents and people are told of it. */
export interface Described {
  readonly name: string;
  /** The heading that it stands under. */
  readonly section: string;
  /** As it would stand in the environment; undefined where there is none. */
  readonly default: string | undefined;
  /** The value where it is not set, in words; empty where there is a default, or nothing to say. */
  readonly unset: string;
  readonly meaning: string;
  readonly rule: string;
  readonly schema: z.ZodType;
}

/** Every variable of the service, in the order of the document. @throws Error where one has no words */
export function describedVariables(): readonly Described[] {
  return Object.entries(SECTIONS).flatMap(([section, variables]) =>
    Object.entries<z.ZodType>(variables).map(([name, schema]) => {
      const { description, unset = '' } = schema.meta() ?? {};
      if (description === undefined) throw new Error(`${name} has no description`);
      return {
        name,
        section,
        default: defaultOf(schema),
        unset,
        meaning: description,
        rule: ruleOf(name, schema),
        schema,
      };
    }),
  );
}

function defaultOf(schema: z.ZodType): string | undefined {
  const { def } = schema as { def: { type: string; defaultValue?: unknown } };
  return def.type === 'prefault' ? String(def.defaultValue) : undefined;
}

/**
 * The rule of a variable, in the words of the message for a wrong value; the empty text is wrong for every variable.
 */
function ruleOf(name: string, schema: z.ZodType): string {
  const messages = schema.safeParse('').error?.issues.map(({ message }) => message) ?? [];
  if (messages.length === 0) throw new Error(`${name} takes the empty text`);
  return messages.map((message) => message.replace(/^must (?:be |have )?/, '')).join('; ');
}
