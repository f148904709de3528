import type { TestProject } from 'vitest/node';
import { findEtcd, NO_ETCD } from '../etcd/etcd-binary.ts';
import { EtcdCluster } from '../etcd/etcd.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The URL of an etcd that all test files share, each under prefixes of its own; undefined where there is none. */
    etcd: string | undefined;
  }
}

/**
 * One etcd for the whole run: a test that stops or fills its etcd starts one of its own.
 * @public Vitest loads it by its path.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const binary = findEtcd();
  if (binary === undefined) {
    process.stdout.write(`The tests on etcd are skipped: ${NO_ETCD}\n`);
    project.provide('etcd', undefined);
    return () => Promise.resolve();
  }
  // Other tests, with a member that syncs, cover crashes.
  const cluster = await EtcdCluster.start({ binary, unsafeNoFsync: true });
  project.provide('etcd', cluster.member.url);
  return () => cluster[Symbol.asyncDispose]();
}
