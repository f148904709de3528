import type { KubeApi, KubeObject, ResourceType } from '../client/kube-api.ts';
import { isKubeError } from '../client/kube-api.ts';
import { mergePatch } from '../client/merge-patch.ts';
import { failureOf, type Failure } from '../failures/failure.ts';
import {
  conditionsAfter,
  CONFLICT_CONDITION,
  isFalse,
  isUnknown,
  sentence,
  type ConditionState,
} from './conditions.ts';
import type { Informer } from './informer.ts';
import type { ReconcileContext } from './kind.ts';
import { conditionsOf } from './resource.ts';

/** The part of the frame of a reconciliation that writes the status. */
export interface StatusFrame {
  readonly api: Pick<KubeApi, 'patch'>;
  readonly informer: Pick<Informer, 'written'>;
  readonly context: Pick<ReconcileContext, 'clock' | 'event' | 'log' | 'signal'>;
  readonly statusWritten: () => void;
  /** Notes that the attempt failed. @returns whether the resource is to say so */
  readonly attemptFailed: (failure: Failure) => boolean;
}

/** A status that is to be written: all of it but its conditions, and these. */
interface Wanted {
  readonly status: Readonly<Record<string, unknown>>;
  readonly conditions: readonly ConditionState[];
}

/** Reasons of `Ready=False` that only ask to wait for a moment: no event is written for them. */
const TRANSIENT: ReadonlySet<string> = new Set(['AccountNotReady', 'Progressing']);

/**
 * Writes what is other in the status of the object; where nothing is, nothing is written. A new reason or message of
 * `Ready=False` is an event, too.
 * @throws KubeError
 */
export async function writeStatus(
  frame: StatusFrame,
  type: ResourceType,
  object: KubeObject,
  wanted: Wanted,
): Promise<void> {
  const { api, informer, context } = frame;
  const { generation } = object.metadata;
  const at = new Date(context.clock.now()).toISOString().replace(/\.\d+Z$/, 'Z');
  const conditions = conditionsAfter(conditionsOf(object), wanted.conditions, { generation, at });
  const status = mergePatch(statusOf(object), { ...wanted.status, observedGeneration: generation, conditions });
  if (status) {
    const answer = await api.patch(type, object, { subresource: 'status', merge: { status } }, context.signal);
    informer.written(answer, object);
    frame.statusWritten();
  }
  announce(frame, object, wanted.conditions);
}

function statusOf({ status }: KubeObject): Readonly<Record<string, unknown>> {
  return typeof status === 'object' && status !== null ? { ...status } : {};
}

function announce({ context }: StatusFrame, object: KubeObject, conditions: readonly ConditionState[]): void {
  const was = conditionsOf(object).find(({ type }) => type === 'Ready');
  const is = conditions.find(({ type }) => type === 'Ready');
  if (is?.status !== 'False' || TRANSIENT.has(is.reason)) return;
  if (was?.reason === is.reason && was.message === sentence(is.message)) return;
  context.event({ type: 'Warning', reason: is.reason, note: is.message });
}

/** An attempt that failed, as far as it came. */
export interface FailedAttempt {
  readonly type: ResourceType;
  /** The object as it was read or written last. */
  readonly object: KubeObject;
  /**
   * The status for this `Ready`, from the facts of the step that failed; undefined where these could not be gathered.
   */
  readonly known: ((ready: ConditionState) => Wanted) | undefined;
  /** Whether it was the write of the status that failed: another one would fail as well. */
  readonly atStatus: boolean;
}

/**
 * Says in the resource's status, and in an event, that an attempt failed. A status that cannot be written is logged,
 * and the caller's error remains the one that counts. The write ends with the deadline of every request. Never rejects.
 */
export async function tellFailure(frame: StatusFrame, attempt: FailedAttempt, error: unknown): Promise<void> {
  const { context } = frame;
  if (context.signal.aborted) return;
  const failure = failureOf(error);
  if (!frame.attemptFailed(failure)) return;
  const { type, object, known, atStatus } = attempt;
  const ready = isFalse('Ready', failure.reason, failure.message);
  try {
    if (atStatus) throw error;
    await writeStatus(frame, type, object, known?.(ready) ?? withoutFacts(object, ready));
  } catch (unwritten) {
    context.log.debug({ err: unwritten, reason: failure.reason }, 'the status of a failure could not be written');
    // An API server that answers no request takes no event either.
    if (isKubeError(unwritten, 'refused')) announce(frame, object, [ready]);
  }
}

/** The status as it is, and of its conditions nothing but that the attempt failed. */
function withoutFacts(object: KubeObject, ready: ConditionState): Wanted {
  const kept = new Set(['Ready', 'Stalled', CONFLICT_CONDITION]);
  const others = conditionsOf(object).filter(({ type }) => !kept.has(type));
  const unknown = others.map(({ type }) => isUnknown(type, 'Unknown', 'Ready tells what is in the way.'));
  return { status: statusOf(object), conditions: [ready, ...unknown] };
}
