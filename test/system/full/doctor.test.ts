import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { settleFormat } from '../../../src/domain/replicas/format.ts';
import { StoreIdentity } from '../../../src/domain/replicas/store-identity.ts';
import { openEtcdStore } from '../../../src/store/etcd/etcd-store.ts';
import { systemClock } from '../../../src/time/clock.ts';
import { fill } from '../../chaos/cluster/etcd-admin.ts';
import { findEtcd, NO_ETCD } from '../../support/etcd/etcd-binary.ts';
import { EtcdCluster } from '../../support/etcd/etcd.ts';
import { putAll } from '../../support/records/backups.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { musterHere, notStarted } from '../../support/service/muster-command.ts';
import { KEY_FILE_TEXT, OPERATOR_TOKEN } from '../../support/service/muster.ts';

const binary = findEtcd();
const RUNBOOK = readFileSync('docs/RUNBOOK.md', 'utf8');
const sectionOf = (alert: string): string => RUNBOOK.split(`\n## ${alert}\n`)[1]?.split('\n## ')[0] ?? '';
const commandsIn = (text: string): string[] =>
  [...text.matchAll(/`(etcdctl [^`$]*?)(?: \$\w+)?`/g)].map(([, one = '']) => one);

describe.skipIf(binary === undefined)(`muster doctor${binary ? '' : ` [skipped: ${NO_ETCD}]`}`, () => {
  test('on an etcd without room says what the runbook says, and blames no clock for what is older', async () => {
    await using etcd = await EtcdCluster.start({
      binary: binary ?? '',
      unsafeNoFsync: true,
      flags: ['--quota-backend-bytes=8000000'],
    });
    const { url } = etcd.member;
    const folder = scratchDirectory('doctor-full');
    writeFileSync(join(folder, 'keys'), KEY_FILE_TEXT, { mode: 0o600 });
    const env = {
      ...notStarted(folder),
      MUSTER_STORE: `etcd:${url}`,
      MUSTER_KEY_FILE: join(folder, 'keys'),
      MUSTER_OPERATOR_TOKEN: OPERATOR_TOKEN,
    };
    const diagnosed = async () => (await musterHere(['doctor'], env)).stdout;
    const now = systemClock.now();
    const announced = (replicaId: string, clock: number) => ({
      [KEYS.replica(replicaId)]: {
        replicaId,
        startedAt: 1,
        version: '0.1.0',
        keyNumbers: [1],
        fingerprints: {},
        clock,
      },
    });
    {
      await using store = await openEtcdStore({ endpoints: [url], prefix: '/muster/', deadlineMs: 20_000 });
      await settleFormat(store, { identity: new StoreIdentity(undefined), initialize: true });
      await putAll(store, { ...announced('older', now - 600_000), ...announced('newer', now + 600_000) });
    }
    const clocks = (said: string): string[] => said.match(/replica \w+ is \d+ s (?:behind|ahead of)/g) ?? [];
    const before = await diagnosed();
    expect(clocks(before).toSorted()).toEqual([
      expect.stringMatching(/replica newer is .* ahead of/),
      expect.stringMatching(/replica older is .* behind/),
    ]);
    await fill(etcd.member);
    const said = await diagnosed();
    expect(clocks(said)).toEqual([expect.stringMatching(/replica newer is .* ahead of/)]);
    const remedy = /^fail {2}store .*takes no writes at all.*$/m.exec(said)?.[0] ?? '';
    const commands = commandsIn(remedy);
    expect(commands).toEqual(['etcdctl compact', 'etcdctl defrag --cluster', 'etcdctl alarm disarm']);
    const inRunbook = commandsIn(sectionOf('MusterStoreFull').split('**Mend.**')[1] ?? '');
    expect(inRunbook.filter((one) => commands.includes(one))).toEqual(commands);
    expect(remedy).toContain('--quota-backend-bytes');
    rmSync(folder, { recursive: true });
  });
});
