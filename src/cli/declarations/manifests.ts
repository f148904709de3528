import { RESOURCE_NAME, RESOURCE_NAME_RULE } from '../output/manifests.ts';
import { matching, refusedArgument } from '../terminal/globals.ts';

/* The options of commands that print custom resources for `kubectl apply`. */

export const resourceName = matching(RESOURCE_NAME, RESOURCE_NAME_RULE);

export const IN_NAMESPACE = ['--namespace <namespace>', 'the namespace that Muster follows', resourceName] as const;

/** The UID of a namespace, as `kubectl get namespace NAME -o jsonpath={.metadata.uid}` prints it. */
export const NAMESPACE_UID = [
  '--namespace-uid <uid>',
  'the UID of that namespace; by default Muster asks the cluster for it',
  matching(/^[A-Za-z0-9-]{1,128}$/, 'It is 1 to 128 letters, digits and hyphens.'),
] as const;

function yaml(form: string): string {
  if (form === 'yaml') return form;
  throw refusedArgument('It is yaml, the one form of a manifest.');
}
export const YAML = ['-o, --output <format>', 'the form of stdout: yaml', yaml] as const;
