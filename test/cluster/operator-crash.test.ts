import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { connectKubernetes } from '../../src/controller/kubernetes/client/http-kube-api.ts';
import type { KubeApi, ResourceType } from '../../src/controller/kubernetes/client/kube-api.ts';
import { runOperator } from '../../src/controller/kubernetes/operator.ts';
import { tokenHash } from '../../src/domain/credentials/tokens.ts';
import { parseRecord } from '../../src/domain/records/codec.ts';
import { KEYS } from '../../src/domain/records/keys.ts';
import { createLog } from '../../src/log.ts';
import { openCore } from '../../src/service/core.ts';
import { createDomainServices, type Core, type DomainServices } from '../../src/service/domain-services.ts';
import { openOperator } from '../../src/service/kubernetes-operator.ts';
import { systemClock } from '../../src/time/clock.ts';
import { runs } from '../support/run/effort.ts';
import { MusterProcess } from '../support/service/muster-process.ts';
import { KEY_FILE_TEXT, OPERATOR_TOKEN } from '../support/service/muster.ts';
import { until } from '../support/time/until.ts';
import type { ApiAccess } from './support/api-access.ts';
import { ApiFront } from './support/api-front.ts';
import { sharedPlane } from './support/control-plane/shared-plane.ts';
import { describeOn } from './support/control-plane/tools.ts';
import { apiKeysOf, Namespace, operating, works } from './support/operated.ts';

/*
 * The operator ends between the Secret and the registration of its hash, forty times, and two hundred by
 * `MUSTER_TEST_EFFORT=5`: no key is lost, none is there twice. Most of these ends are of an operator in this process,
 * which stops at that point and is followed by one that knows nothing; a few are of a process that is killed.
 */

/** So many lives of each account: every life reconciles all that its account has by then. */
const LIVES = runs(20);
const ACCOUNTS = ['one', 'two'];
const KILLS = 3;
const FLEET_API_KEYS: ResourceType = { group: 'muster.dev', version: 'v1beta1', plural: 'fleetapikeys' };
const SECRETS: ResourceType = { group: '', version: 'v1', plural: 'secrets' };
/** A minute on a machine with nothing else to do. */
const SAFETY_MS = 1_800_000;

class Crash extends Error {
  override readonly name = 'Crash';
}

