import type * as z from 'zod';
import { Refusal } from '../../../domain/refusal.ts';
import { isKubeError, type KubeApi, type KubeObject } from '../client/kube-api.ts';
import type { KindSchema } from '../schema/common.ts';
import { isContended, pausing } from './contention.ts';
import type { ConditionState } from './conditions.ts';
import { letGo } from './let-go.ts';
import type { Answer, Kind, ReconcileContext, Refused, Settled } from './kind.ts';
import { FINALIZER, hasFinalizer, parseResource, resourceTypeOf, type Resource } from './resource.ts';
import { tellFailure, writeStatus, type StatusFrame } from './status-write.ts';

/** Reconciles the resources of one kind. */
export interface KindReconciler {
  readonly schema: KindSchema;
  /**
   * Reconciles one resource: adds the finalizer, does step after step until none is left, and writes the status. Where
   * it fails, the status says so, with all that is known by then.
   * @returns the milliseconds after which to reconcile again; undefined: when the resource changes
   * @throws KubeError, StoreUnavailable, Busy, StaleRead: to be tried again; InvalidSpec where the spec is none of this
   *   version; Error where the steps do not come to an end
   */
  reconcile(object: KubeObject, frame: Frame): Promise<number | undefined>;
}

/** The surroundings of the reconciliation of one resource. */
interface Frame extends StatusFrame {
  readonly context: ReconcileContext;
}

/** More steps than any kind needs: a kind that takes more does not settle. */
const STEPS_MAX = 12;
/** The shortest pause before the next reconciliation, however soon a kind wishes it. */
const REQUEUE_MS_MIN = 1000;
/** A consent has the resources of its namespace looked at by itself; this is for one that was missed. */
const WAITING_REQUEUE_MS = 300_000;

/**
 * Makes the reconciler of a kind: it adds the finalizer, the loop over the steps, the status and the events.
 * @param takeUp has a resource take up the binding of a former UID, or gives the condition `Ready` of one that waits
 *   for the consent to it (ADR 0064)
 */
export function reconcilerOf<
  Spec extends z.ZodType,
  Status extends z.ZodType,
  Facts,
  Step extends { readonly do: string },
