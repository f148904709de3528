import { randomUUID } from 'node:crypto';
import type { Log } from '../../../log.ts';
import type { Clock } from '../../../time/clock.ts';
import type { KubeApi, ResourceType } from '../client/kube-api.ts';
import { API_VERSION } from '../schema/common.ts';
import type { Notice } from './kind.ts';
import type { Resource } from './resource.ts';

export interface EventsDeps {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly log: Log;
  /** Names the replica. */
  readonly instance: string;
}

export interface Events {
  /** Best effort: an event that cannot be written is none. What was said of the resource lately is not said again. */
  tell(resource: Resource<unknown, unknown>, notice: Notice, signal: AbortSignal): Promise<void>;
}

const EVENTS: ResourceType = { group: 'events.k8s.io', version: 'v1', plural: 'events' };
const SAID_AGAIN_MS = 600_000;
const SAID_MAX = 10_000;
const NOTE_CHARACTERS_MAX = 1000;

export function createEvents({ api, clock, log, instance }: EventsDeps): Events {
  /** By what was said, when it was; oldest first. */
  const said = new Map<string, number>();

  function isNews(what: string): boolean {
    const now = clock.monotonic();
    if (now - (said.get(what) ?? -Infinity) < SAID_AGAIN_MS) return false;
    said.delete(what);
    said.set(what, now);
    for (const oldest of said.keys()) {
      if (said.size <= SAID_MAX) break;
      said.delete(oldest);
    }
    return true;
  }

  return {
    async tell({ kind, namespace, name, uid, object }, { type, reason, note }, signal) {
      if (!isNews(`${uid} ${reason} ${note}`)) return;
      const { resourceVersion } = object.metadata;
      const body = {
        apiVersion: 'events.k8s.io/v1',
        kind: 'Event',
        metadata: { name: `${name.slice(0, 200)}.${randomUUID()}`, namespace },
        eventTime: new Date(clock.now()).toISOString().replace('Z', '000Z'),
        reportingController: 'muster.dev/operator',
        reportingInstance: instance.slice(0, 128),
        action: 'Reconcile',
        reason,
        regarding: { apiVersion: API_VERSION, kind, namespace, name, uid, resourceVersion },
        note: note.slice(0, NOTE_CHARACTERS_MAX),
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
