import type { Following } from './namespaces/following.ts';
import type { OperatorGauges } from './metrics.ts';
import { KINDS } from './kinds.ts';
import { isContended } from './runtime/contention.ts';
import type { Informer } from './runtime/informer.ts';
import { readyOf } from './runtime/namespace-cache.ts';
import { conditionsOf } from './runtime/resource.ts';
import { crdName } from './schema/crd.ts';
import type { WorkQueue } from './runtime/work-queue.ts';

/* The state of the operator of custom resources, for metrics and the readiness probe. */

/** Bookmarks come about once a minute: after this silence three are missing. */
const STALE_MS = 180_000;

/** The gauges of an operator that runs. */
export function gaugesOf({
  queue,
  following,
}: {
  readonly queue: WorkQueue;
  readonly following: Following;
}): OperatorGauges {
  return {
    queued: () => queue.size,
    informerAges: () => {
      const ages = new Map<string, number>();
      for (const { type, ageMs } of following.informers()) {
        ages.set(type.plural, Math.max(ages.get(type.plural) ?? 0, ageMs / 1000));
      }
      return ages;
    },
    namespaces: () => following.standings(),
    contended: () => {
      const counts = new Map(KINDS.map(({ schema }) => [schema.kind, 0]));
      for (const { cache } of following.all()) {
        for (const [kind, count] of counts) {
          const held = [...cache.all(kind)].filter((object) => isContended({ conditions: conditionsOf(object) }));
          counts.set(kind, count + held.length);
        }
      }
      return counts;
    },
    resources: () => {
      const counts = new Map<string, number>();
      for (const { cache } of following.all()) {
        for (const { schema } of KINDS) {
          for (const object of cache.all(schema.kind)) {
            const label = `${schema.kind} ${readyOf(object)}`;
            counts.set(label, (counts.get(label) ?? 0) + 1);
          }
        }
      }
      return [...counts].map(
        ([label, count]) => [label.split(' ')[0] ?? '', label.split(' ')[1] ?? '', count] as const,
      );
    },
  };
}

/**
 * Says in words that a definition is missing, or the API server has not been heard for too long; undefined where all is
 * well.
 */
export function troubleOf(informers: readonly Informer[]): string | undefined {
  const missing = new Set(informers.filter(({ isUndefined }) => isUndefined).map(({ type }) => crdName(type)));
  if (missing.size > 0) {
    return `the cluster has no definition of ${[...missing].join(', ')}: install the chart with crds.install=true`;
  }
  const oldest = informers.toSorted((one, other) => other.ageMs - one.ageMs)[0];
  if (!oldest || oldest.ageMs < STALE_MS) return undefined;
  const seconds = Math.round(oldest.ageMs / 1000);
  // The silence is of one kind alone: the operator's ClusterRole lacks it.
  if (oldest.refused) return `the Kubernetes API server has refused ${oldest.type.plural} for ${seconds} s`;
  return `the Kubernetes API server has said nothing for ${seconds} s`;
}
