import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { readConfig } from '../../../src/config/config.ts';
import { connectKubernetes } from '../../../src/controller/kubernetes/client/http-kube-api.ts';
import type { KubeApi } from '../../../src/controller/kubernetes/client/kube-api.ts';
import { runOperator } from '../../../src/controller/kubernetes/operator.ts';
import { tokenHash } from '../../../src/domain/credentials/tokens.ts';
import { parseRecord } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { BindingRecord } from '../../../src/domain/records/binding-records.ts';
import { createLog } from '../../../src/log.ts';
import { openCore } from '../../../src/service/core.ts';
import { createDomainServices, type Core, type DomainServices } from '../../../src/service/domain-services.ts';
import { openOperator } from '../../../src/service/kubernetes-operator.ts';
import { systemClock } from '../../../src/time/clock.ts';
import { KEY_FILE_TEXT, OPERATOR_TOKEN, poll } from '../../support/service/muster.ts';
import { MusterProcess } from '../../support/service/muster-process.ts';
import { until } from '../../support/time/until.ts';
import type { ApiAccess } from '../support/api-access.ts';
import { ApiFront } from '../support/api-front.ts';
import { sharedPlane } from '../support/control-plane/shared-plane.ts';
import { describeOn } from '../support/control-plane/tools.ts';
import { DEVICE_URL, Namespace, operating } from '../support/operated.ts';

/*
 * The operator ends between any two steps on the way of a credential: there is one in the end, it works, and it is in
 * the Secret. These operators run in this process, stop at that point, and are followed by one that knows nothing; one
 * is a process that is killed.
 */

class Crash extends Error {
  override readonly name = 'Crash';
}

/** Where an operator ends: before the Secret is written, after it, or when the status is to be written. */
type Point = 'noted' | 'written' | 'enrolled';

const nameIn = (body: object): unknown =>
  z.looseObject({ metadata: z.object({ name: z.string() }) }).parse(body).metadata.name;

const OTHER_URL = 'https://moved.example.com';

