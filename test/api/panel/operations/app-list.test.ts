import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { PanelApps } from '../../../../src/api/contract/panel/apps/apps.ts';
import { listPanelApps } from '../../../../src/api/contract/panel/apps/apps.ts';
import { createRemovedApps } from '../../../../src/api/panel/live/removed-apps.ts';
import type { RecordListener } from '../../../../src/domain/fleet/change-notices.ts';
import { LIMITS } from '../../../../src/domain/limits.ts';
import { listOf, type AppList } from '../../../../web/api/app-list.ts';
import { ask, panelMuster, signedIn, type Browser, type PanelMuster } from '../../../support/panel/panel-users.ts';
import { codeOf } from '../../../support/panel/visitor.ts';
import { call, createApp, enroll, tenant } from '../../../support/service/muster.ts';
import { onEachBackend } from '../../../support/store/backends.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';
import { untilPassing } from '../../../support/time/until-passing.ts';

/* A page reads the list of apps once, and from then on what has changed; what it then has is the list itself. */

const ANSWER = listPanelApps.answers[0].schema;

interface Scene {
  readonly panel: PanelMuster;
  readonly accountId: string;
  readonly apiKey: string;
  readonly viewer: Browser;
  /** The answer to a page that has the list of a revision. */
  readonly answer: (since?: string) => Promise<PanelApps>;
  /** Changes apps by their ids, or creates some by their names. */
  readonly change: (change: string, apps: readonly string[]) => Promise<readonly string[]>;
}

async function scene(panel: PanelMuster): Promise<Scene> {
  const { accountId, apiKey } = await tenant(panel.muster);
  const owner = await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
  const viewer = await signedIn(panel.store, { accounts: [{ accountId, role: 'viewer' }] });
  const at = `/accounts/${accountId}/apps`;
  return {
    panel,
    accountId,
    apiKey,
    viewer,
    async answer(since) {
      const query = since === undefined ? '' : `?since=${since}`;
      return ANSWER.parse((await ask(panel, viewer, `${at}${query}`)).body);
    },
    async change(change, apps) {
      const changed = await ask(panel, owner, `${at}/batch`, { method: 'POST', body: { change, apps } });
      const { outcomes } = changed.body as { outcomes: { appId: string }[] };
      return outcomes.map(({ appId }) => appId);
    },
  };
}

/** The list of an answer, which must be the one of the service. */
function listed(answer: PanelApps, before?: AppList): AppList {
  const list = listOf(answer, before);
  if (!list) throw new Error('The list is not that of the service.');
  return list;
}

const idsOf = ({ apps }: Pick<PanelApps, 'apps'>): readonly string[] => apps.map(({ appId }) => appId).toSorted();

onEachBackend('the list of apps in the panel', (backend) => {
  test('a page gets the apps that changed and those that are gone, and has the list of the service then', async () => {
    await using panel = await panelMuster(backend);
    const { answer, change, apiKey } = await scene(panel);
    const empty = listed(await answer());
    expect(empty.apps).toEqual([]);
    const [first = '', second = '', third = ''] = await change('create', ['edge 1', 'edge 2', 'edge 3']);
    const created = await answer(empty.revision);
    expect([created.whole, idsOf(created), created.removed]).toEqual([false, [first, second, third].toSorted(), []]);
    let page = listed(created, empty);

    await change('revoke', [second]);
    const revoked = await answer(page.revision);
    expect([revoked.whole, idsOf(revoked), revoked.removed]).toEqual([false, [second], []]);
    page = listed(revoked, page);
    expect(page.apps.find(({ appId }) => appId === second)).toMatchObject({ name: 'edge 2', status: 'revoked' });

    await change('delete', [first]);
    const removed = await answer(page.revision);
    expect([removed.whole, idsOf(removed), removed.removed]).toEqual([false, [], [first]]);
    page = listed(removed, page);

    // A daemon that enrolls, and one that is created and removed between two reads.
    const own = await createApp(panel.muster, apiKey, 'edge 4');
    await enroll(panel.muster, own);
    await change('delete', await change('create', ['passing']));
    const last = await answer(page.revision);
    expect([last.whole, idsOf(last)]).toEqual([false, [own.appId]]);
    page = listed(last, page);
    const whole = listed(await answer());
    expect(page.apps).toEqual(whole.apps);
    expect(page.apps.map(({ name }) => name)).toContain('edge 4');
  });

  test('where nothing has changed, no app comes and no contact, and then nothing but that', async () => {
    await using panel = await panelMuster(backend);
    const { accountId, answer, change, viewer } = await scene(panel);
    await change('create', ['edge 1', 'edge 2']);
    const page = listed(await answer());
    const { apps, removed, contacts } = await answer(page.revision);
    expect([apps, removed, contacts]).toEqual([[], [], undefined]);
    const path = `/accounts/${accountId}/apps?since=${page.revision}`;
    const tag = (await ask(panel, viewer, path)).headers.get('etag') ?? '';
    const again = await ask(panel, viewer, path, { headers: { 'if-none-match': tag } });
    expect([again.status, again.text]).toEqual([304, '']);
    await change('create', ['edge 3']);
    expect((await ask(panel, viewer, path, { headers: { 'if-none-match': tag } })).status).toBe(200);
  });

  test('a contact moves no app: it comes with the others, and is the one of the app itself', async () => {
    const clock = new FakeClock(Date.now());
    await using panel = await panelMuster(backend, { clock });
    const { accountId, apiKey, answer, change, viewer } = await scene(panel);
    const app = await createApp(panel.muster, apiKey, 'edge 1');
    const token = await enroll(panel.muster, app);
    await change('create', ['never enrolled']);
    const page = listed(await answer());
    clock.advance(5000);
    await call(`${panel.muster.device}/device/v1/config`, { token });
    await untilPassing(clock, async () => (await answer(page.revision)).contacts !== undefined, 60_000);
    const next = await answer(page.revision);
    expect(next.apps).toEqual([]);
    const { apps } = listed(next, page);
    const newer = apps.find(({ appId }) => appId === app.appId);
    const detail = (await ask(panel, viewer, `/accounts/${accountId}/apps/${app.appId}`)).body;
    expect(newer?.lastSeenAt?.slice(0, 19)).toBe(String(detail['lastSeenAt']).slice(0, 19));
    expect(apps.filter(({ lastSeenAt }) => lastSeenAt === null).map(({ name }) => name)).toEqual(['never enrolled']);
  });

  test('a state from before this replica is answered with the whole list, and so is one of another store', async () => {
    await using panel = await panelMuster(backend);
    const { accountId, answer, change, viewer } = await scene(panel);
    await change('create', ['edge 1', 'edge 2']);
    const whole = await answer();
    expect([whole.whole, whole.apps.length]).toEqual([true, 2]);
    expect(await answer('0.0')).toMatchObject({ whole: true, apps: whole.apps });
    // Nothing has changed after a revision that the store has not reached; the checksum says that something has.
    const ahead = await answer('9000000000000000.0');
    expect([ahead.whole, ahead.apps]).toEqual([false, []]);
    const other = listed(whole);
    expect(listOf(ahead, { ...other, listed: other.listed.slice(1) })).toBeUndefined();
    for (const since of ['', '1', 'x.y', '-1.0', `${'1'.repeat(17)}.0`]) {
      const refused = await ask(panel, viewer, `/accounts/${accountId}/apps?since=${since}`);
      expect([since, refused.status, codeOf(refused)]).toEqual([since, 400, 'invalid_request']);
    }
  });
});

