import type { Tls } from './channel.ts';
import { deadlineIn, type TimedOptions } from './deadline.ts';
import type { Endpoint } from './endpoints.ts';
import { textOverHttp } from './http.ts';

/** The first release of each line whose linearizable reads are never stale (etcd-io/etcd#20418). */
const SOUND_SINCE: ReadonlyMap<number, number> = new Map([
  [5, 28],
  [6, 9],
]);
const LAST_MINOR_WITH_FAULT = 6;

/** The fault of this version of etcd, in a sentence; undefined when Muster can run on it. */
export function faultOfVersion(version: string): string | undefined {
  const [major = 0, minor = 0, patch = 0] = (/^(\d+)\.(\d+)\.(\d+)/.exec(version) ?? []).slice(1).map(Number);
  if (major > 3 || (major === 3 && minor > LAST_MINOR_WITH_FAULT)) return undefined;
  if (major === 3 && patch >= (SOUND_SINCE.get(minor) ?? Number.POSITIVE_INFINITY)) return undefined;
  return (
    `etcd ${version} may serve stale linearizable reads (etcd-io/etcd#20418): a revoked key could be accepted. ` +
    'Upgrade etcd to 3.5.28, 3.6.9, 3.7 or newer.'
  );
}

/** The version of one endpoint; undefined when the endpoint does not report it. */
export type ReadVersion = (endpoint: Endpoint) => Promise<string | undefined>;

/**
 * Reads the version from the status, or over HTTP: some versions refuse the status to a user who is limited to a
 * prefix.
 */
export function versionReader(tls: Tls | undefined, deadlineMs: number): ReadVersion {
  return async ({ maintenance, url }) => {
    const timed: TimedOptions = { until: deadlineIn(deadlineMs) };
    const status = maintenance.status(timed).then(({ version }) => version);
    return status.catch(async () => versionOverHttp(url, tls, deadlineMs)).catch(() => undefined);
  };
}

interface VersionRule {
  readonly read: ReadVersion;
  readonly allowOld: boolean;
  readonly warn: (message: string) => void;
}

/**
 * Checks the version of every endpoint; a version that cannot be read is a warning.
 * @throws Error when an endpoint runs a version that must not be used
 */
export async function checkVersions(endpoints: readonly Endpoint[], { read, allowOld, warn }: VersionRule) {
  const versions = await Promise.all(endpoints.map(read));
  for (const [index, version] of versions.entries()) {
    const url = endpoints[index]?.url;
    const fault = version !== undefined && faultOfVersion(version);
    if (version === undefined) warn(`The version of etcd at ${url} could not be read; 3.5.28, 3.6.9 or 3.7 is needed.`);
    else if (fault && !allowOld) throw new Error(`${url}: ${fault}`);
    else if (fault) warn(`${url}: ${fault}`);
  }
}

async function versionOverHttp(url: string, tls: Tls | undefined, deadlineMs: number): Promise<string | undefined> {
  const body = await textOverHttp(new URL('/version', url), {
    tls,
    deadlineMs,
    charactersMax: VERSION_ANSWER_CHARACTERS_MAX,
  });
  const answer = JSON.parse(body) as { etcdserver?: unknown };
  return typeof answer.etcdserver === 'string' ? answer.etcdserver : undefined;
}

const VERSION_ANSWER_CHARACTERS_MAX = 10_000;
