import { RESOURCE_NAME, RESOURCE_NAME_RULE } from '../output/manifests.ts';
import { matching, refusedArgument } from '../terminal/globals.ts';

/* The options of commands that print custom resources for `kubectl apply`. */

export const resourceName = matching(RESOURCE_NAME, RESOURCE_NAME_RULE);

export const IN_NAMESPACE = ['--namespace <namespace>', 'the namespace that Muster follows', resourceName] as const;

function yaml(form: string): string {
  if (form === 'yaml') return form;
  throw refusedArgument('It is yaml, the one form of a manifest.');
}
export const YAML = ['-o, --output <format>', 'the form of stdout: yaml', yaml] as const;