describeOn('control plane', 'an operator that ends between a Secret and its hash', () => {
  let plane: ApiAccess;
  beforeAll(async () => {
    plane = await sharedPlane();
  });
  afterAll(() => plane[Symbol.asyncDispose]());

  test.each(ACCOUNTS)(
    `${LIVES} times in this process, account %s, loses nothing`,
    { timeout: SAFETY_MS },
    async (place) => {
      const team = await Namespace.create(plane, place);
      await team.apply('FleetAccount', 'acme', {});
      await using opened = new AsyncDisposableStack();
      const { core, domain, api } = await openMuster(opened, plane, team.name);
      const never = new AbortController().signal;
      const registered = async (): Promise<Map<string, string>> => {
        const reader = await core.fleet.current();
        const [account] = [...core.fleet.memory.accounts()];
        const keys = (await (account && (await reader.account(account.id)))?.apiKeys()) ?? [];
        return new Map(keys.map(({ id, record }) => [id, record.hash]));
      };

      for (let life = 0; life < LIVES; life += 1) {
        const crashed = live(core, domain, api);
        // This life finishes the work of the one before; then the spec changes again, and the life ends on the way.
        await until(async () => (await registered()).size === life);
        const body = {
          apiVersion: 'muster.dev/v1beta1',
          kind: 'FleetApiKey',
          metadata: { name: `key-${life}` },
          spec: { accountRef: { name: 'acme' }, secretRef: { name: `key-${life}` } },
        };
        crashed.armed = true;
        await api.create(FLEET_API_KEYS, team.name, body, never);
        await crashed.over;
        expect((await registered()).size, 'its hash is not registered').toBe(life);
        expect(await api.get(SECRETS, team.name, `key-${life}`, never), 'its Secret is there').toBeDefined();
      }
      const last = live(core, domain, api);
      await until(async () => (await registered()).size === LIVES);
      last.end.abort();
      await last.over;

      const keys = await registered();
      const hashes = await Promise.all(
        Array.from({ length: LIVES }, async (_, life) => tokenHash((await team.secret(`key-${life}`, 'apiKey')) ?? '')),
      );
      expect([...keys.values()].toSorted()).toEqual(hashes.toSorted());
      const locators = await core.store.list({ prefix: 'key/', limit: 1000 });
      expect(locators.entries).toHaveLength(LIVES);
      const bindings = await core.store.list({ prefix: KEYS.binding.under(), limit: 1000 });
      const told = bindings.entries.map((entry) => parseRecord(KEYS.binding, entry).record);
      expect(told.filter(({ kind }) => kind === 'FleetApiKey')).toHaveLength(LIVES);
      expect(told.filter(({ pending, previousKey }) => pending ?? previousKey)).toEqual([]);
    },
  );

  test(`${KILLS} times by a kill loses nothing and doubles nothing`, { timeout: SAFETY_MS }, async () => {
    const team = await Namespace.create(plane, 'killed');
    await using front = await ApiFront.start(plane);
    const dataDir = mkdtempSync(join(plane.directory, 'killed-'));
    const start = (): Promise<MusterProcess> =>
      MusterProcess.start({ MUSTER_DATA_DIR: dataDir, ...operating(front.kubeconfig, team.name) });
    await team.apply('FleetAccount', 'acme', {});
    for (let life = 0; life < KILLS; life += 1) {
      await using muster = await start();
      if (life > 0) await team.ready('fkey', `key-${life - 1}`, 'Issued');
      const { promise: killed, resolve } = Promise.withResolvers<void>();
      front.answered = async ({ method, path }) => {
        if (method !== 'POST' || !path.endsWith('/secrets')) return;
        await muster.end('SIGKILL');
        resolve();
      };
      const name = `key-${life}`;
      await team.apply('FleetApiKey', name, { accountRef: { name: 'acme' }, secretRef: { name } });
      await killed;
      front.answered = () => undefined;
      expect(await team.secret(name, 'apiKey')).toMatch(/^mst_live_/);
    }
    await using muster = await start();
    await team.ready('fkey', `key-${KILLS - 1}`, 'Issued');
    const { status } = await team.ready('facct', 'acme', 'Synced');
    expect(await apiKeysOf(muster, status['accountId'])).toHaveLength(KILLS);
    for (let life = 0; life < KILLS; life += 1) {
      expect(await works(muster, await team.secret(`key-${life}`, 'apiKey'))).toBe(true);
    }
  });
});

interface Opened {
  readonly core: Core;
  readonly domain: DomainServices;
  readonly api: KubeApi;
}

async function openMuster(opened: AsyncDisposableStack, plane: ApiAccess, namespace: string): Promise<Opened> {
  const dataDir = mkdtempSync(join(plane.directory, 'muster-'));
  writeFileSync(join(dataDir, 'keys'), KEY_FILE_TEXT, { mode: 0o600 });
  const config = readConfig({
    MUSTER_DATA_DIR: dataDir,
    MUSTER_KEY_FILE: join(dataDir, 'keys'),
    MUSTER_OPERATOR_TOKEN: OPERATOR_TOKEN,
    ...operating(plane.kubeconfig, namespace),
  });
  const core = await openCore({ config, log: createLog('silent') }, opened);
  await until(() => core.fleet.memory.whole);
  const { metrics } = core;
  const api = connectKubernetes({ kubeconfig: plane.kubeconfig, clock: systemClock, metrics });
  return { core, domain: createDomainServices(core), api };
}

interface Life {
  armed: boolean;
  readonly end: AbortController;
  /** The operator has ended. */
  readonly over: Promise<void>;
}

/** An operator with nothing in its memory, which ends as soon as a Secret is written while it is armed. */
function live(core: Core, domain: DomainServices, api: KubeApi): Life {
  const end = new AbortController();
  const crashing: KubeApi = {
    list: (...args) => api.list(...args),
    watch: (...args) => api.watch(...args),
    get: (...args) => api.get(...args),
    patch: (...args) => api.patch(...args),
    remove: (...args) => api.remove(...args),
    isLeaving: (...args) => api.isLeaving(...args),
    namespaceUid: (...args) => api.namespaceUid(...args),
    async create(type, ...args) {
      const answer = await api.create(type, ...args);
      if (!life.armed || type.plural !== 'secrets') return answer;
      end.abort();
      throw new Crash('between Secret and hash');
    },
  };
  const over = openOperator(core, domain, () => crashing).then(
    async (operator) => operator && (await runOperator(operator, { fence: [], signal: end.signal })),
  );
  const life: Life = { armed: false, end, over };
  return life;
}