test('a thousand apps come in 40 KB, and one that changed in half a kilobyte', async () => {
  await using panel = await panelMuster();
  const { answer, change } = await scene(panel);
  const sites = ['berlin', 'hamburg', 'munich', 'cologne', 'leipzig'];
  const ids: string[] = [];
  for (let at = 0; at < LIMITS.appsPerAccountMax; at += LIMITS.appsPerBatchMax) {
    const names = Array.from({ length: LIMITS.appsPerBatchMax }, (_, index) => {
      const number = at + index;
      return `${['till', 'gateway', 'store'][number % 3]}-${sites[(number * 7) % 5]}-${String(number).padStart(4, '0')}`;
    });
    ids.push(...(await change('create', names)));
  }
  const whole = await answer();
  expect(whole.apps).toHaveLength(LIMITS.appsPerAccountMax);
  // As after some weeks: enrolled at different times, on different machines, and seen within the last minute.
  const lived = whole.apps.map((app, index) => ({
    ...app,
    status: index % 20 === 0 ? app.status : ('active' as const),
    platform: ['linux/amd64', 'linux/arm64', 'windows/amd64'][(index * 5) % 3] ?? '',
    agentVersion: ['1.4.2', '1.4.1', '1.3.9', '1.5.0-rc.1'][(index * 3) % 4] ?? '',
    createdAt: new Date(Date.parse(app.createdAt) - ((index * 7_919_113) % 7_776_000) * 1000).toISOString(),
  }));
  const ages = lived.map((_, index) => (index * 37) % 61);
  const answered = { ...whole, apps: lived, contacts: { newest: '2026-11-29T12:00:00.000Z', ages } };
  expect(gzipSync(JSON.stringify(answered)).length).toBeLessThanOrEqual(40 * 1024);
  await change('revoke', ids.slice(0, 1));
  const next = await answer(whole.revision);
  expect(JSON.stringify({ ...next, contacts: undefined }).length).toBeLessThanOrEqual(512);
  expect(gzipSync(JSON.stringify({ ...next, contacts: { newest: null, ages } })).length).toBeLessThanOrEqual(2048);
});

test('a replica remembers a bounded number of removals, and says since when it knows all of them', () => {
  let revision = 100;
  let tell: RecordListener = () => undefined;
  const memory = { account: () => undefined, onRecordChange: (listener: RecordListener) => (tell = listener) };
  const removed = createRemovedApps({ memory, revision: () => revision });
  const remove = (id: string, accountId = 'a'): void => {
    revision += 1;
    tell([{ kind: 'app', accountId, id }]);
  };
  expect(removed.since).toBe(100);
  for (let index = 0; index < 2000; index += 1) remove(`app-${index}`, index % 2 === 0 ? 'a' : 'b');
  expect([removed.since, [...removed.of('a', 100)].length, [...removed.of('b', 2098)]]).toEqual([
    100,
    1000,
    [['app-1999', 2100]],
  ]);
  remove('one more');
  expect([removed.since, [...removed.of('a', 101)].length]).toEqual([101, 1000]);
  revision = 5000;
  tell([{ kind: 'all' }]);
  expect([removed.since, [...removed.of('a', 0)]]).toEqual([5000, []]);
});
