import { chmodSync, copyFileSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Etcd3 } from 'etcd3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ANNOUNCE_AGAIN_MS } from '../../../src/domain/replicas/replicas.ts';
import { findEtcd, NO_ETCD } from '../../support/etcd/etcd-binary.ts';
import { addUser } from '../../support/etcd/etcd-users.ts';
import { EtcdCluster } from '../../support/etcd/etcd.ts';
import { makeCertificates, type Certificates } from '../../support/http/certificates.ts';
import { etcdFilesOf, MountedSecret } from '../../support/records/mounted-secret.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { lookAtFiles } from '../../support/files/looks.ts';
import { call, createApp, Muster, tenant, type Tenant } from '../../support/service/muster.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

/* CONTRACT.md#files: what etcd asks of its clients may change while they run. */

const binary = findEtcd();
const skipped = binary === undefined ? ` [skipped: ${NO_ETCD}]` : '';
const USER = { username: 'muster', password: 'correct horse' };
const PREFIX = '/fleet/';

const FILES = ['MUSTER_ETCD_CA_FILE', 'MUSTER_ETCD_CERT_FILE'];

const contentOf = ({ ca, certificate, key }: Certificates, password = USER.password): Record<string, string> => ({
  'ca.crt': ca.toString(),
  'tls.crt': certificate.toString(),
  'tls.key': key.toString(),
  password: `${password}\n`,
});

describe.skipIf(binary === undefined)(`rotations on an etcd with TLS and users${skipped}`, () => {
  let dir: string;
  let cluster: EtcdCluster;
  let secret: MountedSecret;
  let clock: FakeClock;
  let muster: Muster;
  let account: Tenant;
  /** The certificates of etcd's next start. */
  let next: Certificates;

  beforeAll(async () => {
    dir = scratchDirectory('etcd-rotation');
    cluster = await EtcdCluster.start({ binary: binary ?? '', tls: true, unsafeNoFsync: true });
    await addUser(cluster, USER, PREFIX);
    secret = new MountedSecret(dir, contentOf(cluster.certificates ?? expect.unreachable('it has certificates')));
    clock = new FakeClock(Date.now());
    muster = await Muster.start({
      store: `etcd:${cluster.urls.join()}`,
      clock,
      // A call while etcd is away waits for so long.
      deadlines: { requestMs: 6000, storeMs: 3000 },
      env: { MUSTER_ETCD_PREFIX: PREFIX, MUSTER_ETCD_COMPACT: 'never', ...etcdFilesOf(secret, USER.username) },
    });
    account = await tenant(muster);
    next = makeCertificates(scratchDirectory('next-authority'));
  });
  afterAll(async () => {
    await muster[Symbol.asyncDispose]();
    await cluster[Symbol.asyncDispose]();
    rmSync(dir, { recursive: true });
  });

  const created = () => call(`${muster.api}/v1/apps`, { method: 'POST', token: account.apiKey, body: {} });
  /** A replica that was away for longer than its lease charges nothing until it has announced itself again. */
  const serves = () =>
    until(async () => {
      clock.advance(ANNOUNCE_AGAIN_MS);
      return (await created()).status === 201;
    });
  const changed = () => muster.logged.filter((line) => line.includes('a file of the configuration has changed')).length;
  const refused = () => muster.logged.filter((line) => line.includes('a file of the configuration cannot be used'));
  /** One look at the files. */
  async function lookedAt(isOver: () => boolean): Promise<void> {
    await lookAtFiles(muster, clock);
    await until(isOver);
  }
  async function taken(files: number): Promise<void> {
    const before = changed();
    await lookedAt(() => changed() >= before + files);
  }
  const metric = async (series: string): Promise<number> => {
    const { text } = await call(`${muster.ops}/metrics`, {});
    return Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${series} `))
        ?.split(' ')[1],
    );
  };
  const gauges = () => Promise.all(FILES.map((file) => metric(`muster_file_unusable{file="${file}"}`)));
  const expiryOf = (file: string) => metric(`muster_certificate_expiry_timestamp_seconds{file="${file}"}`);

  test('a password that was changed in etcd: refused until the file has it, and then at once', async () => {
    await createApp(muster, account.apiKey);
    const { ca, certificate, key } = cluster.certificates ?? expect.unreachable('it has certificates');
    const root = new Etcd3({
      hosts: cluster.urls,
      credentials: { rootCertificate: ca, certChain: certificate, privateKey: key },
      auth: { username: 'root', password: 'root' },
    });
    await root.user(USER.username).setPassword('staple battery');
    root.close();
    await until(async () => (await created()).status === 502);
    secret.renew(contentOf(cluster.certificates ?? next, 'staple battery'));
    await taken(1);
    await until(async () => (await created()).status === 201);
    expect(muster.logged.join()).not.toMatch(/staple|horse/);
  });

  test('certificates that etcd refuses are told and not used, also by a connection anew', async () => {
    const expiry = await expiryOf('MUSTER_ETCD_CA_FILE');
    secret.renew({ ...contentOf(next, 'staple battery') });
    await lookedAt(() => FILES.every((file) => refused().some((line) => line.includes(`"${file}"`))));
    const { text } = await call(`${muster.ops}/readyz`, {});
    expect(text).toMatch(/MUSTER_ETCD_CA_FILE: .*unknown authority.*MUSTER_ETCD_CERT_FILE: .*refuses the certificate/);
    expect(await gauges()).toEqual([1, 1]);
    expect(await expiryOf('MUSTER_ETCD_CA_FILE')).toBe(expiry);
    await cluster.member.stop();
    expect((await created()).status).toBe(502);
    await cluster.member.start();
    await serves();
  });

  test('another authority, certificates and keys: etcd comes back with them, and so does the service', async () => {
    for (const name of ['server.crt', 'server.key', 'ca.crt']) replace(name);
    await cluster.member.stop();
    await cluster.member.start();
    await taken(2);
    await serves();
    expect(await gauges()).toEqual([0, 0]);
    const { text } = await call(`${muster.ops}/metrics`, {});
    expect(text).toMatch(/muster_certificate_expiry_timestamp_seconds\{file="MUSTER_ETCD_CERT_FILE"\} \d+/);
  });

  test('the same while etcd is there first: 502 until the files are there, and then within one look', async () => {
    const third = makeCertificates(scratchDirectory('third-authority'));
    next = third;
    for (const name of ['server.crt', 'server.key', 'ca.crt']) replace(name);
    await cluster.member.stop();
    await cluster.member.start();
    expect((await created()).status).toBe(502);
    secret.renew(contentOf(third, 'staple battery'));
    await taken(2);
    await serves();
  });

  /** Puts the server's file of the next authority in the place of the present one. */
  function replace(name: string): void {
    const [from, to] = [join(next.directory, name), join(cluster.directory, name)];
    copyFileSync(from, `${to}.next`);
    chmodSync(`${to}.next`, 0o600);
    renameSync(`${to}.next`, to);
    expect(readFileSync(to)).toEqual(readFileSync(from));
  }
});
