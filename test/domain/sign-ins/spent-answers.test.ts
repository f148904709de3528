import { expect, test } from 'vitest';
import { LIMITS } from '../../../src/domain/limits.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { Authenticator } from '../../support/panel/authenticator.ts';
import { panelMuster, rewrite } from '../../support/panel/panel-users.ts';
import { withPasskey } from '../../support/panel/passkeys.ts';
import { enteredUser, Visitor } from '../../support/panel/visitor.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { freePorts } from '../../support/service/free-ports.ts';
import type { Answer, MusterOptions } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { BeforeCommit } from '../../support/store/before-commit.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/* P5: the answer of a passkey is good once, on whatever replica, also of one whose counter stands at 0. */

/** What a browser sent to sign in by a passkey, for whoever has a copy of it. */
interface Sent {
  readonly flow: string;
  readonly response: object;
}

async function asked(visitor: Visitor, authenticator: Authenticator): Promise<Sent> {
  const begun = await visitor.post('/sign-in/passkey/options');
  const response = authenticator.get(begun.body['options'], visitor.origin, { counter: 0 });
  return { flow: visitor.cookie('-flow') ?? '', response };
}

function send(muster: ConstructorParameters<typeof Visitor>[0], { flow, response }: Sent): Promise<Answer> {
  const visitor = new Visitor(muster);
  visitor.setCookie('-flow', flow);
  return visitor.post('/sign-in/passkey', { response });
}

onEachBackend('the answer of a passkey', (backend) => {
  test('is good once, also after a restart', async () => {
    const clock = new FakeClock(Date.now());
    const [port = 0] = await freePorts(1);
    const { store, env } = backend.place();
    const options: MusterOptions = {
      clock,
      dataDir: scratchDirectory('spent'),
      ...(store !== undefined && { store }),
      env: { ...env, MUSTER_PANEL_LISTEN: `127.0.0.1:${port}` },
    };
    const sent: Sent[] = [];
    {
      await using panel = await panelMuster(undefined, options);
      const { visitor } = await enteredUser(panel.muster);
      const authenticator = await withPasskey(visitor);
      const first = await asked(new Visitor(panel.muster), authenticator);
      const second = await asked(new Visitor(panel.muster), authenticator);
      expect([(await send(panel.muster, first)).status, (await send(panel.muster, first)).status]).toEqual([200, 401]);
      sent.push(first, second);
    }
    await using panel = await panelMuster(undefined, options);
    clock.advance(LIMITS.freshProofMs - 1000);
    const statuses: number[] = [];
    for (const one of sent) statuses.push((await send(panel.muster, one)).status);
    expect(statuses).toEqual([401, 200]);
  });

  test('is good once where it is sent twice at the same instant', async () => {
    const before = new BeforeCommit('sign-ins/');
    await using panel = await panelMuster(backend, { wrapStore: before.wrapStore });
    const { visitor } = await enteredUser(panel.muster);
    const authenticator = await withPasskey(visitor);
    const one = await asked(new Visitor(panel.muster), authenticator);
    let overtaking: number | undefined;
    before.next = async () => {
      overtaking = (await send(panel.muster, one)).status;
    };
    const overtaken = await send(panel.muster, one);
    expect([before.isDone, overtaking, overtaken.status]).toEqual([true, 200, 401]);
  });

  test(`is refused where ${LIMITS.passkeyAnswersKeptMax} others are remembered, and taken once they are too old`, async () => {
    const clock = new FakeClock(Date.now());
    await using panel = await panelMuster(backend, { clock });
    const { visitor, userId } = await enteredUser(panel.muster);
    const authenticator = await withPasskey(visitor);
    const until = clock.now() + LIMITS.passkeyAnswerKeptMs;
    const answered = Array.from({ length: LIMITS.passkeyAnswersKeptMax }, (_, index) => ({ hash: `${index}`, until }));
    await rewrite(panel, KEYS.signIns(userId), (record) => ({ ...record, answered }));
    expect((await send(panel.muster, await asked(new Visitor(panel.muster), authenticator))).status).toBe(401);
    clock.advance(LIMITS.passkeyAnswerKeptMs);
    expect((await send(panel.muster, await asked(new Visitor(panel.muster), authenticator))).status).toBe(200);
    const { value = '{}' } = (await panel.store.get(KEYS.signIns(userId))) ?? {};
    expect((JSON.parse(value) as { answered: unknown[] }).answered).toHaveLength(1);
  });
});
