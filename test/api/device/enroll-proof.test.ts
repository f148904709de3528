import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Store } from '../../../src/store/port.ts';
import {
  auditOf,
  changeAccount,
  deleteApp,
  enrollOwn,
  enrollProving,
  issueCode,
  metric,
  ownCredential,
  readApp,
  revoke,
  type OwnCredential,
} from '../../support/service/daemon.ts';
import {
  call,
  createApp,
  enroll,
  type Muster,
  poll,
  tenant,
  type Answer,
  type CreatedApp,
  type Tenant,
} from '../../support/service/muster.ts';
import { describeOnce, onEachBackend, type Backend } from '../../support/store/backends.ts';
import { faultyStore, type FaultyStore } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/* Who sends a hash first does not own the credential: whoever has the credential itself does. */

const INVALID_CODE = { status: 401, body: { error: { code: 'invalid_code' } } };

onEachBackend('a hash that was sent alone', (backend: Backend) => {
  const clock = new FakeClock();
  let muster: Muster;
  let owner: Tenant;
  let stranger: Tenant;
  beforeAll(async () => {
    muster = await backend.fresh({ clock });
    [owner, stranger] = [await tenant(muster), await tenant(muster)];
  });
  afterAll(() => muster[Symbol.asyncDispose]());

  /** An app of the stranger's, enrolled with the hash of a credential that the stranger does not have. */
  async function claimed(): Promise<{ own: OwnCredential; claim: CreatedApp; app: CreatedApp }> {
    const [own, claim, app] = [
      ownCredential(),
      await createApp(muster, stranger.apiKey),
      await createApp(muster, owner.apiKey),
    ];
    expect((await enrollOwn(muster, claim, own.hash)).status).toBe(200);
    return { own, claim, app };
  }
  const statusOfPoll = async ({ token }: OwnCredential): Promise<number> => (await poll(muster, token)).status;
  const auditedOf = async ({ accountId }: Tenant, action: string, appId: string) =>
    (await auditOf(muster, accountId)).filter((entry) => entry.action === action && entry.appId === appId);

  test('yields to an enrollment that proves the credential; audit, metrics and log tell both apps', async () => {
    const { own, claim, app } = await claimed();
    const series = [
      'muster_enrollments_total{result="took_over"}',
      'muster_mutations_total{action="credential.yielded"}',
    ];
    const counts = () => Promise.all(series.map((name) => metric(muster, name)));
    const [took = 0, yielded = 0] = await counts();
    const enrolled = await enrollProving(muster, app, own);
    expect(enrolled).toMatchObject({ status: 200, body: { appId: app.appId, status: 'active' } });
    expect(enrolled.body).not.toHaveProperty('credential');
    expect(await statusOfPoll(own)).toBe(200);
    // It is the app of its owner now: revoking the other one changes nothing, revoking this one ends it.
    await revoke(muster, stranger.apiKey, claim.appId);
    expect(await statusOfPoll(own)).toBe(200);
    await revoke(muster, owner.apiKey, app.appId);
    expect(await statusOfPoll(own)).toBe(401);
    expect(await counts()).toEqual([took + 1, yielded + 1]);
    const [gained] = await auditedOf(owner, 'app.enrolled', app.appId);
    expect(gained?.detail).toMatchObject({ proved: true, tookFrom: claim.appId });
    const lost = await auditedOf(stranger, 'credential.yielded', claim.appId);
    expect(lost).toMatchObject([{ actor: `device:${app.appId}`, detail: { to: app.appId } }]);
    expect(lost[0]?.requestId).toBe(gained?.requestId);
    // The stranger does not learn the name of the app that has the credential now.
    expect([gained?.actorName, lost[0]?.actorName, lost[0]?.targetName]).toEqual(['app', undefined, 'app']);
    const line = muster.logged.find((text) => text.includes('credential.yielded') && text.includes(claim.appId));
    expect(line).toContain(`device:${app.appId}`);
    expect(muster.logged.join('')).not.toContain(own.token);
  });

  test('yields within its account and to an app that has another credential, too', async () => {
    const { own, claim } = await claimed();
    const app = await createApp(muster, stranger.apiKey);
    const old = await enroll(muster, app);
    expect((await enrollProving(muster, await issueCode(muster, stranger.apiKey, app.appId), own)).status).toBe(200);
    expect([await statusOfPoll(own), (await poll(muster, old)).status]).toEqual([200, 401]);
    await deleteApp(muster, stranger.apiKey, claim.appId);
    expect(await statusOfPoll(own)).toBe(200);
  });

  test('the app that it leaves has no credential, and goes on with its next code', async () => {
    const { own, claim, app } = await claimed();
    const next = await issueCode(muster, stranger.apiKey, claim.appId);
    await enrollProving(muster, app, own);
    expect(await readApp(muster, stranger.apiKey, claim.appId)).toMatchObject({ status: 'active' });
    expect(await enrollOwn(muster, claim, own.hash)).toMatchObject(INVALID_CODE);
    const other = await enroll(muster, next);
    expect([(await poll(muster, other)).status, await statusOfPoll(own)]).toEqual([200, 200]);
    await deleteApp(muster, stranger.apiKey, claim.appId);
    expect([(await poll(muster, other)).status, await statusOfPoll(own)]).toEqual([401, 200]);
  });

  test.each<[string, (own: OwnCredential, claim: CreatedApp) => Promise<unknown>]>([
    ['revoked', (_own, { appId }) => revoke(muster, stranger.apiKey, appId)],
    ['swapped', async (_own, { appId }) => enroll(muster, await issueCode(muster, stranger.apiKey, appId))],
  ])('yields also after its app was %s, but never back to that app', async (_life, live) => {
    const { own, claim, app } = await claimed();
    await live(own, claim);
    const back = await issueCode(muster, stranger.apiKey, claim.appId);
    expect(await enrollProving(muster, back, own)).toMatchObject(INVALID_CODE);
    expect((await enrollProving(muster, app, own)).status).toBe(200);
    // Deleting the other app takes its own past credentials along, and not this one.
    await deleteApp(muster, stranger.apiKey, claim.appId);
    expect(await statusOfPoll(own)).toBe(200);
    const further = await createApp(muster, stranger.apiKey);
    expect(await enrollProving(muster, further, own)).toMatchObject(INVALID_CODE);
  });

  // Both commits on both back-ends are below, under `a first request and a proof at once`.
  describeOnce(backend, 'does not yield', () => {
    test.each<[string, (own: OwnCredential) => Promise<Answer>]>([
      ['poll', ({ token }) => poll(muster, token)],
      [
        'acknowledgement',
        ({ token }) =>
          call(`${muster.device}/device/v1/config/ack`, {
            method: 'POST',
            token,
            body: { revision: 0, status: 'applied' },
          }),
      ],
      [
        'detection, though a private device is refused',
        ({ token }) => call(`${muster.device}/device/v1/detections`, { method: 'POST', token, body: { events: [] } }),
      ],
    ])('after its first authenticated request: a %s', async (_what, ask) => {
      const { own, claim, app } = await claimed();
      expect([200, 204, 400]).toContain((await ask(own)).status);
      expect(await enrollProving(muster, app, own)).toMatchObject(INVALID_CODE);
      expect(await statusOfPoll(own)).toBe(200);
      await revoke(muster, stranger.apiKey, claim.appId);
      expect(await statusOfPoll(own)).toBe(401);
      // Not after that either: a revoked credential never comes back.
      expect(await enrollProving(muster, app, own)).toMatchObject(INVALID_CODE);
      expect((await enrollOwn(muster, app, ownCredential().hash)).status).toBe(200);
    });

    test('to another hash alone, nor to the proof of another credential', async () => {
      const { own, app } = await claimed();
      expect(await enrollOwn(muster, app, own.hash)).toMatchObject(INVALID_CODE);
      expect(await enrollProving(muster, app, own, ownCredential().token)).toMatchObject(INVALID_CODE);
      expect(await enrollProving(muster, app, own, own.hash)).toMatchObject(INVALID_CODE);
      expect((await enrollProving(muster, app, own)).status).toBe(200);
    });

    test('to a proof without a valid code', async () => {
      const { own, app } = await claimed();
      const spent = await createApp(muster, owner.apiKey);
      await enroll(muster, spent);
      expect(await enrollProving(muster, spent, own)).toMatchObject(INVALID_CODE);
      const disabled = await tenant(muster);
      const code = await createApp(muster, disabled.apiKey);
      await changeAccount(muster, disabled.accountId, { disabled: true });
      expect(await enrollProving(muster, code, own)).toMatchObject({ body: { error: { code: 'account_disabled' } } });
      expect((await enrollProving(muster, app, own)).status).toBe(200);
    });

    test('once it was proved, though it has not been used', async () => {
      const [own, app, other] = [
        ownCredential(),
        await createApp(muster, owner.apiKey),
        await createApp(muster, stranger.apiKey),
      ];
      expect((await enrollProving(muster, app, own)).status).toBe(200);
      expect(await enrollProving(muster, other, own)).toMatchObject(INVALID_CODE);
      const again = await issueCode(muster, owner.apiKey, app.appId);
      expect(await enrollProving(muster, again, own)).toMatchObject(INVALID_CODE);
      expect((await enrollProving(muster, app, own)).status).toBe(200);
    });
  });

  test('is proved at its own app by a new code, and is final then', async () => {
    const { own, claim, app } = await claimed();
    const again = await issueCode(muster, stranger.apiKey, claim.appId);
    expect((await enrollProving(muster, again, own)).status).toBe(200);
    expect(await enrollProving(muster, app, own)).toMatchObject(INVALID_CODE);
    expect(await statusOfPoll(own)).toBe(200);
    await deleteApp(muster, stranger.apiKey, claim.appId);
    expect(await statusOfPoll(own)).toBe(401);
    expect((await enrollOwn(muster, app, own.hash)).status).toBe(200);
  });

  test('a repetition of its enrollment is answered for 15 minutes, and changes nothing; of one that it yielded to, too', async () => {
    const { own, claim, app } = await claimed();
    expect((await enrollProving(muster, claim, own)).status).toBe(200);
    expect((await enrollProving(muster, app, own)).status).toBe(200);
    expect(await enrollOwn(muster, claim, own.hash)).toMatchObject(INVALID_CODE);
    expect((await enrollProving(muster, app, own)).status).toBe(200);
    expect((await enrollOwn(muster, app, own.hash)).status).toBe(200);
  });

  test('eight proofs at once: one wins, and the credential is that app’s alone', async () => {
    const { own } = await claimed();
    const apps: CreatedApp[] = [];
    for (let n = 0; n < 8; n += 1) apps.push(await createApp(muster, owner.apiKey));
    const answers = await Promise.all(apps.map((app) => enrollProving(muster, app, own)));
    const won = answers.findIndex(({ status }) => status === 200);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await statusOfPoll(own)).toBe(200);
    await revoke(muster, owner.apiKey, apps[won]?.appId ?? '');
    expect(await statusOfPoll(own)).toBe(401);
  });

  test('first requests at once are all answered', async () => {
    const { own } = await claimed();
    const answers = await Promise.all(Array.from({ length: 20 }, () => statusOfPoll(own)));
    expect(new Set(answers)).toEqual(new Set([200]));
  });
});

