import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Child } from './child.ts';
import { request, type NextShot, type Shot } from './load.ts';
import type { Seeded } from './seed.ts';

const OPERATOR_TOKEN = 'bench-operator-token-0123456789abcdef';

export interface Ports {
  readonly api: number;
  readonly device: number;
  readonly ops: number;
}

/** The ports of the baselines. */
export interface Baseline {
  readonly express: number;
  readonly raw: number;
}

/** Starts Muster in a process of its own. @param store `sqlite:PATH` or `etcd:URL` */
export const startMuster = async (
  dataDir: string,
  store: string,
  further: NodeJS.ProcessEnv = {},
): Promise<Child<Ports>> => await Child.start<Ports>('./server.ts', [], { ...env(dataDir, store), ...further });

function env(dataDir: string, store: string): NodeJS.ProcessEnv {
  writeFileSync(join(dataDir, 'keys'), `1:${Buffer.alloc(32, 1).toString('base64')}\n`);
  return {
    MUSTER_DATA_DIR: dataDir,
    MUSTER_STORE: store,
    MUSTER_KEY_FILE: join(dataDir, 'keys'),
    MUSTER_OPERATOR_TOKEN: OPERATOR_TOKEN,
    MUSTER_API_LISTEN: '127.0.0.1:0',
    MUSTER_DEVICE_LISTEN: '127.0.0.1:0',
    MUSTER_OPS_LISTEN: '127.0.0.1:0',
    MUSTER_PANEL_LISTEN: '127.0.0.1:0',
    MUSTER_DEVICE_RATE_PER_MINUTE: '100000',
    MUSTER_LOG_LEVEL: 'warn',
  };
}

/** Takes each in turn, so that no account reaches the limit of its rate window and no device its rate limit. */
export function rotate<T>(items: readonly T[], shot: (item: T) => Shot): () => Shot {
  const shots = items.map(shot);
  let turn = 0;
  return () => {
    turn = (turn + 1) % shots.length;
    const next = shots[turn];
    if (!next) throw new Error('nothing to ask for');
    return next;
  };
}

export function eachItsOwn(shots: readonly Shot[]): NextShot {
  return (connection) => {
    const shot = shots[connection % shots.length];
    if (!shot) throw new Error('nothing to ask for');
    return shot;
  };
}

const bearer = ({ token }: Seeded): Record<string, string> => ({ Authorization: `Bearer ${token}` });
export const readOne = (account: Seeded): Shot => ({
  bytes: request('GET', `/v1/apps/${account.appId}`, bearer(account)),
  status: 200,
});
export const create = (account: Seeded): Shot => ({
  bytes: request('POST', '/v1/apps', bearer(account), '{"name":"bench"}'),
  status: 201,
});
export const list = (account: Seeded): Shot => ({ bytes: request('GET', '/v1/apps', bearer(account)), status: 200 });

/** What both baselines are asked. */
export const hello: Shot = { bytes: request('GET', '/hello', {}), status: 200 };
