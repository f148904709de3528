import { expect, test } from 'vitest';
import { openEvents } from '../../support/panel/event-stream.ts';
import { ask, panelMuster, signedIn, type Browser, type PanelMuster } from '../../support/panel/panel-users.ts';
import { asOperator } from '../../support/panel/visitor.ts';
import { tenant, type Answer } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { faultyStore, type FaultyStore } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

/* What ends a stream of events where the watch of the store is silent: the pulse that held polls have, too (P2). */

interface Scene {
  readonly panel: PanelMuster;
  readonly accountId: string;
  readonly ann: Browser;
  readonly bob: Browser;
}

const user = ({ panel }: Scene, userId: string, body: object): Promise<Answer> =>
  asOperator(panel.muster, `/users/${userId}`, { method: 'PATCH', body });

/** Whatever takes the stream's right away; none of it is told by the watch. */
const ENDS: readonly (readonly [name: string, act: (scene: Scene) => Promise<Answer>])[] = [
  ['its user is disabled', (scene) => user(scene, scene.ann.userId, { disabled: true })],
  ['its session has ended', ({ panel, ann }) => ask(panel, ann, '/sign-out', { method: 'POST' })],
  [
    'its account is disabled',
    ({ panel, accountId }) =>
      asOperator(panel.muster, `/accounts/${accountId}`, { method: 'PATCH', body: { disabled: true } }),
  ],
  [
    'the membership of its user has ended',
    ({ panel, accountId, ann, bob }) =>
      ask(panel, bob, `/accounts/${accountId}/members/${ann.userId}`, { method: 'DELETE' }),
  ],
];

onEachBackend('while the watch is silent', (backend) => {
  test.each(ENDS)('a stream ends within two seconds where %s, and another one goes on', async (_name, act) => {
    let faulty: FaultyStore | undefined;
    const clock = new FakeClock(Date.now());
    await using panel = await panelMuster(backend, { clock, wrapStore: (real) => (faulty = faultyStore(real)) });
    const { accountId } = await tenant(panel.muster);
    const other = (await tenant(panel.muster)).accountId;
    const ownerOf = (id: string) => signedIn(panel.store, { accounts: [{ accountId: id, role: 'owner' }] });
    const [ann, bob, carol] = [await ownerOf(accountId), await ownerOf(accountId), await ownerOf(other)];
    using stream = await openEvents(panel, ann, `?account=${accountId}`);
    using neighbour = await openEvents(panel, carol, `?account=${other}`);
    await Promise.all([stream.has('ready'), neighbour.has('ready')]);

    const store = faulty ?? expect.unreachable('it has a store');
    store.deaf = true;
    expect((await act({ panel, accountId, ann, bob })).status).toBeLessThan(300);
    let passedMs = 0;
    await until(() => {
      if (!stream.isOver && passedMs < 2000) clock.advance(100);
      passedMs += 100;
      return stream.isOver;
    });
    expect([stream.events.at(-1)?.event, neighbour.isOver]).toEqual(['ended', false]);
    // The watch is opened again before the end, for which loops that wait for memory would hold the service up.
    store.deaf = false;
    const { watchesOpened } = store;
    await until(() => {
      clock.advance(1000);
      return store.watchesOpened > watchesOpened;
    });
  });
});
