import type { Listed } from './resource-listing.ts';

/** How one resource stands, in the form in which it is printed. */
export interface Standing {
  readonly namespace: string;
  readonly kind: string;
  readonly name: string;
  /** Whether it is as its spec says, for the spec of now. */
  readonly ready: boolean;
  /** CamelCase, of the condition that decides. */
  readonly reason: string;
  /** The sentence says what keeps it from being ready; where it is ready, how it stands. */
  readonly message: string;
  /** ISO 8601. */
  readonly createdAt: string | undefined;
  readonly conditions: readonly Shown[];
}

type Shown = Pick<Listed['status']['conditions'][number], 'type' | 'status' | 'reason' | 'message'>;

const READY = 'Ready';
/**
 * Conditions that explain `Ready`, or that it does not wait for (docs/KUBERNETES.md). Any other type speaks of trouble
 * where it is not False, as the conventions of Kubernetes have it, and so keeps the resource from being called ready.
 */
const EXPLAINING: ReadonlySet<string> = new Set(['Accepted', 'Entitled', 'Synced', 'Enrolled', 'Delivered']);

const UNSEEN =
  'No operator has seen it: none follows its namespace, or none runs with the role kubernetes; see operator.namespaces.';

/** Judges a resource by its conditions, whichever operator wrote them. */
export function standingOf(kind: string, { metadata, status }: Listed): Standing {
  const conditions = status.conditions.map(({ type, status: is, reason, message }) => ({
    type,
    status: is,
    reason,
    message,
  }));
  const { namespace, name, creationTimestamp: createdAt } = metadata;
  return { namespace, kind, name, ...verdictOf({ metadata, status }), createdAt, conditions };
}

type Verdict = Pick<Standing, 'ready' | 'reason' | 'message'>;

function verdictOf({ metadata, status }: Pick<Listed, 'metadata' | 'status'>): Verdict {
  const ready = status.conditions.find(({ type }) => type === READY);
  const trouble = status.conditions
    .filter(({ type, status: is }) => type !== READY && !EXPLAINING.has(type) && is !== 'False')
    // `Stalled` repeats what `Ready` says.
    .filter(({ reason, message }) => reason !== ready?.reason || message !== ready.message)
    .map(({ type, status: is, reason, message }) => `${type}=${is} ${reason}: ${message}`);
  const isTrue = ready?.status === 'True';
  if (metadata.deletionTimestamp !== undefined) {
    // The conditions that are not well tell what holds up a deletion.
    const holds = [...(ready && !isTrue ? [`${ready.reason}: ${ready.message}`] : []), ...trouble];
    const message = `It is being deleted since ${metadata.deletionTimestamp}, and the operator has not cleaned up yet`;
    return { ready: false, reason: 'Deleting', message: sentences(message, holds) };
  }
  if (!ready) {
    const [reason, message] = trouble.length > 0 ? ['NoReady', 'It has no condition Ready'] : ['NotSeen', UNSEEN];
    return { ready: false, reason, message: sentences(message, trouble) };
  }
  const observed = ready.observedGeneration ?? status.observedGeneration;
  if (observed !== undefined && observed < metadata.generation) {
    const message = 'The operator has not seen the last change of its spec yet';
    return {
      ready: false,
      reason: 'ChangeNotSeen',
      message: sentences(message, [`${ready.reason}: ${ready.message}`, ...trouble]),
    };
  }
  const { reason, message } = ready;
  return { ready: isTrue && trouble.length === 0, reason, message: sentences(message, trouble) };
}

/** The first, and after it what else there is to say. */
const sentences = (first: string, others: readonly string[]): string =>
  others.length === 0 ? first : `${first.replace(/\.$/, '')}; ${others.join('; ')}`;
