import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parseRecord } from '../../../../src/domain/records/codec.ts';
import { emptyChain } from '../../../../src/domain/audit/chain.ts';
import { KEYS, kindOfKey } from '../../../../src/domain/records/keys.ts';
import { expectRevision } from '../../../../src/store/entry.ts';
import { openSqliteStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import { HEAD_KEY } from '../../../../src/store/port.ts';
import { putAll } from '../../../support/records/backups.ts';
import { detection, sendDetections } from '../../../support/records/detections.ts';
import { entriesOf } from '../../../support/service/accounts.ts';
import { setOtel } from '../../../support/service/daemon.ts';
import { connectedTo, musterHere } from '../../../support/service/muster-command.ts';
import { createApp, enroll, KEY_FILE_TEXT, Muster, poll, tenant } from '../../../support/service/muster.ts';
import { until } from '../../../support/time/until.ts';
import { rawKey } from '../../../support/store/raw-key.ts';

let dataDir: string;
let env: Record<string, string>;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'muster-deep-'));
  writeFileSync(join(dataDir, 'keys'), KEY_FILE_TEXT, { mode: 0o600 });
  env = {
    MUSTER_DATA_DIR: dataDir,
    // Nobody listens there, and `0` is always free.
    MUSTER_CLIENT_OPS_URL: 'http://127.0.0.1:1',
    MUSTER_API_LISTEN: '127.0.0.1:0',
    MUSTER_DEVICE_LISTEN: '127.0.0.1:0',
    MUSTER_OPS_LISTEN: '127.0.0.1:0',
    MUSTER_PANEL_LISTEN: '127.0.0.1:0',
  };
});
afterEach(() => rmSync(dataDir, { recursive: true }));

interface Findings {
  readonly failed: number;
  readonly warned: number;
  readonly findings: readonly { readonly level: string; readonly what: string; readonly says: string }[];
}

async function deep(more: Readonly<Record<string, string>> = {}): Promise<{ code: unknown; told: Findings }> {
  const { code, stdout } = await musterHere(['doctor', '--deep', '-o', 'json'], { ...env, ...more });
  return { code, told: JSON.parse(stdout) as Findings };
}
const of = ({ findings }: Findings, what: string): string[] =>
  findings.filter((finding) => finding.what === what).map(({ level, says }) => `${level}: ${says}`);

/** A store with something of everything, which no service holds any more. */
async function livedIn(): Promise<string> {
  await using muster = await Muster.start({ dataDir });
  const owner = await tenant(muster);
  await setOtel(muster, owner.apiKey, { authHeader: 'Bearer collector-secret' });
  const credential = await enroll(muster, await createApp(muster, owner.apiKey));
  await poll(muster, credential);
  await sendDetections(muster, credential, [detection({})]);
  expect((await musterHere(['backup', 'create', '-'], connectedTo(muster))).code).toBe(0);
  return owner.accountId;
}

async function changed(records: Readonly<Record<string, object>>): Promise<void> {
  await using store = await openSqliteStore(join(dataDir, 'muster.db'));
  await putAll(store, records);
}

