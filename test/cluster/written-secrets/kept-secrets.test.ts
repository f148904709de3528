import { rmSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { Muster } from '../../support/service/muster.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import type { ApiAccess } from '../support/api-access.ts';
import { sharedPlane } from '../support/control-plane/shared-plane.ts';
import { describeOn } from '../support/control-plane/tools.ts';
import { Namespace, operating, works } from '../support/operated.ts';

/* The Secrets that Muster writes, beside the programs and people that handle them, on a real API server. */

interface Dressed {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

describeOn('control plane', 'a Secret of Muster', () => {
  const clock = new FakeClock(Date.now());
  let plane: ApiAccess;
  let muster: Muster;
  let team: Namespace;
  let names = 0;
  let name = '';
  beforeAll(async () => {
    plane = await sharedPlane();
    team = await Namespace.create(plane, 'team', { looking: () => clock.advance(50) });
    muster = await Muster.start({ clock, env: operating(plane.kubeconfig, team.name) });
    await team.apply('FleetAccount', 'acme', { entitlement: 'enterprise' });
    await team.ready('facct', 'acme', 'Synced');
  });
  afterAll(async () => {
    await muster?.[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    name = `kept-${(names += 1)}`;
  });

  const accountRef = { name: 'acme' };
  const applyKey = (more: object = {}): Promise<void> =>
    team.apply('FleetApiKey', name, { accountRef, secretRef: { name }, ...more });
  const applyApp = (more: object = {}): Promise<void> =>
    team.apply('FleetApp', name, { accountRef, enrollment: { secretRef: { name } }, ...more });
  const metadata = async (): Promise<Dressed> => ((await team.get('secret', name))?.metadata ?? {}) as Dressed;

  test('that somebody makes immutable is replaced when another key is due', async () => {
    const rotation = { interval: '1h', overlap: '10m' };
    await applyKey({ rotation });
    await team.ready('fkey', name, 'Issued');
    const first = await team.secret(name, 'apiKey');
    await team.patch('secret', name, { immutable: true });
    await team.patch('fkey', name, { spec: { secretRef: { name, key: 'token' } } });
    await team.eventually('the other key', async () => (await team.secret(name, 'token')) !== undefined);
    await team.ready('fkey', name, 'Issued');
    const second = await team.secret(name, 'token');
    expect(await works(muster, second)).toBe(true);
    expect(await works(muster, first)).toBe(true);
    expect(await team.secret(name, 'apiKey')).toBeUndefined();
  });

  test('that is immutable, of an app, keeps the code that works', async () => {
    await applyApp();
    await team.ready('fapp', name, 'CodeIssued');
    const code = await team.secret(name, 'enrollCode');
    const { uid } = (await team.get('secret', name))?.metadata ?? {};
    await team.patch('secret', name, { data: { stray: 'eA==', serverUrl: 'eA==' }, immutable: true });
    // Between its two writes there is no Secret.
    await team.eventually(
      'it to be put right',
      async () => !['x', undefined].includes(await team.secret(name, 'serverUrl')),
    );
    expect(await team.secret(name, 'enrollCode')).toBe(code);
    expect((await team.get('secret', name))?.metadata.uid).not.toBe(uid);
    await team.ready('fapp', name, 'CodeIssued');
  });

  test('of another owner is looked at again within 30 s of its end', async () => {
    await team.kubectl(['create', 'secret', 'generic', name, '--from-literal=apiKey=precious']);
    await applyKey();
    await team.ready('fkey', name, 'SecretNotOwned');
    await team.kubectl(['delete', 'secret', name]);
    const deletedAt = clock.now();
    await team.ready('fkey', name, 'Issued');
    expect(clock.now() - deletedAt).toBeLessThan(30_000);
  });

  test('warns whoever copies it, and has the labels and annotations of the template until they are taken back', async () => {
    const secretTemplate = {
      labels: { 'example.com/team': 'a', plain: 'b' },
      annotations: { 'reflector.v1.k8s.emberstack.com/reflection-allowed': 'true' },
    };
    await applyKey({ secretTemplate });
    await team.ready('fkey', name, 'Issued');
    const first = await team.secret(name, 'apiKey');
    expect(await metadata()).toMatchObject(secretTemplate);
    expect((await metadata()).annotations?.['muster.dev/about-copies']).toContain('garbage collector');
    // Another writer's own labels are left alone.
    await team.patch('secret', name, { metadata: { labels: { theirs: 'c', plain: 'changed' } } }, 'rival');
    await team.eventually('the label to be put right', async () => (await metadata()).labels?.['plain'] === 'b');
    await team.patch('fkey', name, { spec: { secretTemplate: { labels: { plain: null }, annotations: null } } });
    await team.eventually('the label to go', async () => !('plain' in ((await metadata()).labels ?? {})));
    expect((await metadata()).labels).toEqual({
      'app.kubernetes.io/managed-by': 'muster',
      'example.com/team': 'a',
      theirs: 'c',
    });
    expect(Object.keys((await metadata()).annotations ?? {})).toEqual(['muster.dev/about-copies']);
    expect(await team.secret(name, 'apiKey'), 'the key is the same').toBe(first);
  });

  test('gets back its label, and those of an app are dressed, too', async () => {
    await applyApp({ secretTemplate: { labels: { tool: 'x' } } });
    await team.ready('fapp', name, 'CodeIssued');
    const code = await team.secret(name, 'enrollCode');
    await team.patch('secret', name, { metadata: { labels: null } });
    await team.eventually('its labels', async () => (await metadata()).labels?.['tool'] === 'x');
    expect((await metadata()).labels).toEqual({ 'app.kubernetes.io/managed-by': 'muster', tool: 'x' });
    expect(await team.secret(name, 'enrollCode')).toBe(code);
  });

  test('has labels and annotations of the installation, key by key below those of its resource', async () => {
    const there = await Namespace.create(plane, 'dressed', { looking: () => clock.advance(50) });
    await using opened = new AsyncDisposableStack();
    const dataDir = scratchDirectory('dressed');
    opened.defer(() => rmSync(dataDir, { recursive: true }));
    const operate = (more: Readonly<Record<string, string>> = {}): Promise<Muster> =>
      Muster.start({ clock, dataDir, env: { ...operating(plane.kubeconfig, there.name), ...more } });
    const labels = async (of: string): Promise<object> =>
      ((await there.get('secret', of))?.metadata as Dressed | undefined)?.labels ?? {};
    const managed = { 'app.kubernetes.io/managed-by': 'muster' };
    const ofAll = { labels: { team: 'platform', tier: 'a' }, annotations: { note: 'all' } };
    const first = opened.use(await operate({ MUSTER_KUBERNETES_SECRET_TEMPLATE: JSON.stringify(ofAll) }));
    await there.apply('FleetAccount', 'acme', { entitlement: 'enterprise' });
    const secretTemplate = { labels: { tier: 'b', mine: 'c' } };
    await there.apply('FleetApiKey', 'key', { accountRef, secretRef: { name: 'key' }, secretTemplate });
    await there.apply('FleetApp', 'app', { accountRef, enrollment: { secretRef: { name: 'app' } } });
    await there.ready('fkey', 'key', 'Issued');
    await there.ready('fapp', 'app', 'CodeIssued');
    expect(await labels('key')).toEqual({ ...managed, team: 'platform', tier: 'b', mine: 'c' });
    expect(await labels('app')).toEqual({ ...managed, team: 'platform', tier: 'a' });
    expect((await there.get('secret', 'app'))?.metadata).toMatchObject({ annotations: { note: 'all' } });
    // What leaves the installation's template goes, as what leaves that of a resource.
    await first[Symbol.asyncDispose]();
    opened.use(await operate());
    await there.eventually('the labels of the app to go', async () => !('team' in (await labels('app'))));
    await there.eventually('the label of the key to go', async () => !('team' in (await labels('key'))));
    expect(await labels('app')).toEqual(managed);
    expect(await labels('key')).toEqual({ ...managed, ...secretTemplate.labels });
  });

  test('with a key that expires ends with it, and another instant is another key', async () => {
    const soon = new Date(clock.now() + 3_600_000).toISOString();
    await applyKey({ expiresAt: soon });
    await team.ready('fkey', name, 'Issued');
    const first = await team.secret(name, 'apiKey');
    expect(await works(muster, first)).toBe(true);
    await team.patch('fkey', name, { spec: { expiresAt: new Date(clock.now() + 7_200_000).toISOString() } });
    await team.eventually('another key', async () => (await team.secret(name, 'apiKey')) !== first);
    await team.ready('fkey', name, 'Issued');
    const second = await team.secret(name, 'apiKey');
    expect(await works(muster, second)).toBe(true);
    // An instant that is past ends the key that was made for a later one.
    await team.patch('fkey', name, { spec: { expiresAt: new Date(clock.now() - 1000).toISOString() } });
    await team.ready('fkey', name, 'KeyExpired');
    expect(await works(muster, first)).toBe(false);
    expect(await works(muster, second)).toBe(false);
    await team.patch('fkey', name, { spec: { expiresAt: null } });
    await team.ready('fkey', name, 'Issued');
    expect(await works(muster, await team.secret(name, 'apiKey'))).toBe(true);
  });

  test('whose key has an instant that is none is refused', async () => {
    await expect(applyKey({ expiresAt: 'tomorrow' })).rejects.toThrow('date-time');
  });

  describe('the API server refuses in the template', () => {
    const REFUSED = 'cannot be set';
    test.each([
      [{ labels: { 'app.kubernetes.io/name': 'x' } }, REFUSED],
      [{ labels: { 'kubernetes.io/x': 'x' } }, REFUSED],
      [{ annotations: { 'a.k8s.io/x': 'x' } }, REFUSED],
      [{ annotations: { 'meta.helm.sh/release-name': 'x' } }, REFUSED],
      [{ annotations: { 'helm.sh/resource-policy': 'keep' } }, REFUSED],
      [{ labels: { 'muster.dev/auth-header': 'true' } }, REFUSED],
      [{ labels: { 'sub.muster.dev/x': 'x' } }, REFUSED],
      [{ labels: { 'no spaces': 'x' } }, 'qualified names'],
      [{ labels: { plain: 'no spaces' } }, 'should match'],
      [{ labels: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`l${n}`, ''])) }, 'at most 16'],
    ])('%j', async (secretTemplate, words) => {
      await expect(applyKey({ secretTemplate })).rejects.toThrow(words);
      await expect(applyApp({ secretTemplate })).rejects.toThrow(words);
    });

    test.each([
      [{ labels: { 'notkubernetes.io/x': 'x', 'k8s.io.example.com/x': '' } }],
      [{ annotations: { 'helm.example.sh/x': 'any text; of 1 line' } }],
    ])('not %j', async (secretTemplate) => {
      await applyKey({ secretTemplate });
      await team.ready('fkey', name, 'Issued');
    });
  });
});