>(
  kind: Kind<Spec, Status, Facts, Step>,
  takeUp: (
    resource: Resource<z.infer<Spec>, z.infer<Status>>,
    context: ReconcileContext,
  ) => Promise<ConditionState | undefined>,
): KindReconciler {
  type Own = Resource<z.infer<Spec>, z.infer<Status>>;
  const { schema } = kind;
  const type = resourceTypeOf(schema);

  async function write(frame: Frame, { object }: Own, change: Parameters<KubeApi['patch']>[2]): Promise<Own> {
    const answer = await frame.api.patch(type, object, change, frame.context.signal);
    frame.informer.written(answer, object);
    return parseResource(schema, answer);
  }

  /** Nothing is made in Muster before the finalizer is on the resource: otherwise nobody would remove it. */
  async function withFinalizer(frame: Frame, resource: Own): Promise<Own> {
    if (hasFinalizer(resource.object)) return resource;
    const finalizers = [...resource.object.metadata.finalizers, FINALIZER];
    return await write(frame, resource, { merge: { metadata: { finalizers } } });
  }

  async function removeFinalizer(frame: Frame, resource: Own): Promise<void> {
    const finalizers = resource.object.metadata.finalizers.filter((name) => name !== FINALIZER);
    try {
      await write(frame, resource, { merge: { metadata: { finalizers } } });
    } catch (error) {
      if (!isKubeError(error, 'gone')) throw error;
    }
  }

  async function settle(
    frame: Frame,
    resource: Own,
    { settled }: Settled<z.infer<Status>>,
  ): Promise<number | undefined> {
    if (resource.deleting && settled.held !== true) {
      await removeFinalizer(frame, resource);
      return undefined;
    }
    await writeStatus(frame, type, resource.object, settled);
    return settled.requeueAfterMs === undefined ? undefined : Math.max(REQUEUE_MS_MIN, settled.requeueAfterMs);
  }

  async function settleWaiting(
    attempt: Attempt<Own, Facts>,
    frame: Frame,
    resource: Own,
    ready: ConditionState,
  ): Promise<number | undefined> {
    const facts = await kind.gather(resource, frame.context);
    attempt.atStatus = true;
    const { settled } = kind.failing(resource, facts, { ready, at: frame.context.clock.now() });
    return await settle(frame, resource, { settled: { ...settled, held: true, requeueAfterMs: WAITING_REQUEUE_MS } });
  }

  /** Says why the resource is not written yet, unless it is written in a moment. */
  async function holdBack(
    frame: Frame,
    { resource, facts }: { readonly resource: Own; readonly facts: Facts },
    answer: Answer,
    waitMs: number,
  ): Promise<number> {
    const ready = pausing(resource, answer, waitMs, (secret) => frame.context.secrets.writersOf(secret));
    if (!ready) return Math.max(REQUEUE_MS_MIN, waitMs);
    const { settled } = kind.failing(resource, facts, { ready, at: frame.context.clock.now() });
    await writeStatus(frame, type, resource.object, settled);
    // What is due sooner, such as the end of a key, is not held back.
    return Math.max(REQUEUE_MS_MIN, Math.min(waitMs, settled.requeueAfterMs ?? Infinity));
  }

  async function carryOut(attempt: Attempt<Own, Facts>, frame: Frame): Promise<number | undefined> {
    const read = parseResource(schema, attempt.object);
    if (read.deleting && !hasFinalizer(read.object)) return undefined;
    const resource = read.deleting ? read : await withFinalizer(frame, read);
    attempt.object = resource.object;
    const waits = await (resource.deleting ? letGo : takeUp)(resource, frame.context);
    if (waits === 'goes') {
      await removeFinalizer(frame, resource);
      return undefined;
    }
    if (waits) return await settleWaiting(attempt, frame, resource, waits);
    const refused: Refused[] = [];
    for (let steps = 0; steps < STEPS_MAX; steps += 1) {
      attempt.known = undefined;
      const facts = await kind.gather(resource, frame.context);
      attempt.known = { resource, facts };
      const decision = kind.decide(resource, facts, { at: frame.context.clock.now(), refused });
      if ('settled' in decision) {
        attempt.atStatus = !resource.deleting;
        frame.context.rates.settled();
        return await settle(frame, resource, decision);
      }
      const answer = resource.deleting ? undefined : kind.causeOf(decision.step, resource, facts);
      const waitMs = answer ? frame.context.rates.waitMs(answer.cause, isContended(resource)) : 0;
      if (answer && waitMs > 0) {
        attempt.atStatus = true;
        return await holdBack(frame, attempt.known, answer, waitMs);
      }
      frame.context.signal.throwIfAborted();
      try {
        await kind.act(decision.step, resource, facts, frame.context);
        if (answer) frame.context.rates.answered(answer.cause);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        refused.push({ do: decision.step.do, code: error.code, says: error.says });
      }
    }
    throw new Error(`${schema.kind}: the steps do not come to an end`);
  }

  return {
    schema,
    async reconcile(object, frame) {
      const attempt: Attempt<Own, Facts> = { object, known: undefined, atStatus: false };
      try {
        return await carryOut(attempt, frame);
      } catch (error) {
        const { known } = attempt;
        const at = frame.context.clock.now();
        const statusOf =
          known && ((ready: ConditionState) => kind.failing(known.resource, known.facts, { ready, at }).settled);
        await tellFailure(frame, { type, object: attempt.object, known: statusOf, atStatus: attempt.atStatus }, error);
        throw error;
      }
    },
  };
}

/** How far an attempt came. */
interface Attempt<Own, Facts> {
  /** The object as it was read or written last. */
  object: KubeObject;
  /** The facts of the step that it is at; undefined while they are gathered. */
  known: { readonly resource: Own; readonly facts: Facts } | undefined;
  /** Whether all steps are done, and the status is written. */
  atStatus: boolean;
}
