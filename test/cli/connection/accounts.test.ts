import { afterAll, beforeAll, expect, test } from 'vitest';
import { OperatorClient } from '#client';
import { accountNamed } from '../../../src/cli/connection/accounts.ts';
import { Muster, OPERATOR_TOKEN } from '../../support/service/muster.ts';

let muster: Muster;
let operator: OperatorClient;
beforeAll(async () => {
  muster = await Muster.start();
  operator = new OperatorClient({ url: muster.ops, token: OPERATOR_TOKEN });
});
afterAll(() => muster[Symbol.asyncDispose]());

const create = async (name: string): Promise<string> =>
  (await operator.createAccount({ name, entitlement: 'standard' })).accountId;
const found = async (text: string): Promise<unknown> =>
  accountNamed(operator, text).then(
    ({ accountId }) => accountId,
    (error: unknown) => error,
  );

test('an account by its id, or by a name that it alone has', async () => {
  const acme = await create('acme');
  expect([await found(acme), await found('acme')]).toEqual([acme, acme]);
  // A name may look like an id, even like that of another account.
  const looksLikeOne = await create('abcdefgh12345678');
  expect(await found('abcdefgh12345678')).toBe(looksLikeOne);
  await create(acme);
  expect(await found(acme)).toBe(acme);
});

test('none: 4; several: 2, with their ids', async () => {
  expect(await found('Acme')).toMatchObject({ exitCode: 4, message: 'No account has the id or the name Acme.' });
  expect(await found('0'.repeat(16))).toMatchObject({ exitCode: 4 });
  const twins = [await create('twin'), await create('twin')];
  expect(await found('twin')).toMatchObject({
    exitCode: 2,
    message: expect.stringMatching(`^2 accounts have the name twin: .*${twins.toSorted()[0] ?? ''}`) as string,
  });
});

test('whatever else goes wrong is told as it is', async () => {
  const stranger = new OperatorClient({ url: muster.ops, token: 'another-operator-token-0123456789' });
  await expect(accountNamed(stranger, '0'.repeat(16))).rejects.toMatchObject({ code: 'invalid_token' });
  await expect(accountNamed(stranger, 'acme')).rejects.toMatchObject({ code: 'invalid_token' });
});
