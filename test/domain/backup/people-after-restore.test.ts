import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tokenHash } from '../../../src/domain/credentials/tokens.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { askBy, makeToken } from '../../support/panel/access-tokens/tokens.ts';
import { ask, panelMuster, signedIn, type PanelMuster } from '../../support/panel/panel-users.ts';
import { asOperator } from '../../support/panel/visitor.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { connectedTo, musterHere } from '../../support/service/muster-command.ts';
import { call, KEY_FILE_TEXT, Muster, OPERATOR_TOKEN, tenant } from '../../support/service/muster.ts';
import { onEachBackend, type Backend } from '../../support/store/backends.ts';

/*
 * A restore brings users, their roles and API keys back, and nobody in: sessions and access tokens are in no backup, so
 * that one which was ended since cannot live again.
 */

/** A place for a store, and the variables by which a command finds it. */
function placeIn(root: string, name: string, backend: Backend) {
  const dataDir = join(root, name);
  mkdirSync(dataDir);
  const keyFile = join(dataDir, 'keys');
  writeFileSync(keyFile, KEY_FILE_TEXT, { mode: 0o600 });
  const place = backend.place();
  return {
    open: (): Promise<PanelMuster> =>
      panelMuster({ fresh: (options) => Muster.start({ ...place, ...options, dataDir }) }),
    env: {
      MUSTER_DATA_DIR: dataDir,
      MUSTER_KEY_FILE: keyFile,
      MUSTER_OPERATOR_TOKEN: OPERATOR_TOKEN,
      ...(place.store !== undefined && { MUSTER_STORE: place.store }),
      ...place.env,
    },
  };
}

onEachBackend('people after a restore', (backend) => {
  test('keep their roles and API keys, and no session and no access token lets in', async () => {
    const root = scratchDirectory('people');
    const file = join(root, 'backup');
    const [from, to] = [placeIn(root, 'from', backend), placeIn(root, 'to', backend)];
    const lived = await (async () => {
      await using panel = await from.open();
      const { accountId, apiKey } = await tenant(panel.muster);
      const ann = await signedIn(panel.store, {
        name: 'Ann',
        accounts: [{ accountId, role: 'owner' }],
        record: { installationRole: 'support' },
      });
      const [living, revoked] = [
        await makeToken(panel, ann, { accountId }),
        await makeToken(panel, ann, { accountId }),
      ];
      const overview = `/accounts/${accountId}/overview`;
      expect((await askBy(panel, living, overview)).status).toBe(200);
      expect((await musterHere(['backup', 'create', file], connectedTo(panel.muster))).code).toBe(0);
      // It ends after the backup, and must stay so.
      expect((await ask(panel, ann, `/me/access-tokens/${revoked.tokenId}`, { method: 'DELETE' })).status).toBe(204);
      return { ann, apiKey, overview, tokens: [living, revoked] };
    })();
    const text = readFileSync(file, 'utf8');
    for (const { token, tokenId } of lived.tokens) {
      expect([text.includes(KEYS.accessToken(tokenId)), text.includes(token), text.includes(tokenHash(token))]).toEqual(
        [false, false, false],
      );
    }
    expect(text).not.toContain(lived.ann.sessionId);
    expect((await musterHere(['restore', file], to.env)).code).toBe(0);
    await using panel = await to.open();
    for (const token of lived.tokens) expect((await askBy(panel, token, lived.overview)).status).toBe(401);
    expect((await ask(panel, lived.ann, '/me')).status).toBe(401);
    expect((await call(`${panel.muster.api}/v1/apps`, { token: lived.apiKey })).status).toBe(200);
    const { users } = (await asOperator(panel.muster, '/users')).body as { users: { userId: string; role: string }[] };
    expect(users).toMatchObject([{ userId: lived.ann.userId, role: 'support' }]);
    // Whoever signs in again has no tokens left in the list, and makes others.
    const again = await signedIn(panel.store, lived.ann.userId);
    expect((await ask(panel, again, '/me/access-tokens')).body['accessTokens']).toEqual([]);
    rmSync(root, { recursive: true });
  });
});
