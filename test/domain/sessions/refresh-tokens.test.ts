import { expect, test } from 'vitest';
import { Secret } from '../../../src/domain/credentials/secret.ts';
import { createRefreshTokens } from '../../../src/domain/sessions/refresh-tokens.ts';
import { openedCore } from '../../support/service/opened-core.ts';
import { onEachBackend } from '../../support/store/backends.ts';

/* A refresh token of a copy of the store may be used up since the copy was made: its refusal tells nothing. */

const GRANT = { clientId: 'muster', offline: true };
/** As `etcdutl snapshot restore --bump-revision` has it (docs/OPERATIONS.md). */
const BUMP = 1_000_000_000;

onEachBackend('the refresh token of a session', (backend) => {
  test.each([
    ['goes on', 0, false],
    ['was restored from a snapshot', BUMP, true],
  ])('in a store that %s', async (_name, bump, isPerhapsSpent) => {
    await using it = await openedCore(backend);
    const { core } = it;
    await createRefreshTokens(core).keep('a-session', new Secret('token'), GRANT);
    const fleet = { ...core.fleet, revision: async () => (await core.fleet.revision()) + bump };
    const claimed = await createRefreshTokens({ ...core, fleet }).claim('a-session', core.clock.now(), 'muster');
    expect(claimed).toMatchObject({ isOffline: true, isPerhapsSpent });
    if (typeof claimed === 'string') return;
    // The look at it makes a record of today of it, which must not make it sure.
    await claimed.release();
    const again = await createRefreshTokens(core).claim('a-session', core.clock.now(), 'muster');
    expect(again).toMatchObject({ isPerhapsSpent });
  });

  test('is one of the client that got it, and of nobody else', async () => {
    await using it = await openedCore(backend);
    const tokens = createRefreshTokens(it.core);
    await tokens.keep('a-session', new Secret('token'), GRANT);
    expect(await tokens.claim('a-session', it.core.clock.now(), 'another client')).toBe('none');
    expect(await tokens.claim('a-session', it.core.clock.now(), 'muster')).toMatchObject({ isOffline: true });
  });

  test('that is handed over in doubt stays so until the provider renews it', async () => {
    await using it = await openedCore(backend);
    const tokens = createRefreshTokens(it.core);
    await tokens.keep('a-session', new Secret('token'), GRANT);
    const claim = async (sessionId: string) => {
      const claimed = await tokens.claim(sessionId, it.core.clock.now());
      if (typeof claimed === 'string') throw new Error(claimed);
      return claimed;
    };
    await (await claim('a-session')).moveTo('next', true);
    const doubtful = await claim('next');
    expect(doubtful).toMatchObject({ isPerhapsSpent: true, isOffline: true });
    await doubtful.replace(new Secret('another'));
    expect(await claim('next')).toMatchObject({ isPerhapsSpent: false, isOffline: true });
  });
});
