import type { ReconcileContext } from './kind.ts';
import type { Resource } from './resource.ts';

/**
 * Whether a resource that is deleted goes without a clean-up: an operator has given what is bound in its namespace to
 * another one of that name (ADR 0064). A namespace whose UID cannot be read may be the former one.
 * @throws KubeError, StoreUnavailable, BadRecord
 */
export async function letGo(
  { namespace }: Pick<Resource<unknown, unknown>, 'namespace'>,
  context: Pick<ReconcileContext, 'recoveries' | 'namespaceUid'>,
): Promise<boolean> {
  const consent = await context.recoveries.holding(namespace);
  return consent !== undefined && (await context.namespaceUid()) !== consent.namespaceUid;
}
