import { randomUUID } from 'node:crypto';
import { describe, inject } from 'vitest';
import { Muster, type MusterOptions } from '../service/muster.ts';

/** A place for records: every `start` of one backend value opens the same store. */
export interface Backend {
  readonly name: 'sqlite' | 'etcd';
  /** A Muster on a store that is empty at first, and its own. */
  fresh(options?: MusterOptions): Promise<Muster>;
  /**
   * `MUSTER_STORE` and its prefix for an etcd of this run, under a prefix that nobody has; only where `name` is etcd.
   */
  place(): Pick<MusterOptions, 'store' | 'env'>;
}

function sqlite(): Backend {
  return { name: 'sqlite', fresh: (options) => Muster.start(options), place: () => ({}) };
}

/** An etcd of this run. */
export function etcdBackend(url: string): Backend {
  const place = (): Pick<MusterOptions, 'store' | 'env'> => ({
    store: `etcd:${url}`,
    env: { MUSTER_ETCD_PREFIX: `/${randomUUID()}/` },
  });
  return {
    name: 'etcd',
    place,
    fresh: (options = {}) => {
      const { store, env } = place();
      return Muster.start({ ...options, ...(store !== undefined && { store }), env: { ...env, ...options.env } });
    },
  };
}

/** Behaviour through the front door, once on each back-end. Without an etcd the second half is skipped, and said so. */
export function onEachBackend(title: string, suite: (backend: Backend) => void): void {
  describe(`${title} (sqlite)`, () => {
    suite(sqlite());
  });
  const url = inject('etcd');
  describe.skipIf(url === undefined)(`${title} (etcd)`, () => {
    suite(etcdBackend(url ?? ''));
  });
}

const ONCE: Readonly<Record<Backend['name'], (title: string, suite: () => void) => void>> = {
  sqlite: (title, suite) => {
    describe(title, () => {
      suite();
    });
  },
  etcd: () => undefined,
};

/**
 * Runs the suite on the first back-end alone: for the shapes of requests and answers, in which the store plays no part.
 */
export function describeOnce({ name }: Backend, title: string, suite: () => void): void {
  ONCE[name](title, suite);
}
