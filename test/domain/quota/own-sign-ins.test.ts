import { expect, test } from 'vitest';
import { LIMITS } from '../../../src/domain/limits.ts';
import type { Authenticator } from '../../support/panel/authenticator.ts';
import { panelMuster } from '../../support/panel/panel-users.ts';
import { withPasskey } from '../../support/panel/passkeys.ts';
import { enteredUser, type Visitor } from '../../support/panel/visitor.ts';
import type { Answer } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

async function signIn(visitor: Visitor, authenticator: Authenticator): Promise<Answer> {
  const begun = await visitor.post('/sign-in/passkey/options');
  return visitor.post('/sign-in/passkey', { response: authenticator.get(begun.body['options'], visitor.origin) });
}

onEachBackend('a person who has used up the sign-ins of the hour', (backend) => {
  test('still removes a passkey and stays signed in, by the session that this takes along', async () => {
    const clock = new FakeClock(Date.now());
    await using panel = await panelMuster(backend, { clock });
    const { visitor } = await enteredUser(panel.muster);
    const [kept, removed] = [await withPasskey(visitor, 'Laptop'), await withPasskey(visitor, 'Phone')];
    let signIns = 0;
    let answer = await signIn(visitor, kept);
    // A minute apart, since a user's record remembers only so many answers of passkeys at a time.
    for (; answer.status === 200 && signIns < 2 * LIMITS.ownSignInsBurst; signIns += 1) {
      clock.advance(60_000);
      answer = await signIn(visitor, kept);
    }
    expect([answer.status, answer.text]).toEqual([429, expect.stringContaining('very often')]);
    expect(signIns).toBeGreaterThanOrEqual(LIMITS.ownSignInsBurst - 1);
    const session = visitor.cookie('');
    expect((await visitor.ask(`/me/passkeys/${removed.id}`, { method: 'DELETE' })).status).toBe(204);
    expect(visitor.cookie(''), 'another token').not.toBe(session);
    expect(await visitor.me()).toBe(200);
    expect((await signIn(visitor, kept)).status, 'a sign-in is refused as before').toBe(429);
  });
});