describeOn('control plane', 'an operator that ends on the way of a credential', () => {
  let plane: ApiAccess;
  let team: Namespace;
  const opened = new AsyncDisposableStack();
  let core: Core;
  let domain: DomainServices;
  let api: KubeApi;
  beforeAll(async () => {
    plane = await sharedPlane();
    team = await Namespace.create(plane, 'ending');
    const dataDir = mkdtempSync(join(plane.directory, 'muster-'));
    writeFileSync(join(dataDir, 'keys'), KEY_FILE_TEXT, { mode: 0o600 });
    const config = readConfig({
      MUSTER_DATA_DIR: dataDir,
      MUSTER_KEY_FILE: join(dataDir, 'keys'),
      MUSTER_OPERATOR_TOKEN: OPERATOR_TOKEN,
      ...operating(plane.kubeconfig, team.name),
    });
    core = await openCore({ config, log: createLog('silent') }, opened);
    await until(() => core.fleet.memory.whole);
    domain = createDomainServices(core);
    api = connectKubernetes({ kubeconfig: plane.kubeconfig, clock: systemClock, metrics: core.metrics });
    await team.apply('FleetAccount', 'acme', {});
  });
  afterAll(async () => {
    await opened.disposeAsync();
    await plane[Symbol.asyncDispose]();
  });

  /**
   * An operator with nothing in its memory, which ends once the app has reached the point; without one it ends by
   * `end`.
   * @param name of the FleetApp and of its Secret
   */
  function live(
    name: string,
    point: Point | undefined,
    deviceUrl = DEVICE_URL,
  ): { end: AbortController; over: Promise<void> } {
    const end = new AbortController();
    const crash = (): never => {
      end.abort();
      throw new Crash(`it ends: ${String(point)}`);
    };
    async function toSecret<T>(secret: unknown, write: () => Promise<T>): Promise<T> {
      if (secret !== name) return await write();
      if (point === 'noted') crash();
      const answer = await write();
      return point === 'written' ? crash() : answer;
    }
    const crashing: KubeApi = {
      list: (...args) => api.list(...args),
      watch: (...args) => api.watch(...args),
      get: (...args) => api.get(...args),
      remove: (...args) => api.remove(...args),
      isLeaving: (...args) => api.isLeaving(...args),
      namespaceUid: (...args) => api.namespaceUid(...args),
      async create(...args) {
        const [type, , body] = args;
        const isSecret = type.plural === 'secrets';
        return isSecret ? await toSecret(nameIn(body), () => api.create(...args)) : await api.create(...args);
      },
      async patch(...args) {
        const [type, object, change] = args;
        if (type.plural === 'secrets') return await toSecret(object.metadata.name, () => api.patch(...args));
        if (point === 'enrolled' && object.metadata.name === name && 'status' in change.merge) crash();
        return await api.patch(...args);
      },
    };
    const over = openOperator(core, domain, () => crashing).then(
      async (operator) =>
        operator && (await runOperator({ ...operator, deviceUrl }, { fence: [], signal: end.signal })),
    );
    return { end, over };
  }

  async function bindingOf(name: string): Promise<BindingRecord | undefined> {
    const { entries } = await core.store.list({ prefix: KEYS.binding.under(), limit: 100 });
    return entries.map((entry) => parseRecord(KEYS.binding, entry).record).find((record) => record.name === name);
  }
  /** The hash of the credential that works; undefined where none does. */
  async function working(name: string): Promise<string | undefined> {
    const { accountId = '', appId = '' } = (await bindingOf(name)) ?? {};
    return (await (await (await core.fleet.current()).account(accountId))?.app(appId))?.record.credential;
  }
  async function inSecret(name: string): Promise<string | undefined> {
    const credential = await team.secret(name, 'credential');
    return credential === undefined ? undefined : tokenHash(credential);
  }
  /** An operator that does not end finishes the work; then the one credential is in the Secret, and works. */
  async function finished(name: string, deviceUrl = DEVICE_URL): Promise<void> {
    const last = live(name, undefined, deviceUrl);
    await team.ready('fapp', name, 'Active');
    await team.eventually('the file to be as it should', async () => {
      const { credential, pending } = (await bindingOf(name)) ?? {};
      const file = (await team.secret(name, 'supervisor.yaml')) ?? '';
      return pending === undefined && credential?.file.digest === tokenHash(file) && file.includes(`"${deviceUrl}/v1`);
    });
    last.end.abort();
    await last.over;
    expect(await inSecret(name)).toBeDefined();
    expect(await working(name)).toBe(await inSecret(name));
    const credential = (await team.secret(name, 'credential')) ?? '';
    expect(await team.secret(name, 'supervisor.yaml')).toContain(`["Bearer ${credential}"]`);
  }
  const enrollments = async (name: string): Promise<number> => {
    const { accountId = '', appId } = (await bindingOf(name)) ?? {};
    const { items } = await domain.auditEntries.list(accountId, { limit: 1000, after: undefined });
    return items.filter((entry) => entry.action === 'app.enrolled' && entry.appId === appId).length;
  };
  const spec = (name: string): object => ({
    accountRef: { name: 'acme' },
    secretFormat: 'opamp',
    enrollment: { secretRef: { name } },
  });

  test.each([
    ['noted', false, false],
    ['written', true, false],
    ['enrolled', true, true],
  ] as const)(
    '%s: the Secret is there %s, and works %s; then there is one credential',
    async (point, there, enrolled) => {
      const name = `new-${point}`;
      await team.apply('FleetApp', name, spec(name));
      await live(name, point).over;
      expect((await inSecret(name)) !== undefined).toBe(there);
      expect((await working(name)) !== undefined).toBe(enrolled);
      await finished(name);
      expect(await enrollments(name)).toBe(1);
    },
  );

  test.each(['noted', 'written'] as const)(
    '%s, after the Secret was deleted: the former one works until the other one is in the Secret',
    async (point) => {
      const name = `again-${point}`;
      await team.apply('FleetApp', name, spec(name));
      await finished(name);
      const former = await working(name);
      await team.kubectl(['delete', 'secret', name]);
      await live(name, point).over;
      expect(await working(name)).toBe(former);
      await finished(name);
      expect(await working(name)).not.toBe(former);
      expect(await enrollments(name)).toBe(2);
    },
  );

  test('written, after the URL of devices has changed: the credential stays', async () => {
    const name = 'moved';
    await team.apply('FleetApp', name, spec(name));
    await finished(name);
    const credential = await working(name);
    await live(name, 'written', OTHER_URL).over;
    await finished(name, OTHER_URL);
    expect(await working(name)).toBe(credential);
    expect(await team.secret(name, 'serverUrl')).toBe(OTHER_URL);
    expect(await enrollments(name)).toBe(1);
    await finished(name);
    expect(await working(name)).toBe(credential);
  });

  test('what was revoked while it did not run stays revoked, though the Secret holds a credential', async () => {
    const name = 'revoked';
    await team.apply('FleetApp', name, spec(name));
    await live(name, 'written').over;
    const { accountId = '', appId = '' } = (await bindingOf(name)) ?? {};
    await domain.apps.revoke(
      {
        accountId,
        authority: { precondition: { expect: [], write: [], recheck: async () => undefined } },
        reader: await core.fleet.current(),
        origin: {
          actor: 'test',
          requestId: 'request',
          at: systemClock.now(),
          deadline: systemClock.monotonic() + 60_000,
        },
      },
      appId,
    );
    const next = live(name, undefined);
    await team.ready('fapp', name, 'ChangedOutside');
    next.end.abort();
    await next.over;
    expect(await working(name)).toBeUndefined();
    expect(await inSecret(name)).toBeUndefined();
    expect(await enrollments(name)).toBe(0);
  });

  test('a process that is killed as soon as the Secret is there is followed by one that enrolls with it', async () => {
    const killed = await Namespace.create(plane, 'killed');
    await using front = await ApiFront.start(plane);
    const dataDir = mkdtempSync(join(plane.directory, 'killed-'));
    const start = (): Promise<MusterProcess> =>
      MusterProcess.start({ MUSTER_DATA_DIR: dataDir, ...operating(front.kubeconfig, killed.name) });
    await killed.apply('FleetAccount', 'acme', {});
    {
      await using muster = await start();
      const { promise: over, resolve } = Promise.withResolvers<void>();
      front.answered = async ({ method, path }) => {
        if (method !== 'POST' || !path.endsWith('/secrets')) return;
        await muster.end('SIGKILL');
        resolve();
      };
      await killed.apply('FleetApp', 'one', spec('one'));
      await over;
      front.answered = () => undefined;
    }
    const credential = (await killed.secret('one', 'credential')) ?? '';
    await using muster = await start();
    await killed.ready('fapp', 'one', 'Active');
    expect(await killed.secret('one', 'credential')).toBe(credential);
    expect((await poll(muster, credential)).status).toBe(200);
  });
});
