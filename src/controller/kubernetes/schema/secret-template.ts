import * as z from 'zod';
import { annotations, ENTRIES_MAX, KEY_RULES, labels } from '../../../config/kubernetes-names.ts';
import { rules } from './common.ts';

/* The labels and annotations that a resource gives its Secret, for other tools. The type of the Secret stays Opaque. */

/** The operator judges as the API server does: the definition may be of another version. */
const described = (map: typeof labels, what: string) =>
  map
    .meta({
      maxProperties: ENTRIES_MAX,
      ...rules(
        ...KEY_RULES.map(({ pattern, isRefused, message }) => ({
          rule: `self.all(key, ${isRefused ? '!' : ''}key.matches('${pattern}'))`,
          message,
        })),
      ),
    })
    .optional()
    .describe(what);

/** `spec.secretTemplate` of each kind that makes a Secret. */
export const secretTemplate = z
  .object({
    labels: described(labels, 'Labels of the Secret, at most 16.'),
    annotations: described(annotations, 'Annotations of the Secret, at most 16.'),
  })
  .optional()
  .describe(
    'Labels and annotations of the Secret that Muster makes. Keys under kubernetes.io, k8s.io, helm.sh and muster.dev cannot be set.',
  );
