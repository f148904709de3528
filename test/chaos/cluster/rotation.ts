import { CACHED_PREFIX } from '../../../src/store/port.ts';
import { hold } from '../nemesis/fault.ts';
import { PREFIX, type Replica } from './replica.ts';

/* Whether a replica leaves the rotation of a load balancer while it lists anew. */

const LOOK_MS = 20;
export const RELISTS = 'muster_watch_cache_relists_total';

/** One observation of a replica: how often it had begun to list anew, and its answer to a probe right after that. */
export interface Look {
  readonly relists: number;
  readonly readyz: number;
}

/** Whether it is over: it has begun anew, and says that it is ready. */
const isBack = ({ relists, readyz }: Look, before: number): boolean => relists > before && readyz === 200;

/**
 * The faults, in words, of a replica that had listed so often before its store was replaced. That it did not answer or
 * was not ready before it noticed proves nothing: its store was away. From then on until all is listed it must say so.
 */
export function rotationFaults(looks: readonly Look[], before: number): readonly string[] {
  const noticed = looks.findIndex(({ relists }) => relists > before);
  if (noticed === -1) return ['did not list anew'];
  const since = looks.slice(noticed);
  if (since[0]?.readyz === 200) return ['did not leave the rotation when it began to list anew'];
  return since.some((look) => isBack(look, before)) ? [] : ['did not come back into the rotation'];
}

/** The end of the range that a listing of the directory names, and so does the watch beside it; no other request. */
const LISTING = `${PREFIX}${CACHED_PREFIX.slice(0, -1)}0`;

/**
 * Observes a replica until it is back, or for so long at most; without an answer there is no observation. The replica
 * lists nothing before it was observed once since it noticed: a listing may be quicker than an observation.
 */
export async function looksAt(replica: Replica, before: number, maxMs: number): Promise<readonly Look[]> {
  const looks: Look[] = [];
  for (const wire of replica.wires) {
    wire.heard = (flow, bytes) => {
      if (bytes.includes(LISTING)) flow.silence = 'answers';
    };
  }
  for (const startedAt = performance.now(); performance.now() - startedAt < maxMs; await hold(LOOK_MS)) {
    const look = await lookAt(replica).catch(() => undefined);
    if (!look) continue;
    looks.push(look);
    if (look.relists > before) letList(replica);
    if (isBack(look, before)) break;
  }
  letList(replica);
  return looks;
}

function letList({ wires }: Replica): void {
  for (const wire of wires) {
    wire.heard = undefined;
    wire.cut(({ silence }) => silence !== 'none');
  }
}

async function lookAt(replica: Replica): Promise<Look> {
  const relists = await replica.metric(RELISTS);
  return { relists, readyz: await replica.readyz() };
}