test('a store that is well: every record and every audit, and the last backup', async () => {
  await livedIn();
  const { code, told } = await deep();
  expect([code, told.failed]).toEqual([0, 0]);
  expect(of(told, 'records')).toEqual([expect.stringMatching(/^ok: \d+ have the shape/)]);
  expect(of(told, 'audit')).toEqual(['ok: 2 audits are as they were sealed']);
  expect(of(told, 'quota')).toEqual(['ok: the audits of 1 accounts are as large as was noted']);
  expect(of(told, 'backup')).toEqual([expect.stringMatching(/^ok: the last one is of \S+ \(/)]);
});

test('a record that is damaged, one of another version, and an old backup', async () => {
  const accountId = await livedIn();
  await changed({
    [KEYS.otel(accountId)]: { revision: 'hunter2' },
    'tomorrow/record': { field: 1 },
    [KEYS.lastBackup()]: { at: Date.UTC(2020, 1, 1) },
  });
  const { code, told } = await deep();
  expect([code, told.failed]).toEqual([3, 1]);
  expect(of(told, 'records')).toEqual([
    expect.stringMatching(
      new RegExp(`^fail: 1 of \\d+ are damaged: The record d/a/${accountId}/otel .*Restore a backup`),
    ),
    expect.stringMatching(/^warn: 1 of \d+ are none of this version's: tomorrow\/record/),
  ]);
  expect(of(told, 'backup')).toEqual([expect.stringMatching(/^warn: .*2020-02-01.*see why there is no newer one/)]);
  expect(JSON.stringify(told)).not.toContain('hunter2');
});

test('an audit that was tampered with', async () => {
  const accountId = await livedIn();
  {
    await using store = await openSqliteStore(join(dataDir, 'muster.db'));
    const [first] = await entriesOf(store, KEYS.audit.under(accountId));
    if (!first) return expect.unreachable('the account was created');
    await store.commit({ expect: [expectRevision(first.key, first.revision)], write: [{ remove: rawKey(first.key) }] });
  }
  const { code, told } = await deep();
  expect([code, of(told, 'audit')]).toEqual([
    3,
    [`fail: 1 of 2 were tampered with: ${accountId}; see: muster audit verify`],
  ]);
});

test('an account whose bytes are noted wrongly, of the store and of the running service, which counts them anew', async () => {
  const accountId = await livedIn();
  const key = KEYS.chain(accountId);
  {
    await using store = await openSqliteStore(join(dataDir, 'muster.db'));
    await putAll(store, { [key]: { ...emptyChain(accountId), own: { bytes: 7, number: 0, base: 0 } } });
  }
  const wrong = `warn: 1 audits are not as large as was noted: ${accountId}; `;
  const first = await deep();
  expect([first.code, of(first.told, 'quota')]).toEqual([
    0,
    [`${wrong}start the service, and check again: it counts them anew`],
  ]);
  await using muster = await Muster.start({ dataDir });
  expect(of((await deep(connectedTo(muster))).told, 'quota')).toEqual([`${wrong}the service counts them anew`]);
  // Entries may be sealed between the count and its writing.
  await until(async () => of((await deep(connectedTo(muster))).told, 'quota')[0]?.startsWith('ok: ') === true);
});

test('through a running service: its audits and its last backup; what it holds is not read', async () => {
  await using muster = await Muster.start({ dataDir });
  await tenant(muster);
  const before = await deep(connectedTo(muster));
  expect([before.code, of(before.told, 'audit')]).toEqual([0, ['ok: 2 audits are as they were sealed']]);
  expect(of(before.told, 'backup')).toEqual([expect.stringMatching(/^warn: /)]);
  expect(of(before.told, 'records')).toEqual(['warn: not read: stop the service, and run this again']);
  const shallow = await musterHere(['doctor', '-o', 'jsonl'], { ...env, ...connectedTo(muster) });
  expect(shallow.code).toBe(0);
  expect(shallow.stdout).not.toMatch(/"what":"(?:audit|backup|records)"/);
});

test('every record of a lived-in store is of a declared kind, and has its shape', async () => {
  await livedIn();
  await using store = await openSqliteStore(join(dataDir, 'muster.db'));
  const entries = (await entriesOf(store, '')).filter(({ key }) => key !== HEAD_KEY);
  expect(entries.length).toBeGreaterThan(15);
  for (const entry of entries) {
    const kind = kindOfKey(entry.key);
    if (!kind) return expect.unreachable(entry.key);
    expect(parseRecord(kind, entry).revision).toBe(entry.revision);
  }
});

test('names to sign in with that became one are named, of the store and of the running service', async () => {
  await livedIn();
  const first = 'H\u0331';
  const second = '\u1e96';
  const user = { name: 'Ann', createdAt: 1, disabled: false, identities: [], passkeys: [] };
  const [one, two, other] = ['a', 'b', 'c'].map((letter) => letter.repeat(16));
  await changed({
    [KEYS.user(one ?? '')]: { ...user, login: first },
    [KEYS.user(two ?? '')]: { ...user, login: second },
    [KEYS.user(other ?? '')]: { ...user, login: 'ann@example.com' },
  });
  const says = [
    `warn: 2 names are one now, and each signs in by its exact form: "${first}" (user aaaaaaaaaaaaaaaa), "${second}" (user bbbbbbbbbbbbbbbb). Delete a user and make it anew`,
  ];
  const { stdout } = await musterHere(['doctor', '-o', 'json'], env);
  expect(of(JSON.parse(stdout) as Findings, 'logins')).toEqual(says);
  await using muster = await Muster.start({ dataDir });
  const running = await musterHere(['doctor', '-o', 'json'], { ...env, ...connectedTo(muster) });
  expect(of(JSON.parse(running.stdout) as Findings, 'logins')).toEqual(says);
});
