import { readFileSync } from 'node:fs';
import type { Config } from '../../config/config.ts';
import { type PerListener, LISTENER_NAMES, type ListenerName } from '../../config/listeners.ts';

/** The open connections that a listener takes: each costs memory and a file descriptor even while it is idle. */
export const CONNECTIONS_MAX: PerListener = {
  api: 10_000,
  device: 100_000,
  ops: 1_000,
  panel: 5_000,
};

/** The listeners that a process with this configuration has. */
export const listenersOf = ({ roles, listen }: Pick<Config, 'roles' | 'listen'>): readonly ListenerName[] => [
  'ops',
  ...(roles.has('api') ? (['api'] as const) : []),
  ...(roles.has('device') ? (['device'] as const) : []),
  ...(listen.panel !== undefined && roles.has('api') ? (['panel'] as const) : []),
];

/** The connections of each listener; none for one that this process does not have. */
export type ConnectionBounds = PerListener;

/**
 * A process opens these beside the connections of its listeners: the store and its logs, its connections to etcd, to
 * Kubernetes and to a provider, and whatever it reads. A replica with an embedded store has 30 of them.
 */
const OWN_FILES_MIN = 64;
const OWN_FILES_PART = 1 / 16;
/** No listener but the one that takes most has more than this of what is left. */
const SMALL_PART = 1 / 8;
/** With fewer no listener can keep its probes, scrapes and clients apart from strangers. */
const LISTENER_MIN = 16;

/** Files and connections that this process may have open at once; undefined where the system does not tell it. */
export function openFilesMax(): number | undefined {
  try {
    // Node has raised the soft limit to the hard one when it started.
    const [, soft] = /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined || soft === 'unlimited' ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}

/**
 * The bounds of the connections: what the listeners take, or less where the limit of open files gives less. What they
 * have together never reaches that limit, so that a flood of one listener shuts nobody out of another one. The listener
 * that takes most, that of devices, has what the others leave.
 * @param openMax files that the process may have open; undefined is no limit
 * @throws Error in words where the limit is too low for any service
 */
export function connectionBounds(names: readonly ListenerName[], openMax: number | undefined): ConnectionBounds {
  const bounds = { api: 0, device: 0, ops: 0, panel: 0 };
  let left = openMax === undefined ? Number.POSITIVE_INFINITY : openMax - ownFiles(openMax);
  const small = Math.floor(left * SMALL_PART);
  if (small < LISTENER_MIN) {
    throw new Error(
      `The limit of open files is ${openMax}, and must be ${OPEN_FILES_MIN} at least: raise it (ulimit -n).`,
    );
  }
  const ascending = names.toSorted((one, other) => CONNECTIONS_MAX[one] - CONNECTIONS_MAX[other]);
  for (const name of ascending) {
    bounds[name] = Math.min(CONNECTIONS_MAX[name], name === ascending.at(-1) ? left : small);
    left -= bounds[name];
  }
  return bounds;
}

const ownFiles = (openMax: number): number => Math.max(OWN_FILES_MIN, Math.ceil(openMax * OWN_FILES_PART));

/** The least limit of open files with which a service starts. */
export const OPEN_FILES_MIN = OWN_FILES_MIN + LISTENER_MIN / SMALL_PART;

/** A limit of open files that gives all listeners what they take. */
export const OPEN_FILES_ENOUGH = Math.ceil(
  Object.values(CONNECTIONS_MAX).reduce((sum, max) => sum + max, 0) / (1 - OWN_FILES_PART),
);

const under = (bounds: ConnectionBounds, part: number): readonly ListenerName[] =>
  LISTENER_NAMES.filter((name) => bounds[name] > 0 && bounds[name] < CONNECTIONS_MAX[name] * part);

/** Many systems give somewhat less than is taken; where it is less than this part, somebody should know. */
const FEW_PART = 1 / 10;
export const hasFew = (bounds: ConnectionBounds): boolean => under(bounds, FEW_PART).length > 0;

/** The listeners that have less than they take, in words; undefined where none has. */
export function fewerInWords(bounds: ConnectionBounds): string | undefined {
  const fewer = under(bounds, 1);
  if (fewer.length === 0) return undefined;
  return fewer.map((name) => `${bounds[name]} of ${CONNECTIONS_MAX[name]} for ${name}`).join(', ');
}

/** At most half of the connections of a listener, for what holds one of them and does not give way. */
export const halfAtMost = (bound: number, connections: number): number =>
  Math.min(bound, Math.max(1, Math.floor(connections / 2)));

/** A bound that was made for as many connections as the listener takes, of a listener that has fewer. */
export const inProportion = (bound: number, name: ListenerName, bounds: ConnectionBounds): number =>
  Math.min(bound, Math.max(1, Math.floor((bound * bounds[name]) / CONNECTIONS_MAX[name])));
