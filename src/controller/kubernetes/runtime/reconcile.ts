import type * as z from 'zod';
import { Refusal } from '../../../domain/refusal.ts';
import type { KubeApi, KubeObject } from '../client/kube-api.ts';
import { isKubeError } from '../client/kube-api.ts';
import { mergePatch } from '../client/merge-patch.ts';
import type { KindSchema } from '../schema/common.ts';
import { conditionsAfter } from './conditions.ts';
import type { Informer } from './informer.ts';
import type { Kind, ReconcileContext, Refused, Settled } from './kind.ts';
import { FINALIZER, hasFinalizer, parseResource, resourceTypeOf, type Resource } from './resource.ts';

/** Reconciles the resources of one kind. */
export interface KindReconciler {
  readonly schema: KindSchema;
  /**
   * Reconciles one resource: adds the finalizer, does step after step until none is left, and writes the status.
   * @returns the milliseconds after which to reconcile again; undefined: when the resource changes
   * @throws KubeError, StoreUnavailable, Busy, StaleRead: to be tried again; ZodError where the spec is none of this
   *   version; Error where the steps do not come to an end
   */
  reconcile(object: KubeObject, frame: Frame): Promise<number | undefined>;
}

export interface Frame {
  readonly api: KubeApi;
  readonly informer: Pick<Informer, 'written'>;
  readonly context: ReconcileContext;
  readonly statusWritten: () => void;
}

/** More steps than any kind needs: a kind that takes more does not settle. */
const STEPS_MAX = 12;
/** The shortest pause before the next reconciliation, however soon a kind wishes it. */
const REQUEUE_MS_MIN = 1000;
/** Reasons of `Ready=False` that only ask to wait for a moment: no event is written for them. */
const TRANSIENT: ReadonlySet<string> = new Set(['AccountNotReady', 'Progressing']);

/** Makes the reconciler of a kind: it adds the finalizer, the loop over the steps, the status and the events. */
export function reconcilerOf<
  Spec extends z.ZodType,
  Status extends z.ZodType,
  Facts,
  Step extends { readonly do: string },
>(kind: Kind<Spec, Status, Facts, Step>): KindReconciler {
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
    if (resource.deleting) {
      await removeFinalizer(frame, resource);
      return undefined;
    }
    const { generation, conditions: before } = resource;
    const at = new Date(frame.context.clock.now()).toISOString().replace(/\.\d+Z$/, 'Z');
    const after = conditionsAfter(before, settled.conditions, { generation, at });
    const present = (resource.object['status'] ?? {}) as Readonly<Record<string, unknown>>;
    const status = mergePatch(present, { ...settled.status, conditions: after });
    if (status) {
      await write(frame, resource, { subresource: 'status', merge: { status } });
      frame.statusWritten();
    }
    const [was, is] = [before, after].map((list) => list.find(({ type: named }) => named === 'Ready'));
    if (
      is?.status === 'False' &&
      !TRANSIENT.has(is.reason) &&
      (was?.reason !== is.reason || was.message !== is.message)
    ) {
      frame.context.event({ type: 'Warning', reason: is.reason, note: is.message });
    }
    return settled.requeueAfterMs === undefined ? undefined : Math.max(REQUEUE_MS_MIN, settled.requeueAfterMs);
  }

  return {
    schema,
    async reconcile(object, frame) {
      const read = parseResource(schema, object);
      if (read.deleting && !hasFinalizer(object)) return undefined;
      const resource = read.deleting ? read : await withFinalizer(frame, read);
      const refused: Refused[] = [];
      for (let steps = 0; steps < STEPS_MAX; steps += 1) {
        const facts = await kind.gather(resource, frame.context);
        const decision = kind.decide(resource, facts, { at: frame.context.clock.now(), refused });
        if ('settled' in decision) return await settle(frame, resource, decision);
        frame.context.signal.throwIfAborted();
        try {
          await kind.act(decision.step, resource, facts, frame.context);
        } catch (error) {
          if (!(error instanceof Refusal)) throw error;
          refused.push({ do: decision.step.do, code: error.code, says: error.says });
        }
      }
      throw new Error(`${schema.kind}: the steps do not come to an end`);
    },
  };
}
