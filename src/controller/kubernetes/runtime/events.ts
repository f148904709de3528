import { randomUUID } from 'node:crypto';
import type { Log } from '../../../log.ts';
import { RecentMap } from '../../../packed/recent-map.ts';
import type { Clock } from '../../../time/clock.ts';
import type { KubeApi, KubeObject, ResourceType } from '../client/kube-api.ts';
import { API_VERSION, type KindName } from '../schema/common.ts';
import { sentence } from './conditions.ts';
import type { ResourceEvent } from './kind.ts';

interface EventRecorderDeps {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly log: Log;
  /** The replica's id, for `reportingInstance`. */
  readonly instance: string;
}

/** The resource that an event is about. */
interface Regarding {
  readonly kind: KindName;
  readonly object: KubeObject;
}

/** Writes events of Kubernetes about custom resources. */
export interface EventRecorder {
  /**
   * Writes an event about the resource. An event that cannot be written is dropped, and one that was written for this
   * resource within the last ten minutes is not repeated. Never rejects.
   */
  record(resource: Regarding, event: ResourceEvent, signal: AbortSignal): Promise<void>;
}

const EVENTS: ResourceType = { group: 'events.k8s.io', version: 'v1', plural: 'events' };
const REPEATED_AFTER_MS = 600_000;
const REMEMBERED_MAX = 10_000;
const NOTE_CHARACTERS_MAX = 1000;

/** As much of a resource's name as leaves room for an identifier behind it, and may stand before a dot. */
const beginningOf = (name: string): string => name.slice(0, 200).replace(/[-.]+$/, '');

/** Creates the recorder of one term of the leader. */
export function createEventRecorder({ api, clock, log, instance }: EventRecorderDeps): EventRecorder {
  /** The instant at which each event was written, on the monotonic clock. */
  const written = new RecentMap<string, number>(REMEMBERED_MAX);

  function isNews(what: string): boolean {
    const now = clock.monotonic();
    if (now - (written.get(what) ?? -Infinity) < REPEATED_AFTER_MS) return false;
    written.set(what, now);
    return true;
  }

  return {
    async record({ kind, object }, { type, reason, note }, signal) {
      const { namespace, name, uid, resourceVersion } = object.metadata;
      if (!isNews(`${uid} ${reason} ${note}`)) return;
      const body = {
        apiVersion: 'events.k8s.io/v1',
        kind: 'Event',
        metadata: { name: `${beginningOf(name)}.${randomUUID()}`, namespace },
        eventTime: new Date(clock.now()).toISOString().replace('Z', '000Z'),
        reportingController: 'muster.dev/operator',
        reportingInstance: instance.slice(0, 128),
        action: 'Reconcile',
        reason,
        regarding: { apiVersion: API_VERSION, kind, namespace, name, uid, resourceVersion },
        note: sentence(note.slice(0, NOTE_CHARACTERS_MAX)),
        type,
      };
      try {
        await api.create(EVENTS, namespace, body, signal);
      } catch (error) {
        log.debug({ err: error, kind, namespace, name, reason }, 'an event could not be written');
      }
    },
  };
}
