import type { Operation, BodyField } from '../../../src/api/contract/operation.ts';
import { documentOf } from '../../../src/api/openapi/document.ts';
import type { Call } from '../service/muster.ts';

/* A request of any operation of the panel, made of its example in the document. */

interface Document {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<Record<string, { readonly requestBody?: { content: Record<string, { readonly example?: object }> } }>>
    >
  >;
}

/**
 * Fields that the examples leave out, since with the others they would do harm, with a value for which a proof is
 * needed.
 */
const LEFT_OUT: Readonly<Record<string, unknown>> = { adoptableBy: 'production/acme', operator: true, role: 'support' };

/** The path of an operation below `/panel/v1`, with the account and ids of records that are not there. */
export const pathOf = (path: string, accountId: string): string =>
  path
    .replace('/panel/v1', '')
    .replace(':accountId', accountId)
    .replace(':appId', 'k3v9x0q2m7t5b8n1c4d6')
    .replace(':keyId', 'n4c8r2w6y1z5')
    .replace(':entryId', `k3v9x0q2m7t5b8n1c4d6-${'a'.repeat(32)}`)
    .replace(':userId', 'p7q2r9s4t1u6v3w8')
    .replace(':linkId', 'h5j1k8m3n6p2')
    .replace(':tokenId', 't7w3k9d2x5q8')
    .replace(/:\w+/, 'a'.repeat(43));

let document: Document | undefined;

/** A request of an operation, with the path below `/panel/v1`. */
interface OperationRequest {
  readonly path: string;
  readonly request: Call;
}

/** The request of an operation by its example, with the ids of records that are not there, but for the account. */
export function operationRequest(
  { method, path }: Pick<Operation, 'method' | 'path'>,
  accountId: string,
  more: object = {},
): OperationRequest {
  document ??= documentOf('panel') as Document;
  const template = path.replaceAll(/:(\w+)/g, '{$1}');
  const example = document.paths[template]?.[method]?.requestBody?.content['application/json']?.example;
  return {
    path: pathOf(path, accountId),
    request: { method: method.toUpperCase(), ...(method !== 'get' && { body: { ...example, ...more } }) },
  };
}

/** Requests of an operation that need a proof: one for each field that decides it. */
export function requestsNeedingProof(
  operation: Pick<Operation, 'method' | 'path' | 'freshProof'>,
  accountId: string,
): readonly OperationRequest[] {
  const { freshProof } = operation;
  if (!Array.isArray(freshProof)) return [operationRequest(operation, accountId)];
  return freshProof.map((rule: BodyField<string>) =>
    operationRequest(
      operation,
      accountId,
      typeof rule === 'object' ? { [rule.field]: rule.is } : { [rule]: LEFT_OUT[rule] },
    ),
  );
}
