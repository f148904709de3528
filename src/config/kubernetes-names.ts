import * as z from 'zod';

/* The rules of the variables that name objects of Kubernetes, or label them. */

const NAMESPACES_MAX = 1000;
const NAMESPACE = '[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?';
/** Whether Kubernetes takes the name for a namespace. */
/** The name of one namespace. */
export const NAMESPACE_NAME = new RegExp(`^${NAMESPACE}$`);
export const isNamespace = (name: string): boolean => NAMESPACE_NAME.test(name);
/** Names of namespaces, with commas between them. */
export const namespaces = z.string().transform((value, ctx): readonly string[] => {
  const named = [...new Set(value.split(','))];
  if (named.length <= NAMESPACES_MAX && named.every(isNamespace)) {
    return named;
  }
  ctx.addIssue(`must be at most ${NAMESPACES_MAX} names of namespaces with commas between them`);
  return z.NEVER;
});

const LABEL_NAME = '[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?';
/** A qualified name: a DNS subdomain and a slash, which may be left out, and a name of at most 63 characters. */
const LABEL_KEY = `([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?${LABEL_NAME}`;
const LABEL_VALUE = `(${LABEL_NAME})?`;
const REQUIREMENT = `(?:!?${LABEL_KEY}|${LABEL_KEY} ?(?:=|==|!=) ?${LABEL_VALUE}|${LABEL_KEY} (?:in|notin) \\(${LABEL_VALUE}(?:, ?${LABEL_VALUE})*\\))`;
/** A selector of labels as kubectl takes it. */
export const labelSelector = z
  .string()
  .max(4096, 'must have at most 4096 characters')
  .regex(
    new RegExp(`^${REQUIREMENT}(?:, ?${REQUIREMENT})*$`),
    'must be a selector of labels as kubectl takes it, as in team=a,env in (test, live),!legacy',
  );

/** An object of Kubernetes by its namespace and name. */
export const namespacedName = z
  .string()
  .max(253)
  .regex(new RegExp(`^${NAMESPACE}/[a-z0-9](?:[-a-z0-9.]{0,187}[a-z0-9])?$`), 'must be NAMESPACE/NAME');

/** The rules of the keys of labels and annotations. Their patterns mean the same to Kubernetes. */
export const KEY_RULES = [
  { pattern: `^${LABEL_KEY}$`, isRefused: false, message: 'keys must be qualified names, as in example.com/name' },
  // Keys of Kubernetes, of Helm and of Muster change what these programs do with the object.
  {
    pattern: '^([-a-z0-9.]*[.])?(kubernetes[.]io|k8s[.]io|helm[.]sh|muster[.]dev)/',
    isRefused: true,
    message: 'keys under kubernetes.io, k8s.io, helm.sh and muster.dev cannot be set',
  },
] as const;
export const ENTRIES_MAX = 16;

const entriesOf = (value: z.ZodString): z.ZodRecord<z.ZodString, z.ZodString> =>
  KEY_RULES.reduce(
    (map, { pattern, isRefused, message }) =>
      map.refine((all) => Object.keys(all).every((key) => new RegExp(pattern).test(key) !== isRefused), message),
    z
      .record(z.string(), value)
      .refine((map) => Object.keys(map).length <= ENTRIES_MAX, `at most ${ENTRIES_MAX} entries`),
  );
/** Labels that Muster gives an object. */
export const labels = entriesOf(
  z
    .string()
    .max(63)
    .regex(new RegExp(`^${LABEL_VALUE}$`)),
);
/** Annotations that Muster gives an object. */
export const annotations = entriesOf(z.string().max(4096));

const secretTemplate = z.strictObject({ labels: labels.optional(), annotations: annotations.optional() });
export type SecretTemplate = z.infer<typeof secretTemplate>;

const TEMPLATE_CHARACTERS_MAX = 65_536;
/** The labels and annotations of all Secrets that Muster makes. A message names no part of the value. */
export const secretTemplateText = z.string().transform((text, ctx): SecretTemplate => {
  const parsed = text.length > TEMPLATE_CHARACTERS_MAX ? undefined : secretTemplate.safeParse(jsonOf(text)).data;
  if (parsed !== undefined) return parsed;
  ctx.addIssue(
    `must be JSON as {"labels":{"example.com/team":"a"},"annotations":{}}, with at most ${ENTRIES_MAX} of each and ` +
      `${TEMPLATE_CHARACTERS_MAX} characters; ${KEY_RULES.map(({ message }) => message).join('; ')}`,
  );
  return z.NEVER;
});

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The scope in which the operator may watch. */
export const scope = z.enum(['cluster', 'namespaces'], 'must be cluster or namespaces');
