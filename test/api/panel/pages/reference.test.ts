import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { REFERENCE_FILES } from '../../../../src/api/panel/pages/reference.ts';
import { readDocument } from '../../../support/openapi/documents.ts';
import { panelMuster, signedIn, type PanelMuster } from '../../../support/panel/panel-users.ts';
import { call, OPERATOR_TOKEN, type Answer } from '../../../support/service/muster.ts';

/* The reference of the owners' API in the panel: for signed-in users, and of nothing else. */

describe('the reference in the panel', () => {
  let scene: PanelMuster;
  let token: string;
  beforeAll(async () => {
    scene = await panelMuster();
    ({ token } = await signedIn(scene.store));
  });
  afterAll(() => scene[Symbol.asyncDispose]());

  const ask = async (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    await fetch(scene.muster.panel + path, { redirect: 'manual', headers });
  const asUser = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    ask(path, { cookie: `muster_${scene.muster.service.panel.port}=${token}`, ...headers });

  test.each(REFERENCE_FILES)('%s is for whoever is signed in, whatever the role', async (path) => {
    const stranger = await ask(path);
    expect([stranger.status, await stranger.json()]).toMatchObject([401, { error: { code: 'invalid_session' } }]);
    expect((await ask(path, { authorization: `Bearer ${OPERATOR_TOKEN}` })).status).toBe(401);
    const answer = await asUser(path);
    expect(answer.status).toBe(200);
    expect((await answer.text()).length).toBeGreaterThan(100);
  });

  test('a browser that a stranger opens it in is led to the sign-in, and that of a user to the page', async () => {
    const accept = 'text/html,application/xhtml+xml,*/*;q=0.8';
    for (const path of ['/docs', '/panel/docs']) {
      const stranger = await ask(path, { accept });
      expect([stranger.status, stranger.headers.get('location')]).toEqual([303, '/sign-in']);
    }
    const user = await asUser('/panel/docs', { accept });
    expect([user.status, user.headers.get('location')]).toEqual([303, '/docs']);
    expect((await asUser('/docs', { accept })).status).toBe(200);
  });

  test('is the owners’ document, and names no other API', async () => {
    const document = await asUser('/openapi/v1.json');
    expect(await document.json()).toEqual(readDocument('v1'));
    const page = await (await asUser('/docs')).text();
    expect(page).toContain('openapi/v1.json');
    expect(page).not.toMatch(/operator|\/device|daemon|data-api/i);
  });

  test.each(['/openapi/operator.json', '/openapi/device.json', '/openapi/panel.json'])(
    '%s is not there, for an operator neither',
    async (path) => {
      const operator = await signedIn(scene.store, { operator: true });
      const cookie = `muster_${scene.muster.service.panel.port}=${operator.token}`;
      for (const headers of [{}, { cookie }]) {
        const answer: Answer = await call(scene.muster.panel + path, { headers });
        expect(answer).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
      }
    },
  );

  test('the ops listener has all of it, without a session', async () => {
    for (const path of ['/docs', '/openapi/v1.json', '/openapi/device.json', '/openapi/operator.json']) {
      expect((await call(scene.muster.ops + path)).status).toBe(200);
    }
  });
});
