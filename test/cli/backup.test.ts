import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { auditOf, issueCode, revoke, sendEnroll, setOtel } from '../support/daemon.ts';
import { connectedTo, musterCommand, type Ended } from '../support/muster-command.ts';
import { call, createApp, enroll, KEY_FILE_TEXT, Muster, poll, tenant, type Tenant } from '../support/muster.ts';

let root: string;
let file: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'muster-'));
  file = join(root, 'backup');
});
afterEach(() => rmSync(root, { recursive: true }));

/** Where a store lies: what a service and a restore are told of it. */
interface Place {
  readonly dataDir: string;
  readonly env: Readonly<Record<string, string>>;
}

function newPlace(kind: 'sqlite' | 'etcd'): Place {
  const dataDir = mkdtempSync(join(root, 'data-'));
  writeFileSync(join(dataDir, 'keys'), KEY_FILE_TEXT);
  const etcd = { MUSTER_STORE: `etcd:${inject('etcd') ?? ''}`, MUSTER_ETCD_PREFIX: `/${randomUUID()}/` };
  return { dataDir, env: kind === 'etcd' ? etcd : {} };
}

const serviceAt = ({ dataDir, env }: Place): Promise<Muster> => Muster.start({ dataDir, env });

const backupOf = (muster: Muster, ...args: string[]): Promise<Ended> =>
  musterCommand(['backup', file, ...args], connectedTo(muster));

const restoreTo = ({ dataDir, env }: Place, ...args: string[]): Promise<Ended> =>
  musterCommand(['restore', file, ...args], {
    MUSTER_DATA_DIR: dataDir,
    MUSTER_KEY_FILE: join(dataDir, 'keys'),
    MUSTER_OPERATOR_TOKEN: 'operator-token-for-tests-0123456789',
    ...env,
  });

/** A small fleet with something of everything. */
async function livedIn(muster: Muster) {
  const owner = await tenant(muster);
  await setOtel(muster, owner.apiKey, { authHeader: 'Bearer collector-secret' });
  const running = await createApp(muster, owner.apiKey, 'running');
  const credential = await enroll(muster, running);
  const { etag } = Object.fromEntries((await poll(muster, credential)).headers) as { etag: string };
  const cutOff = await createApp(muster, owner.apiKey, 'cut off');
  const dead = await enroll(muster, cutOff);
  await revoke(muster, owner.apiKey, cutOff.appId);
  const waiting = await createApp(muster, owner.apiKey, 'waiting');
  return { owner, running, credential, etag, cutOff, dead, waiting };
}
type Lived = Awaited<ReturnType<typeof livedIn>>;

const appsOf = (muster: Muster, { apiKey }: Tenant) => call(`${muster.api}/v1/apps`, { token: apiKey });

async function seeAll(muster: Muster, lived: Lived, keptCodes: boolean): Promise<void> {
  const polled = await poll(muster, lived.credential, { 'if-none-match': lived.etag });
  expect([polled.status, polled.body['otel']]).toMatchObject([
    200,
    { headers: { Authorization: 'Bearer collector-secret' } },
  ]);
  expect(polled.headers.get('etag')).not.toBe(lived.etag);
  expect((await poll(muster, lived.dead)).status).toBe(401);
  expect((await sendEnroll(muster, lived.cutOff)).status).toBe(401);
  expect((await sendEnroll(muster, lived.running)).status).toBe(401);
  expect((await sendEnroll(muster, lived.waiting)).status).toBe(keptCodes ? 200 : 401);
  const anew = await issueCode(muster, lived.owner.apiKey, lived.waiting.appId);
  expect((await sendEnroll(muster, anew)).status).toBe(200);
}

const WAYS = [
  ['sqlite', 'sqlite'],
  ['sqlite', 'etcd'],
  ['etcd', 'sqlite'],
  ['etcd', 'etcd'],
] as const;

describe.each(WAYS)('from %s to %s', (from, to) => {
  const needsEtcd = from === 'etcd' || to === 'etcd';
  test.skipIf(needsEtcd && inject('etcd') === undefined)(
    'all is there: apps, audit, credentials, what is revoked and used; open codes are void unless kept',
    async () => {
      const source = newPlace(from);
      let lived: Lived;
      let before: { apps: object; audit: readonly object[] };
      {
        await using muster = await serviceAt(source);
        lived = await livedIn(muster);
        before = {
          apps: (await appsOf(muster, lived.owner)).body,
          audit: await auditOf(muster, lived.owner.accountId),
        };
        const made = await backupOf(muster);
        expect(made).toEqual({
          code: 0,
          stdout: '',
          stderr: expect.stringMatching(/^Backed up \d+ entries as of revision \d+\.\n$/),
        });
      }
      for (const keep of [false, true]) {
        const target = newPlace(to);
        const restored = await restoreTo(target, ...(keep ? ['--keep-codes'] : []));
        expect(restored).toEqual({ code: 0, stdout: '', stderr: expect.stringMatching(/^Restored \d+ entries of /) });
        await using muster = await serviceAt(target);
        expect((await appsOf(muster, lived.owner)).body).toEqual(before.apps);
        expect(await auditOf(muster, lived.owner.accountId)).toEqual(before.audit);
        await seeAll(muster, lived, keep);
      }
    },
  );
});
