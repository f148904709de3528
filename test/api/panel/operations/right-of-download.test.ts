import { expect, test } from 'vitest';
import { OPERATOR_AUDIT } from '../../../../src/domain/records/audit-records.ts';
import type { Store } from '../../../../src/store/port.ts';
import { HOUR_MS } from '../../../../src/time/utc-days.ts';
import { makeToken } from '../../../support/panel/access-tokens/tokens.ts';
import { ask, panelMuster, signedIn, type Browser, type PanelMuster } from '../../../support/panel/panel-users.ts';
import { asOperator } from '../../../support/panel/visitor.ts';
import { tenant, type Answer } from '../../../support/service/muster.ts';
import { busyHours } from '../../../support/store/audit-entries.ts';
import { onEachBackend, type Backend } from '../../../support/store/backends.ts';
import { wrappedStore } from '../../../support/store/wrapped-store.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

/* A12: a download ends with its reader's session or right, as a new request would be refused. */

/** Whoever downloads: a browser by its session, or a program by an access token. */
interface Reader extends Pick<Browser, 'token'> {
  readonly isProgram?: boolean;
}

/** Everything received until the body ended, or was broken off: an answer without a piece before its head, too. */
async function download({ muster }: PanelMuster, { token, isProgram }: Reader, path: string) {
  const { port } = muster.service.panel;
  const headers = isProgram === true ? { authorization: `Bearer ${token}` } : { cookie: `muster_${port}=${token}` };
  const decoder = new TextDecoder();
  let text = '';
  let status = 0;
  try {
    const response = await fetch(`http://127.0.0.1:${port}/panel/v1${path}`, { headers });
    ({ status } = response);
    const body: AsyncIterable<Uint8Array> | readonly Uint8Array[] = response.body ?? [];
    for await (const chunk of body) text += decoder.decode(chunk, { stream: true });
    return { bytes: text.length, isWhole: status === 200, status };
  } catch {
    return { bytes: text.length, isWhole: false, status };
  }
}

/** An account and a service with long audits, and a store that counts the reads of which downloads are made. */
async function scene(backend: Backend) {
  const clock = new FakeClock(Date.now());
  let reads = 0;
  let beforeRead: { readonly read: number; readonly act: () => Promise<unknown> } | undefined;
  const counted = async (): Promise<void> => {
    reads += 1;
    const due = beforeRead;
    if (due?.read !== reads) return;
    beforeRead = undefined;
    await due.act();
  };
  const panel = await panelMuster(backend, {
    clock,
    wrapStore: (real: Store) =>
      wrappedStore(real, {
        async list(question) {
          if (question.prefix.includes('audit')) await counted();
          return await real.list(question);
        },
        async listAt(question, revision) {
          await counted();
          return await real.listAt(question, revision);
        },
      }),
  });
  const { accountId } = await tenant(panel.muster);
  for (const audit of [accountId, OPERATOR_AUDIT]) {
    await busyHours(panel.store, audit, { hours: 12, now: clock.now() + 13 * HOUR_MS });
  }
  // The last operator cannot go.
  await signedIn(panel.store, { operator: true });
  return {
    panel,
    accountId,
    reader: () => signedIn(panel.store, { accounts: [{ accountId, role: 'viewer' }] }),
    operator: () => signedIn(panel.store, { operator: true }),
    /** Downloads with what happens in the last third of its reads. */
    async during(by: Reader, path: string, act: () => Promise<unknown>) {
      reads = 0;
      const before = await download(panel, by, path);
      expect(before.isWhole).toBe(true);
      beforeRead = { read: Math.ceil((reads * 2) / 3), act };
      reads = 0;
      let after = await download(panel, by, path);
      // A backup is over a moment after its last byte has come, and one runs at a time.
      while (after.status === 503) after = await download(panel, by, path);
      expect(beforeRead).toBeUndefined();
      return { after, before };
    },
  };
}

type Scene = Awaited<ReturnType<typeof scene>>;

