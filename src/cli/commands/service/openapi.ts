import type { ApiName } from '../../../api/openapi/apis.ts';
import { documentOf } from '../../../api/openapi/document.ts';
import type { Invocation } from '../../terminal/invocation.ts';

/** Prints the OpenAPI document of an API as this version of the command has it; no service is asked. */
export async function printDocument({ terminal }: Pick<Invocation, 'terminal'>, api: ApiName): Promise<void> {
  await terminal.stdout.write(`${JSON.stringify(documentOf(api), undefined, 2)}\n`);
}
