import type * as z from 'zod';
import { Refusal } from '../../../domain/refusal.ts';
import type { KubeApi, KubeObject } from '../client/kube-api.ts';
import { isKubeError } from '../client/kube-api.ts';
import { mergePatch } from '../client/merge-patch.ts';
import type { KindSchema } from '../schema/common.ts';
import { conditionsAfter } from './conditions.ts';
import type { Informer } from './informer.ts';
import type { Kind, Look, Refused, Settled } from './kind.ts';
import { FINALIZER, hasFinalizer, parseResource, resourceTypeOf, type Resource } from './resource.ts';

/** One kind, ready to look at a resource of its own. */
export interface Runner {
  readonly schema: KindSchema;
  /**
   * @returns after how long to look again
   * @throws KubeError, StoreUnavailable, StaleRead: to be tried again
   */
  look(object: KubeObject, frame: Frame): Promise<number | undefined>;
}

export interface Frame {
  readonly api: KubeApi;
  readonly informer: Pick<Informer, 'written'>;
  readonly look: Look;
  readonly statusWritten: () => void;
}

/** More steps than any kind needs: beyond, its decisions do not settle. */
const STEPS_MAX = 12;
/** However soon a kind wishes to look again. */
const AGAIN_MS_MIN = 1000;
/** Reasons of `Ready=False` that only tell to wait for a moment. */
const NO_NEWS: ReadonlySet<string> = new Set(['AccountNotReady', 'Progressing']);

/** Makes the frame of a kind: finalizer, steps until nothing is left, status, events. */
export function runnerOf<Spec extends z.ZodType, Status extends z.ZodType, Facts, Step extends { readonly do: string }>(
  kind: Kind<Spec, Status, Facts, Step>,
): Runner {
  type Own = Resource<z.infer<Spec>, z.infer<Status>>;
  const { schema } = kind;
  const type = resourceTypeOf(schema);

  async function write(frame: Frame, { object }: Own, change: Parameters<KubeApi['patch']>[2]): Promise<Own> {
    const answer = await frame.api.patch(type, object, change, frame.look.signal);
    frame.informer.written(answer, object);
    return parseResource(schema, answer);
  }

  /** Nothing is made in Muster before the finalizer is on the resource: what is made would be nobody's to remove. */
  async function held(frame: Frame, resource: Own): Promise<Own> {
    if (hasFinalizer(resource.object)) return resource;
    const finalizers = [...resource.object.metadata.finalizers, FINALIZER];
    return await write(frame, resource, { merge: { metadata: { finalizers } } });
  }

  async function released(frame: Frame, resource: Own): Promise<void> {
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
      await released(frame, resource);
      return undefined;
    }
    const { generation, conditions: before } = resource;
    const at = new Date(frame.look.clock.now()).toISOString().replace(/\.\d+Z$/, 'Z');
    const conditions = conditionsAfter(before, settled.findings, { generation, at });
    const present = (resource.object['status'] ?? {}) as Readonly<Record<string, unknown>>;
    const status = mergePatch(present, { ...settled.status, conditions });
    if (status) {
      await write(frame, resource, { subresource: 'status', merge: { status } });
      frame.statusWritten();
    }
    const [was, is] = [before, conditions].map((list) => list.find(({ type: named }) => named === 'Ready'));
    if (
      is?.status === 'False' &&
      !NO_NEWS.has(is.reason) &&
      (was?.reason !== is.reason || was.message !== is.message)
    ) {
      frame.look.notice({ type: 'Warning', reason: is.reason, note: is.message });
    }
    return settled.againMs === undefined ? undefined : Math.max(AGAIN_MS_MIN, settled.againMs);
  }

  return {
    schema,
    async look(object, frame) {
      const read = parseResource(schema, object);
      if (read.deleting && !hasFinalizer(object)) return undefined;
      const resource = read.deleting ? read : await held(frame, read);
      const refused: Refused[] = [];
      for (let steps = 0; steps < STEPS_MAX; steps += 1) {
        const facts = await kind.gather(resource, frame.look);
        const decision = kind.decide(resource, facts, { at: frame.look.clock.now(), refused });
        if ('settled' in decision) return await settle(frame, resource, decision);
        frame.look.signal.throwIfAborted();
        try {
          await kind.act(decision.step, resource, facts, frame.look);
        } catch (error) {
          if (!(error instanceof Refusal)) throw error;
          refused.push({ do: decision.step.do, code: error.code, says: error.says });
        }
      }
      throw new Error(`${schema.kind}: the steps do not come to an end`);
    },
  };
}
