import { isFalse, type ConditionState } from './conditions.ts';
import type { ReconcileContext } from './kind.ts';
import type { Resource } from './resource.ts';

/**
 * Decides whether a resource that is deleted goes without a clean-up: an operator has given what is bound in its
 * namespace to another one of that name (ADR 0064). It says so in an event and in the log.
 * @returns `goes`; the condition `Ready` of one that is held, since the UID of its namespace cannot be read; undefined
 *   where it is cleaned up, also where it stands for nothing
 * @throws KubeError, StoreUnavailable, BadRecord
 */
export async function letGo(
  { kind, namespace, name, uid }: Pick<Resource<unknown, unknown>, 'kind' | 'namespace' | 'name' | 'uid'>,
  context: Pick<ReconcileContext, 'bindings' | 'recoveries' | 'namespaceUid' | 'event' | 'log'>,
): Promise<'goes' | ConditionState | undefined> {
  const binding = await context.bindings.get(uid);
  const consent = binding && (await context.recoveries.holding(namespace));
  if (!consent) return undefined;
  const namespaceUid = await context.namespaceUid();
  if (namespaceUid === consent.namespaceUid) return undefined;
  if (namespaceUid === undefined) {
    const message =
      `An operator of Muster has given what is bound in a namespace of this name to one by its UID, and the namespace ` +
      `${namespace} cannot be read. The clean-up waits for the right to get it, or for the end of the consent.`;
    return isFalse('Ready', 'ApiServerRefused', message);
  }
  const { accountId, appId } = binding.record;
  const note =
    `The ${kind} goes without its clean-up: an operator of Muster has given what it stood for to the namespace of this ` +
    `name with the UID ${consent.namespaceUid}.`;
  context.event({ type: 'Warning', reason: 'CleanupSkipped', note });
  const fields = { kind, namespace, name, uid, accountId, appId, givenTo: consent.namespaceUid };
  context.log.warn(
    fields,
    'a deleted custom resource goes without its clean-up: its namespace was recovered elsewhere',
  );
  return 'goes';
}
