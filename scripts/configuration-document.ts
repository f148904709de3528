import type * as z from 'zod';
import { SECTIONS } from '../src/config/environment.ts';

const HEAD = `# Configuration

<!-- Written by \`npm run docs\` from src/config/environment.ts. -->

The service is configured by its environment. It refuses to start with a wrong value, and names the variable and the rule,
never the value. A variable that is empty counts as not set. \`muster doctor\` checks a configuration without starting the
service. The Helm chart sets these variables from its [values](../charts/muster/README.md). Beside them the role
\`kubernetes\` reads \`KUBECONFIG\`, as every client of Kubernetes does; without it the service account of the pod counts.
`;

/** The text of docs/CONFIGURATION.md, before it is formatted. */
export function configurationDocument(): string {
  return [HEAD, ...Object.entries(SECTIONS).map(([title, variables]) => section(title, variables))].join('\n');
}

function section(title: string, variables: Readonly<Record<string, z.ZodType>>): string {
  const rows = Object.entries(variables).map(([name, schema]) => rowOf(name, schema));
  return [`## ${title}\n`, ['Variable', 'Default', 'Meaning', 'Rule'], ['---', '---', '---', '---'], ...rows, '']
    .map((cells) => (typeof cells === 'string' ? cells : `| ${cells.join(' | ')} |`))
    .join('\n');
}

/** @throws Error where a variable has no description, or its rule no words */
function rowOf(name: string, schema: z.ZodType): readonly string[] {
  const { description, unset = '' } = schema.meta() ?? {};
  if (description === undefined) throw new Error(`${name} has no description`);
  return [`\`${name}\``, defaultOf(schema) ?? unset, description, ruleOf(name, schema)];
}

/** The default as it would stand in the environment. */
function defaultOf(schema: z.ZodType): string | undefined {
  const { def } = schema as { def: { type: string; defaultValue?: unknown } };
  return def.type === 'prefault' ? `\`${String(def.defaultValue)}\`` : undefined;
}

/**
 * The rule of a variable, in the words of the message for a wrong value; the empty text is wrong for every variable.
 */
function ruleOf(name: string, schema: z.ZodType): string {
  const messages = schema.safeParse('').error?.issues.map(({ message }) => message) ?? [];
  if (messages.length === 0) throw new Error(`${name} takes the empty text`);
  return messages.map((message) => message.replace(/^must (?:be |have )?/, '')).join('; ');
}
