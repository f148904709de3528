import { CoreV1Api, CustomObjectsApi } from '@kubernetes/client-node';
import type { OperatorClient, ResourceBinding } from '#client';
import { operatorOf, requestOf } from '../../connection/clients.ts';
import type { Column } from '../../output/columns.ts';
import { printList } from '../../output/print.ts';
import { confirmed } from '../../terminal/confirmation.ts';
import { CommandFault } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { cluster, refusedBy, statusOf } from './cluster.ts';
import { KINDS, REQUEST_MS, resourceListing } from './resource-listing.ts';

export interface RecoverOptions {
  /** The UID of the namespace: no cluster is asked then, so that only former UIDs are shown. */
  readonly namespaceUid?: string;
  /** Shows what would be taken up, and consents to nothing. */
  readonly dryRun: boolean;
}

/** A resource by its names, with the UID that has its binding, and the one that it has in the cluster. */
interface Row {
  readonly kind: string;
  readonly name: string;
  readonly formerUid: string | undefined;
  readonly uid: string | undefined;
  readonly accountId: string | undefined;
  readonly appId: string | undefined;
  readonly keyId: string | undefined;
  readonly state: State;
}
/**
 * `former`: a former UID has the binding. `bound`: the resource has it. `absent`: the cluster has no such resource.
 * `new`: it has no binding.
 */
type State = 'former' | 'bound' | 'absent' | 'new';

const COLUMNS: readonly Column<Row>[] = [
  { head: 'KIND', of: ({ kind }) => kind },
  { head: 'NAME', of: ({ name }) => name },
  { head: 'FORMER UID', name: 'formerUid', of: ({ formerUid }) => formerUid },
  { head: 'UID', name: 'uid', of: ({ uid }) => uid },
  { head: 'ACCOUNT', name: 'accountId', of: ({ accountId }) => accountId },
  { head: 'APP', name: 'appId', of: ({ appId }) => appId },
  { head: 'KEY', name: 'keyId', of: ({ keyId }) => keyId },
  { head: 'STATE', of: ({ state }) => state, tone: ({ state }) => (state === 'former' ? 'bad' : undefined) },
];

const PAGE_MAX = 1000;
/** All of them are kept in memory to be compared. */
const BINDINGS_MAX = 100_000;

/**
 * `muster kubernetes recover NAMESPACE`: shows which resources of the namespace have other UIDs than what is bound, and
 * consents that they take it up, for 7 days.
 * @throws CommandFault, ConfigError, MusterError
 */
export async function recover(call: Invocation, namespace: string, options: RecoverOptions): Promise<void> {
  const operator = operatorOf(call);
  const found = options.namespaceUid === undefined ? await inCluster(call, namespace) : undefined;
  const namespaceUid = options.namespaceUid ?? found?.namespaceUid ?? '';
  const rows = compared(await bindingsIn(call, operator, namespace), found?.uids);
  await printList(call, {
    columns: COLUMNS,
    items: rows,
    id: ({ formerUid, uid }) => formerUid ?? uid ?? '',
    none: `Nothing is bound in the namespace ${namespace}, and it has no resources.`,
  });
  if (options.dryRun) return;
  const waiting = rows.filter(({ state }) => state === 'former').length;
  const what = `Let the namespace ${namespace} with the UID ${namespaceUid} take up what ${waiting} former resources stood for`;
  await confirmed({ what, count: waiting, yes: call.globals.yes }, call.terminal);
  const { until } = await operator.allowRecovery({ namespace, namespaceUid }, requestOf(call));
  call.say(`The namespace ${namespace} with the UID ${namespaceUid} may take it up, until ${until}.`);
}

const keyOf = (kind: string, name: string): string => `${kind}/${name}`;

async function bindingsIn(
  call: Invocation,
  operator: OperatorClient,
  namespace: string,
): Promise<readonly ResourceBinding[]> {
  const bindings: ResourceBinding[] = [];
  for await (const binding of operator.resourceBindings({ namespace, limit: PAGE_MAX }, requestOf(call))) {
    bindings.push(binding);
    if (bindings.length > BINDINGS_MAX) throw new CommandFault(`There are more than ${BINDINGS_MAX} bindings.`);
  }
  return bindings;
}

/** The UID of the namespace, and those of its resources by kind and name. */
async function inCluster(
  call: Invocation,
  namespace: string,
): Promise<{ readonly namespaceUid: string; readonly uids: ReadonlyMap<string, string> }> {
  const config = await cluster(call);
  const uids = new Map<string, string>();
  try {
    const { metadata } = await config.makeApiClient(CoreV1Api).readNamespace({ name: namespace });
    const list = resourceListing(config.makeApiClient(CustomObjectsApi), call.globals.timeoutMs ?? REQUEST_MS);
    for (const { kind, plural } of KINDS) {
      for (const { metadata: one } of await list(plural, namespace)) uids.set(keyOf(kind, one.name), one.uid ?? '');
    }
    return { namespaceUid: metadata?.uid ?? '', uids };
  } catch (error) {
    if (error instanceof CommandFault) throw error;
    if (statusOf(error) === 404)
      throw new CommandFault(`The cluster lacks the namespace ${namespace}, or the definitions.`);
    throw refusedBy(error, `The namespace ${namespace} cannot be read`);
  }
}

/** @param uids those of the cluster; undefined where it was not asked, so that each binding may be of a former UID */
function compared(bindings: readonly ResourceBinding[], uids: ReadonlyMap<string, string> | undefined): readonly Row[] {
  const bound = new Set(bindings.map(({ uid }) => uid));
  const rows = bindings.map(({ kind, name, uid, accountId, appId, keyId }): Row => {
    const now = uids?.get(keyOf(kind, name));
    const common = { kind, name, accountId, appId, keyId };
    if (now === uid) return { ...common, formerUid: undefined, uid, state: 'bound' };
    const isAbsent = uids !== undefined && (now === undefined || bound.has(now));
    return { ...common, formerUid: uid, uid: isAbsent ? undefined : now, state: isAbsent ? 'absent' : 'former' };
  });
  const named = new Set(bindings.map(({ kind, name }) => keyOf(kind, name)));
  for (const [key, uid] of uids ?? []) {
    const [kind = '', name = ''] = key.split('/');
    const none = { formerUid: undefined, accountId: undefined, appId: undefined, keyId: undefined };
    if (!named.has(key)) rows.push({ kind, name, ...none, uid, state: 'new' });
  }
  return rows.toSorted((a, b) => (keyOf(a.kind, a.name) < keyOf(b.kind, b.name) ? -1 : 1));
}
