import type { KubeApi, KubeObject } from '../client/kube-api.ts';
import type { Condition, KindSchema } from '../schema/common.ts';
import { plainWords } from '../failures/plain-words.ts';
import { LEASE_NAME } from './claim.ts';
import { conditionsAfter, CONFLICT_CONDITION, isFalse, type ConditionState } from '../runtime/conditions.ts';
import type { EventRecorder } from '../runtime/events.ts';
import type { FollowedNamespace } from './followed-namespace.ts';
import type { Informer } from '../runtime/informer.ts';
import type { NamespaceCache } from '../runtime/namespace-cache.ts';
import { conditionsOf, resourceTypeOf } from '../runtime/resource.ts';

/*
 * The words on a resource on which the operator may not or cannot act: its namespace lacks the Role, another release
 * holds it, or its Secrets are not listed. They are written to its status with the rights of the ClusterRole.
 */

/** Why the operator does not act on the resources of a namespace; undefined where it does, or will soon know. */
export function outsideOf(
  { namespace, standing, holder, refusal }: Pick<FollowedNamespace, 'namespace' | 'standing' | 'holder' | 'refusal'>,
  release: string,
): ConditionState | undefined {
  if (standing === 'not_granted') {
    const why =
      refusal === undefined
        ? `Muster lacks its Role or RoleBinding in the namespace ${namespace}. `
        : `Muster cannot take its Lease in the namespace ${namespace}: ${plainWords(refusal)}. ` +
          'Where it lacks its Role or RoleBinding: ';
    const apply = `${refusal === undefined ? 'Apply' : 'apply'} what "muster kubernetes rbac ${namespace}" prints.`;
    return isFalse('Ready', 'NamespaceNotGranted', why + apply);
  }
  return holder === undefined ? undefined : conflictOf(namespace, holder, release);
}

/** An API server that restarts has listed them by then. */
const UNLISTED_MS = 30_000;

/** Why nothing is done in a namespace whose Secrets the API server does not list; undefined before that takes long. */
export function unlistedOf({
  namespace,
  informers,
}: Pick<NamespaceCache, 'namespace' | 'informers'>): ConditionState | undefined {
  if (!informers.some(({ synced, ageMs }) => !synced && ageMs >= UNLISTED_MS)) return undefined;
  const message =
    `The API server does not list the Secrets of the namespace ${namespace}, and Muster needs to know them. ` +
    "Its log has the API server's answer.";
  return isFalse('Ready', 'SecretReadFailed', message);
}

const refuses = (release: string): string => `The release ${release} does not act here: `;

const heldBy = (namespace: string, holder: string): string =>
  `the namespace is held by ${holder}. Take it from one of the two; ` +
  `where ${holder} is gone, delete the Lease ${LEASE_NAME} in ${namespace}.`;

const conflictOf = (namespace: string, holder: string, release: string): ConditionState => ({
  type: CONFLICT_CONDITION,
  status: 'True',
  reason: 'HeldByAnotherRelease',
  message: refuses(release) + heldBy(namespace, holder),
});

/** Whether the condition names the same holder, whichever release does not act. */
const saysAsMuch = (known: Pick<Condition, 'type' | 'message'>, { type, message }: ConditionState): boolean =>
  known.type === CONFLICT_CONDITION &&
  type === CONFLICT_CONDITION &&
  afterRelease(known.message) === afterRelease(message);

/** The message without the name of the release that does not act. */
const afterRelease = (message: string): string => message.slice(message.indexOf(': '));

/** Whether this release has said on the object that another one holds its namespace. */
export function isRefused(object: KubeObject, release: string): boolean {
  return conditionsOf(object).some(
    ({ type, message }) => type === CONFLICT_CONDITION && message.startsWith(refuses(release)),
  );
}

export interface Saying {
  readonly api: KubeApi;
  readonly informer: Pick<Informer, 'written'>;
  readonly schema: KindSchema;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly signal: AbortSignal;
}

/** Writes the condition, and an event where it is news. @throws KubeError */
export async function sayOutside(
  saying: Saying,
  recorder: EventRecorder,
  object: KubeObject,
  state: ConditionState,
): Promise<void> {
  // The status alone is read: a spec that this version cannot read must not keep the operator from saying it.
  const { generation } = object.metadata;
  const before = conditionsOf(object);
  const known = before.find(({ type }) => type === state.type);
  const isSaid = known?.status === state.status && known.reason === state.reason && known.message === state.message;
  if (isSaid && known.observedGeneration === generation) return;
  // There is room for one such release: two that wrote their words would write against each other for ever.
  if (!isSaid && known?.status === 'True' && saysAsMuch(known, state)) return;
  const at = new Date(saying.at).toISOString().replace(/\.\d+Z$/, 'Z');
  // A release that does not act has observed nothing where another one speaks by Ready.
  const observed = state.type === 'Ready' ? { observedGeneration: generation } : {};
  await write(saying, object, { ...observed, conditions: conditionsAfter(before, [state], { generation, at }) });
  if (!isSaid) {
    const { kind } = saying.schema;
    await recorder.record(
      { kind, object },
      { type: 'Warning', reason: state.reason, note: state.message },
      saying.signal,
    );
  }
}

/** Takes back that another release holds the namespace. @returns the object as it is then @throws KubeError */
export async function takeBackRefusal(saying: Saying, object: KubeObject): Promise<KubeObject> {
  return await write(saying, object, {
    conditions: conditionsOf(object).filter(({ type }) => type !== CONFLICT_CONDITION),
  });
}

async function write(
  { api, informer, schema, signal }: Saying,
  object: KubeObject,
  status: { readonly observedGeneration?: number; readonly conditions: readonly object[] },
): Promise<KubeObject> {
  const change = { subresource: 'status', merge: { status } } as const;
  const answer = await api.patch(resourceTypeOf(schema), object, change, signal);
  informer.written(answer, object);
  return answer;
}
