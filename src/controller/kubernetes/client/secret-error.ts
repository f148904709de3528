import { KubeError } from './kube-api.ts';

/*
 * Whoever admits a Secret sees its values, and the words of a policy or a webhook may quote them, as they are or in
 * another shape. So the words of a refusal are repeated only where they are those of the API server itself, which name
 * objects, rights and quotas.
 */

/** The action on a Secret. */
export type SecretVerb = 'write' | 'delete' | 'read';

/** A request for a Secret that failed. Its message has no words that may quote a value, and it has no cause. */
export class SecretError extends KubeError {
  readonly verb: SecretVerb;
  readonly secretName: string;

  constructor(verb: SecretVerb, secretName: string, error: KubeError) {
    super(error.reason, error.status, safeSecretWords(error), error.retryAfterMs);
    this.verb = verb;
    this.secretName = secretName;
  }
}

const QUOTED = String.raw`"[^"\\]{1,253}"`;
const NAME = String.raw`[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?`;
const AMOUNTS = String.raw`[-\w./=,]{1,200}`;

/** The words before which the API server names the object, as in `secrets "one" is forbidden: `. */
const SUBJECT = String.raw`^(?:the API server answered \d{3}: )?(?:secrets (?:${QUOTED} )?is forbidden: )?`;

/**
 * Words of the API server itself, from the beginning of its message: what follows on them is left out. Of a quota the
 * amount that is used is left out as well, since it changes.
 */
const OWN_WORDS: readonly RegExp[] = [
  `(User ${QUOTED} cannot [a-z]{1,20} resource "secrets" in API group "" in the namespace ${QUOTED})`,
  `(exceeded quota: ${NAME}, requested: ${AMOUNTS}), used: ${AMOUNTS}, (limited: ${AMOUNTS})`,
  `(status unknown for quota: ${NAME})`,
  `((?:Validating|Mutating)AdmissionPolicy '${NAME}' with binding '${NAME}' denied request)`,
  `(admission webhook ${QUOTED} denied the request)`,
  `(?:Internal error occurred: )?(failed calling webhook ${QUOTED})`,
  `(unable to create new content in namespace ${NAME} because it is being terminated)`,
].map((words) => new RegExp(`${SUBJECT}${words}`));

/**
 * The words of a failed request for a Secret that cannot hold a value of it: a known sentence of the API server, or the
 * status of its answer.
 */
export function safeSecretWords({ message, status }: Pick<KubeError, 'message' | 'status'>): string {
  for (const shape of OWN_WORDS) {
    const found = shape.exec(message);
    if (found) return found.slice(1).join(', ');
  }
  if (status === 0) return 'no answer of the API server that can be read';
  return `the API server answered ${status}, in words that are left out since they may quote the Secret`;
}
