import { join } from 'node:path';
import { readFileSync, rmSync } from 'node:fs';
import { Etcd3 } from 'etcd3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findEtcd, NO_ETCD } from '../../support/etcd/etcd-binary.ts';
import { addUser } from '../../support/etcd/etcd-users.ts';
import { EtcdCluster } from '../../support/etcd/etcd.ts';
import { TlsProxy } from '../../support/etcd/tls-proxy.ts';
import { makeCertificates, type Certificates } from '../../support/http/certificates.ts';
import { etcdFilesOf, MountedSecret } from '../../support/records/mounted-secret.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { lookAtFiles } from '../../support/files/looks.ts';
import { call, createApp, Muster, tenant, type Tenant } from '../../support/service/muster.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

/* ADR 0060, no. 7: what etcd takes replaces what it took before, while connections stand and carry requests. */

const binary = findEtcd();
const skipped = binary === undefined ? ` [skipped: ${NO_ETCD}]` : '';
const USER = { username: 'muster', password: 'correct horse' };
const PREFIX = '/fleet/';
const [BEFORE, AFTER] = ['client', 'server'];

describe.skipIf(binary === undefined)(`a renewal under requests${skipped}`, () => {
  let dir: string;
  let cluster: EtcdCluster;
  let own: Certificates;
  let proxy: TlsProxy;
  let secret: MountedSecret;
  let clock: FakeClock;
  let muster: Muster;
  let accounts: readonly Tenant[];
  const content: Record<string, string> = {};

  beforeAll(async () => {
    dir = scratchDirectory('etcd-replacement');
    cluster = await EtcdCluster.start({ binary: binary ?? '', tls: true, unsafeNoFsync: true });
    await addUser(cluster, USER, PREFIX);
    own = cluster.certificates ?? expect.unreachable('it has certificates');
    const { directory, ca } = own;
    const [certificate, key] = [serverFile('server.crt'), serverFile('server.key')];
    proxy = await TlsProxy.before(cluster.member.port, own, { directory, ca, certificate, key });
    content['ca.crt'] = ca.toString();
    content['tls.crt'] = own.certificate.toString();
    content['tls.key'] = own.key.toString();
    content['password'] = USER.password;
    secret = new MountedSecret(dir, content);
    clock = new FakeClock(Date.now());
    muster = await Muster.start({
      store: `etcd:${proxy.url}`,
      clock,
      env: { MUSTER_ETCD_PREFIX: PREFIX, MUSTER_ETCD_COMPACT: 'never', ...etcdFilesOf(secret, USER.username) },
    });
    accounts = await Promise.all([tenant(muster), tenant(muster), tenant(muster)]);
  });
  afterAll(async () => {
    await muster[Symbol.asyncDispose]();
    await proxy[Symbol.asyncDispose]();
    await cluster[Symbol.asyncDispose]();
    rmSync(dir, { recursive: true });
  });

  const serverFile = (name: string): Buffer => readFileSync(join(own.directory, name));
  const logged = (words: string) => muster.logged.filter((line) => line.includes(words)).length;

  /** Has every account create apps one after the other until the work is done. @returns every status */
  async function during(work: () => Promise<void>): Promise<Set<number>> {
    const over = new AbortController();
    const statuses = new Set<number>();
    const creating = accounts.map(async ({ apiKey }) => {
      do {
        const { status } = await call(`${muster.api}/v1/apps`, { method: 'POST', token: apiKey, body: {} });
        // An account that is too quick is no failure of the store.
        if (status !== 429) statuses.add(status);
      } while (!over.signal.aborted);
    });
    await work().finally(() => over.abort());
    await Promise.all(creating);
    return statuses;
  }

  test('another certificate, and another authority beside the former one: no request fails', async () => {
    const another = makeCertificates(scratchDirectory('another-authority'));
    content['ca.crt'] += another.ca.toString();
    content['tls.crt'] = serverFile('server.crt').toString();
    content['tls.key'] = serverFile('server.key').toString();
    expect([proxy.countOf(BEFORE) > 1, proxy.countOf(AFTER)]).toEqual([true, 0]);
    const statuses = await during(async () => {
      secret.renew(content);
      await lookAtFiles(muster, clock);
      await until(() => logged('a file of the configuration has changed') === 2);
      // A watch keeps the connection that it began on.
      await until(() => proxy.countOf(AFTER) >= 2 && proxy.countOf(BEFORE) <= 1);
    });
    expect([...statuses]).toEqual([201]);
  });

  test('another password, in the file first: told until etcd has it, and no request fails', async () => {
    await createApp(muster, accounts[0]?.apiKey ?? '');
    content['password'] = 'staple battery';
    const statuses = await during(async () => {
      secret.renew(content);
      await lookAtFiles(muster, clock);
      await until(() => logged('a file of the configuration cannot be used') === 1);
      expect((await call(`${muster.ops}/readyz`, {})).text).toContain('MUSTER_ETCD_PASSWORD_FILE: etcd refuses');
      const root = new Etcd3({
        hosts: cluster.urls,
        credentials: { rootCertificate: own.ca, certChain: own.certificate, privateKey: own.key },
        auth: { username: 'root', password: 'root' },
      });
      await root.user(USER.username).setPassword('staple battery');
      root.close();
      await createApp(muster, accounts[0]?.apiKey ?? '');
      await lookAtFiles(muster, clock);
      await until(() => logged('a file of the configuration can be used again') === 1);
    });
    expect([...statuses]).toEqual([201]);
    expect(muster.logged.join()).not.toMatch(/staple|horse/);
  });
});