onEachBackend('a first request and a proof at once', (backend) => {
  let muster: Muster;
  let store: FaultyStore;
  let owner: Tenant;
  beforeAll(async () => {
    const wrapStore = (real: Store): Store => (store = faultyStore(real));
    // Nothing but the test's requests commits.
    muster = await backend.fresh({ wrapStore, clock: new FakeClock(), env: { MUSTER_ROLES: 'api,device' } });
    owner = await tenant(muster);
  });
  afterAll(() => muster[Symbol.asyncDispose]());

  async function claimed() {
    const [own, claim, app] = [
      ownCredential(),
      await createApp(muster, owner.apiKey),
      await createApp(muster, owner.apiKey),
    ];
    await enrollOwn(muster, claim, own.hash);
    return { own, claim, app };
  }

  test('the proof is first: the request that was under way is the new app’s', async () => {
    const { own, claim, app } = await claimed();
    let proved: Answer | undefined;
    store.intercept('commit', 'before', async () => {
      proved = await enrollProving(muster, app, own);
    });
    expect((await poll(muster, own.token)).status).toBe(200);
    expect(proved?.status).toBe(200);
    await revoke(muster, owner.apiKey, claim.appId);
    expect((await poll(muster, own.token)).status).toBe(200);
    await revoke(muster, owner.apiKey, app.appId);
    expect((await poll(muster, own.token)).status).toBe(401);
  });

  test('the request is first: the proof that was under way is refused', async () => {
    const { own, claim, app } = await claimed();
    let polled: Answer | undefined;
    store.intercept('commit', 'before', async () => {
      polled = await poll(muster, own.token);
    });
    expect(await enrollProving(muster, app, own)).toMatchObject(INVALID_CODE);
    expect(polled?.status).toBe(200);
    await revoke(muster, owner.apiKey, claim.appId);
    expect((await poll(muster, own.token)).status).toBe(401);
  });

  test('a revocation is first: the request that was under way is refused', async () => {
    const { own, claim } = await claimed();
    store.intercept('commit', 'before', () => revoke(muster, owner.apiKey, claim.appId));
    expect((await poll(muster, own.token)).status).toBe(401);
  });

  test('a deletion is first: the proof binds the hash anew; the proof is first: the deletion leaves it', async () => {
    const [one, other] = [await claimed(), await claimed()];
    store.intercept('commit', 'before', () => deleteApp(muster, owner.apiKey, one.claim.appId));
    expect((await enrollProving(muster, one.app, one.own)).status).toBe(200);
    expect((await poll(muster, one.own.token)).status).toBe(200);
    await revoke(muster, owner.apiKey, other.claim.appId);
    store.intercept('commit', 'before', () => enrollProving(muster, other.app, other.own));
    expect((await deleteApp(muster, owner.apiKey, other.claim.appId)).status).toBe(204);
    expect((await poll(muster, other.own.token)).status).toBe(200);
    expect(await enrollOwn(muster, await createApp(muster, owner.apiKey), other.own.hash)).toMatchObject(INVALID_CODE);
  });

  test('a confirmation that the store does not take lets nothing in, and the next request confirms', async () => {
    const { own, app } = await claimed();
    store.down.add('commit');
    expect((await poll(muster, own.token)).status).toBe(502);
    store.down.delete('commit');
    const first = await claimed();
    expect((await enrollProving(muster, app, own)).status).toBe(200);
    expect((await poll(muster, first.own.token)).status).toBe(200);
    const before = store.changes.length;
    for (let n = 0; n < 3; n += 1) expect((await poll(muster, first.own.token)).status).toBe(200);
    expect(store.changes.slice(before)).toEqual([]);
  });
});
