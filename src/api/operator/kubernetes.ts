import type { BoundResource } from '../../domain/resource-bindings/recoveries.ts';
import { dateTime } from '../../time/date-time.ts';
import * as operations from '../contract/operator/kubernetes.ts';
import { handle } from './route.ts';

const recoveryBody = (namespace: string, { namespaceUid, until }: { namespaceUid: string; until: number }) => ({
  namespace,
  namespaceUid,
  until: dateTime(until),
});

const bindingBody = ({ uid, kind, namespace, name, accountId, appId, keyId }: BoundResource) => ({
  uid,
  kind,
  namespace,
  name,
  accountId,
  ...(appId !== undefined && { appId }),
  ...(keyId !== undefined && { keyId }),
});

/** GET /operator/v1/kubernetes/bindings: the dry run of a recovery, too. */
export const listResourceBindings = handle(operations.listResourceBindings)(async ({ query }, { recoveries }) => {
  const { limit, after, namespace } = query;
  const recovery = namespace === undefined ? undefined : await recoveries.holding(namespace);
  const { items, next } = await recoveries.list({ limit, after, namespace });
  return {
    status: 200,
    body: {
      bindings: items.map(bindingBody),
      ...(namespace !== undefined && recovery && { recovery: recoveryBody(namespace, recovery) }),
      ...(next !== undefined && { next }),
    },
  };
});

/** PUT /operator/v1/kubernetes/recovery. */
export const allowRecovery = handle(operations.allowRecovery)(async ({ origin, body }, { recoveries }) => {
  const { namespace, namespaceUid } = body;
  return { status: 200, body: recoveryBody(namespace, await recoveries.allow(origin, namespace, namespaceUid)) };
});
