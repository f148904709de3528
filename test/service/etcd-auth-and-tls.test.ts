import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findEtcd, NO_ETCD } from '../support/etcd/etcd-binary.ts';
import { addUser } from '../support/etcd/etcd-users.ts';
import { EtcdCluster } from '../support/etcd/etcd.ts';
import { revoke, setOtel } from '../support/service/daemon.ts';
import { createApp, enroll, Muster, poll, tenant } from '../support/service/muster.ts';
import { FakeClock } from '../support/time/fake-clock.ts';
import { until } from '../support/time/until.ts';

const binary = findEtcd();
const skipped = binary === undefined ? ` [skipped: ${NO_ETCD}]` : '';

const COLLECTOR = { endpoint: 'https://otel.example.com', headers: { Authorization: 'Bearer collector' } };

/** The main job, once: an app, its daemon, the configuration on its next poll, and the end of it. */
async function mainJob(muster: Muster): Promise<void> {
  const { apiKey } = await tenant(muster);
  const app = await createApp(muster, apiKey);
  const credential = await enroll(muster, app);
  expect((await setOtel(muster, apiKey, { authHeader: 'Bearer collector' })).status).toBe(200);
  expect((await poll(muster, credential)).body).toMatchObject({ otel: { enabled: true, ...COLLECTOR } });
  expect((await revoke(muster, apiKey, app.appId)).status).toBe(200);
  expect((await poll(muster, credential)).status).toBe(401);
}

describe.skipIf(binary === undefined)(`Muster as configured, on an etcd that is closed to strangers${skipped}`, () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'muster-'));
  });
  afterAll(() => rmSync(directory, { recursive: true }));
  function file(name: string, content: string | Buffer): string {
    const path = join(directory, name);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  }
  const urls = (cluster: EtcdCluster): string => `etcd:${cluster.urls.join()}`;

  describe('by certificates', () => {
    let cluster: EtcdCluster;
    let env: Record<'MUSTER_ETCD_CA_FILE' | 'MUSTER_ETCD_CERT_FILE' | 'MUSTER_ETCD_KEY_FILE', string>;
    beforeAll(async () => {
      cluster = await EtcdCluster.start({ binary: binary ?? '', tls: true, unsafeNoFsync: true });
      const { ca, certificate, key } = cluster.certificates ?? expect.unreachable('it has certificates');
      env = {
        MUSTER_ETCD_CA_FILE: file('ca.crt', ca),
        MUSTER_ETCD_CERT_FILE: file('client.crt', certificate),
        MUSTER_ETCD_KEY_FILE: file('client.key', key),
      };
    });
    afterAll(() => cluster[Symbol.asyncDispose]());

    test('with its own it does its job', async () => {
      await using muster = await Muster.start({ store: urls(cluster), env });
      await mainJob(muster);
    });

    test('without one it does not start', async () => {
      const { MUSTER_ETCD_CA_FILE } = env;
      const clock = new FakeClock();
      const deadlines = { requestMs: 200, storeMs: 100 };
      let refusal: unknown;
      const starting = Muster.start({ store: urls(cluster), env: { MUSTER_ETCD_CA_FILE }, clock, deadlines });
      starting.catch((error: unknown) => (refusal = error));
      // It tries for half a minute: one that is started together with its etcd finds it later.
      await until(() => {
        clock.advance(1000);
        return refusal !== undefined;
      });
      expect(refusal).toMatchObject({ reason: 'unreachable' });
    });
  });

  describe('by users', () => {
    const user = { username: 'muster', password: 'correct horse' };
    let cluster: EtcdCluster;
    beforeAll(async () => {
      cluster = await EtcdCluster.start({ binary: binary ?? '', unsafeNoFsync: true });
      await addUser(cluster, user, '/fleet/');
    });
    afterAll(() => cluster[Symbol.asyncDispose]());
    const env = (password: string): Record<string, string> => ({
      MUSTER_ETCD_PREFIX: '/fleet/',
      MUSTER_ETCD_COMPACT: 'never',
      MUSTER_ETCD_USERNAME: user.username,
      MUSTER_ETCD_PASSWORD_FILE: file('password', `${password}\n`),
    });

    test('with a user of its prefix alone it does its job', async () => {
      await using muster = await Muster.start({ store: urls(cluster), env: env(user.password) });
      await mainJob(muster);
    });

    test('with a wrong password it does not start, and does not repeat the password', async () => {
      const starting = Muster.start({ store: urls(cluster), env: env('hunter2') });
      await expect(starting).rejects.toThrow(/etcd|auth/i);
      await expect(starting).rejects.not.toThrow(/hunter2/);
    });
  });
});
