import { afterAll, beforeAll, expect, test } from 'vitest';
import { Muster } from '../../support/service/muster.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import type { ApiAccess } from '../support/api-access.ts';
import { ApiFront } from '../support/api-front.ts';
import { sharedPlane } from '../support/control-plane/shared-plane.ts';
import { describeOn } from '../support/control-plane/tools.ts';
import { Namespace, operating } from '../support/operated.ts';

/* One Secret that the API server cannot decode makes it refuse the list of all. */

describeOn('control plane', 'a namespace whose Secrets cannot be listed', () => {
  let plane: ApiAccess;
  beforeAll(async () => {
    plane = await sharedPlane();
  });
  afterAll(async () => plane[Symbol.asyncDispose]());

  test('is told of on its resources after 30 s, and not before; all goes on when they are listed', async () => {
    const clock = new FakeClock(Date.now());
    await using front = await ApiFront.start(plane, { name: 'unlisted' });
    const team = await Namespace.create(plane, 'team', { looking: () => clock.advance(250) });
    front.meddle = ({ method, path }) =>
      method === 'GET' && path === `/api/v1/namespaces/${team.name}/secrets` ? { answer: { status: 500 } } : undefined;
    await using stack = new AsyncDisposableStack();
    stack.use(await Muster.start({ clock, env: operating(front.kubeconfig, team.name) }));
    const startedAt = clock.monotonic();
    await team.apply('FleetAccount', 'acme', {});
    const { status } = await team.ready('facct', 'acme', 'SecretReadFailed');
    expect(clock.monotonic() - startedAt).toBeGreaterThanOrEqual(30_000);
    expect(status.conditions?.find(({ type }) => type === 'Ready')?.message).toBe(
      `The API server does not list the Secrets of the namespace ${team.name}, and Muster needs to know them. ` +
        "Its log has the API server's answer.",
    );
    await team.told('acme', 'SecretReadFailed');
    front.meddle = () => undefined;
    await team.ready('facct', 'acme', 'Synced');
  });
});
