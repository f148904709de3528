import * as z from 'zod';
import { rules, type Rule } from './common.ts';

/* The labels and annotations that a resource gives its Secret, for other tools. The type of the Secret stays Opaque. */

const ENTRIES_MAX = 16;
const ANNOTATION_CHARACTERS_MAX = 4096;
/** A qualified name: a DNS subdomain and a slash, which may be left out, and a name of at most 63 characters. */
const KEY = '^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$';
/** Keys of Kubernetes, of Helm and of Muster change what these programs do with the Secret. */
const RESERVED = '^([-a-z0-9.]*[.])?(kubernetes[.]io|k8s[.]io|helm[.]sh|muster[.]dev)/';
const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

const SYNTAX = 'keys must be qualified names, as in example.com/name';
const OWNERS = 'keys under kubernetes.io, k8s.io, helm.sh and muster.dev cannot be set';

/** The operator judges as the API server does: the definition may be of another version. */
const judged = (
  pattern: string,
  message: string,
  isRefused: boolean,
): { readonly rule: Rule; readonly holds: (map: Readonly<Record<string, string>>) => boolean } => ({
  rule: { rule: `self.all(key, ${isRefused ? '!' : ''}key.matches('${pattern}'))`, message },
  holds: (map) => Object.keys(map).every((key) => new RegExp(pattern).test(key) !== isRefused),
});
const syntax = judged(KEY, SYNTAX, false);
const owners = judged(RESERVED, OWNERS, true);

const mapOf = (value: z.ZodType<string, string>, what: string) =>
  z
    .record(z.string(), value)
    .refine((map) => Object.keys(map).length <= ENTRIES_MAX, `at most ${ENTRIES_MAX} entries`)
    .refine(syntax.holds, SYNTAX)
    .refine(owners.holds, OWNERS)
    .meta({ maxProperties: ENTRIES_MAX, ...rules(syntax.rule, owners.rule) })
    .optional()
    .describe(what);

/** `spec.secretTemplate` of each kind that makes a Secret. */
export const secretTemplate = z
  .object({
    labels: mapOf(z.string().max(63).regex(LABEL_VALUE), 'Labels of the Secret, at most 16.'),
    annotations: mapOf(z.string().max(ANNOTATION_CHARACTERS_MAX), 'Annotations of the Secret, at most 16.'),
  })
  .optional()
  .describe(
    'Labels and annotations of the Secret that Muster makes. Keys under kubernetes.io, k8s.io, helm.sh and muster.dev cannot be set.',
  );
export type SecretTemplate = NonNullable<z.infer<typeof secretTemplate>>;
