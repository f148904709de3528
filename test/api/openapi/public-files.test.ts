import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API_NAMES, readDocument } from '../../support/openapi/documents.ts';
import { call, Muster, OPERATOR_TOKEN, tenant } from '../../support/service/muster.ts';

/* The documents on the ops listener. */

let muster: Muster;
let apiKey: string;
beforeAll(async () => {
  muster = await Muster.start();
  ({ apiKey } = await tenant(muster));
});
afterAll(() => muster[Symbol.asyncDispose]());

describe.each(API_NAMES)('/openapi/%s.json', (name) => {
  const path = `/openapi/${name}.json`;

  test('is the committed document, without a credential and with any', async () => {
    for (const token of [undefined, OPERATOR_TOKEN, apiKey]) {
      const answer = await call(muster.ops + path, { token });
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-type')).toBe('application/json');
      expect(answer.body).toEqual(readDocument(name));
    }
  });

  test('is 404 on the other listeners, with a credential as well (H9)', async () => {
    for (const url of [muster.api, muster.device]) {
      for (const token of [undefined, apiKey]) {
        const answer = await call(url + path, { token });
        expect(answer).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
      }
    }
    expect((await call(`${muster.api}/v1${path}`)).status).toBe(401);
    expect((await call(`${muster.api}/v1${path}`, { token: apiKey })).status).toBe(404);
  });
});

test.each(['/openapi', '/openapi/', '/openapi/v2.json', '/openapi/V1.json', '/openapi/v1.json/'])(
  '%s is 404 (H12)',
  async (path) => {
    expect((await call(muster.ops + path)).status).toBe(404);
  },
);
