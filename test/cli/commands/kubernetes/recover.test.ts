import { expect, test } from 'vitest';
import { DAY_MS } from '../../../../src/time/utc-days.ts';
import { call, OPERATOR_TOKEN, tenant, type Answer, type Muster } from '../../../support/service/muster.ts';
import { musterHere } from '../../../support/service/muster-command.ts';
import { onEachBackend } from '../../../support/store/backends.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

/* The bindings of custom resources, and the consent that a restored namespace takes it up (docs/CONTRACT.md). */

const UID = '5f2b1c9e-0c4e-4f63-9a54-2d1c7b0e8a31';
const ask = ({ ops }: Muster, path: string, method = 'GET', body?: object): Promise<Answer> =>
  call(`${ops}/operator/v1/kubernetes/${path}`, { method, token: OPERATOR_TOKEN, ...(body && { body }) });
const consent = (muster: Muster, namespace: string, namespaceUid = UID): Promise<Answer> =>
  ask(muster, 'recovery', 'PUT', { namespace, namespaceUid });

onEachBackend('the recovery of a namespace', (backend) => {
  test('is consented to for 7 days, for one UID, and stands in the audit of the service', async () => {
    const clock = new FakeClock();
    await using muster = await backend.fresh({ clock });
    await tenant(muster);
    const given = await consent(muster, 'production');
    const until = new Date(clock.now() + 7 * DAY_MS).toISOString();
    const recovery = { namespace: 'production', namespaceUid: UID, until };
    expect([given.status, given.body]).toEqual([200, recovery]);
    expect((await ask(muster, 'bindings?namespace=production')).body).toEqual({ bindings: [], recovery });
    expect((await ask(muster, 'bindings?namespace=other')).body).toEqual({ bindings: [] });
    expect((await ask(muster, 'bindings')).body).toEqual({ bindings: [] });
    const { body } = await call(`${muster.ops}/operator/v1/audit`, { token: OPERATOR_TOKEN });
    expect(body['entries']).toContainEqual(
      expect.objectContaining({
        action: 'resource.recovery-allowed',
        detail: { namespace: 'production', namespaceUid: UID },
      }),
    );
    clock.advance(7 * DAY_MS);
    expect((await ask(muster, 'bindings?namespace=production')).body).toEqual({ bindings: [] });
  });

  test('is consented to by the command, where no cluster is at hand', async () => {
    await using muster = await backend.fresh();
    const env = { MUSTER_CLIENT_OPS_URL: muster.ops, MUSTER_CLIENT_OPERATOR_TOKEN: OPERATOR_TOKEN };
    const command = ['kubernetes', 'recover', 'production', '--namespace-uid', UID];
    const dry = await musterHere([...command, '--dry-run'], env);
    expect(dry).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('Nothing is bound in the namespace') as string,
    });
    expect((await ask(muster, 'bindings?namespace=production')).body).toEqual({ bindings: [] });
    const done = await musterHere(command, env);
    expect(done).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`with the UID ${UID} may take it up, until`) as string,
    });
    expect((await ask(muster, 'bindings?namespace=production')).body).toMatchObject({
      recovery: { namespaceUid: UID },
    });
  });

  test('takes the name of a namespace, and a UID of 128 characters', async () => {
    await using muster = await backend.fresh();
    const rows: readonly (readonly [string, string, object | undefined, number])[] = [
      ['bindings?namespace=Not_A_Namespace', 'GET', undefined, 400],
      [`bindings?namespace=${'a'.repeat(63)}`, 'GET', undefined, 200],
      [`bindings?namespace=${'a'.repeat(64)}`, 'GET', undefined, 400],
      ['bindings?limit=1001', 'GET', undefined, 400],
      ['bindings?limit=1000', 'GET', undefined, 200],
      ['recovery', 'PUT', { namespace: 'a/b', namespaceUid: UID }, 400],
      ['recovery', 'PUT', { namespace: 'a', namespaceUid: '' }, 400],
      ['recovery', 'PUT', { namespace: 'a', namespaceUid: 'u'.repeat(129) }, 400],
      ['recovery', 'PUT', { namespace: 'a', namespaceUid: 'u'.repeat(128) }, 200],
      ['recovery', 'PUT', { namespace: 'a' }, 400],
    ];
    for (const [path, method, body, status] of rows) {
      expect([path, body, (await ask(muster, path, method, body)).status]).toEqual([path, body, status]);
    }
  });
});