const ENDS = {
  'the removal from the account': async ({ panel, accountId }: Scene, { userId }: Browser) => {
    const owner = await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
    return await ask(panel, owner, `/accounts/${accountId}/members/${userId}`, { method: 'DELETE' });
  },
  'the sign-out': ({ panel }: Scene, by: Browser) =>
    ask(panel, by, `/me/sessions/${by.sessionId}`, { method: 'DELETE' }),
  'the disabling of its user': ({ panel }: Scene, { userId }: Browser) =>
    asOperator(panel.muster, `/users/${userId}`, { method: 'PATCH', body: { disabled: true } }),
  'the end of its operator': ({ panel }: Scene, { userId }: Browser) =>
    asOperator(panel.muster, `/users/${userId}`, { method: 'PATCH', body: { operator: false } }),
};
type End = keyof typeof ENDS;

const ofAccount = ({ accountId }: Scene): string => `/accounts/${accountId}/audit/export?format=jsonl`;

onEachBackend('a download', (backend) => {
  test.each<[string, End, 'reader' | 'operator', (one: Scene) => string]>([
    ['an audit', 'the removal from the account', 'reader', ofAccount],
    ['an audit', 'the sign-out', 'reader', ofAccount],
    [
      'an audit of which no entry is asked for',
      'the sign-out',
      'reader',
      (one) => `${ofAccount(one)}&actor=key:nobody`,
    ],
    ['an audit', 'the disabling of its user', 'reader', ofAccount],
    ['the service’s audit', 'the end of its operator', 'operator', () => '/audit/export?format=jsonl'],
    ['the service’s audit', 'the sign-out', 'operator', () => '/audit/export?format=jsonl'],
    ['a backup', 'the end of its operator', 'operator', () => '/backup'],
    ['a backup', 'the sign-out', 'operator', () => '/backup'],
  ])('of %s is broken off by %s', async (_what, end, who, pathOf) => {
    const one = await scene(backend);
    await using panel = one.panel;
    const by = await one[who]();
    const statuses: number[] = [];
    const { after, before } = await one.during(by, pathOf(one), async () => {
      statuses.push((await ENDS[end](one, by)).status);
    });
    expect(statuses).toEqual([expect.toBeOneOf([200, 204])]);
    expect(after.isWhole).toBe(false);
    if (before.bytes > 0) {
      expect(after.bytes).toBeGreaterThan(0);
      expect(after.bytes).toBeLessThan(before.bytes);
    }
    expect((await ask(panel, by, pathOf(one).replace(/\?.*/, ''))).status).toBeGreaterThanOrEqual(401);
  });

  test.each<[string, (one: Scene, by: Browser, tokenId: string) => Promise<Answer>]>([
    ['its revocation', ({ panel }, by, id) => ask(panel, by, `/me/access-tokens/${id}`, { method: 'DELETE' })],
    ['the removal of its person from the account', ENDS['the removal from the account']],
  ])('by an access token is broken off by %s', async (_what, end) => {
    const one = await scene(backend);
    await using panel = one.panel;
    const by = await one.reader();
    const { accountId } = one;
    const expiresAt = new Date(Date.now() + 30 * 24 * HOUR_MS).toISOString();
    const { token, tokenId } = await makeToken(panel, by, { accountId, expiresAt });
    const statuses: number[] = [];
    const { after, before } = await one.during({ token, isProgram: true }, ofAccount(one), async () => {
      statuses.push((await end(one, by, tokenId)).status);
    });
    expect(statuses).toEqual([204]);
    expect(after.isWhole).toBe(false);
    expect(after.bytes).toBeLessThan(before.bytes);
  });

  test('goes on where another one’s right ends', async () => {
    const one = await scene(backend);
    await using _ = one.panel;
    const [by, other] = [await one.operator(), await one.operator()];
    const { after } = await one.during(by, '/audit/export?format=jsonl', async () => {
      await ENDS['the end of its operator'](one, other);
      await ENDS['the sign-out'](one, other);
    });
    expect(after.isWhole).toBe(true);
  });
});
