import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { call, Muster } from '../support/service/muster.ts';
import { FakeClock } from '../support/time/fake-clock.ts';
import { ApiFront, type FrontRequest, type Meddling } from './support/api-front.ts';
import { ControlPlane } from './support/control-plane/control-plane.ts';
import { describeOn } from './support/control-plane/tools.ts';
import { apiKeysOf, installCrds, Namespace, operating, operatorApi, works } from './support/operated.ts';

/* An API server that comes and goes, refuses, forgets and interrupts: what was wished for comes about, and once. */

/** Of the four kinds, the namespaces and the Leases, and one of Secrets where there is a resource. */
const WATCHES = 7;
/**
 * The clock moves on by this at each check, unless the API server owes an answer: pauses after failures pass soon, and
 * no answer of a slow machine is late.
 */
const STEP_MS = 500;
/** Longer than a request may take; far shorter than the silence after which a watch is opened anew. */
const QUIET_MS = 30_000;
/** The time that a slow API server takes for each answer. */
const SLOW_MS = 5000;

describeOn('control plane', 'the operator and a troubled API server', () => {
  const clock = new FakeClock(Date.now());
  let plane: ControlPlane;
  let front: ApiFront;
  let muster: Muster;
  let team: Namespace;
  let rounds = 0;
  let name = '';
  beforeAll(async () => {
    plane = await ControlPlane.start();
    await installCrds(plane);
    front = await ApiFront.start(plane);
    team = await Namespace.create(plane, 'team', {
      looking() {
        if (front.forwarding === 0) clock.advance(STEP_MS);
      },
    });
    muster = await Muster.start({ clock, env: operating(front.kubeconfig, team.name) });
    await team.apply('FleetAccount', 'first', {});
    await team.ready('facct', 'first', 'Synced');
    await team.eventually('all watches', () => front.watching === WATCHES);
  });
  afterAll(async () => {
    await muster[Symbol.asyncDispose]();
    await front[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    name = `acme-${(rounds += 1)}`;
  });
  afterEach(() => {
    front.meddle = () => undefined;
    front.answered = () => undefined;
  });

  const wish = async (): Promise<void> =>
    await team.applyAll([
      { kind: 'FleetApiKey', name, spec: { accountRef: { name }, secretRef: { name } } },
      { kind: 'FleetAccount', name, spec: {} },
    ]);

  /** An account with one key, which works: nothing is missing, and nothing is there twice. */
  async function expectSettled(): Promise<void> {
    const { status } = await team.ready('facct', name, 'Synced');
    const key = await team.ready('fkey', name, 'Issued');
    expect(await apiKeysOf(muster, status['accountId'])).toEqual([key.status['keyId']]);
    expect(await works(muster, await team.secret(name, 'apiKey'))).toBe(true);
    const { body } = await operatorApi(muster, 'accounts?limit=1000');
    const accounts = (body['accounts'] as { name: string }[]).filter((account) => account.name === name);
    expect(accounts).toHaveLength(1);
  }

  /** The first request of each kind and object is meddled with, and every further one of an even number is not. */
  function everyOther(meddle: (request: FrontRequest) => Meddling | Promise<Meddling>): () => number {
    const seen = new Map<string, number>();
    let meddled = 0;
    front.meddle = (request) => {
      const what = `${request.method} ${request.path} ${request.watch}`;
      const before = seen.get(what) ?? 0;
      seen.set(what, before + 1);
      if (before % 2 === 1) return undefined;
      meddled += 1;
      return meddle(request);
    };
    return () => meddled;
  }
  const isWrite = ({ method }: FrontRequest): boolean => method !== 'GET';

  test('a calm one is asked a few times, and no more', async () => {
    const from = front.seen.length;
    await wish();
    await expectSettled();
    await team.eventually('all to be said', async () => (await team.events(name)).length >= 2);
    expect(front.counts(from)).toMatchObject({
      'PATCH fleetaccounts/*': 1,
      'PATCH fleetapikeys/*': 1,
      'POST secrets': 1,
    });
    // A new account remembers its namespace by the UID, which is asked of the API server.
    const reads = Object.keys(front.counts(from)).filter((what) => what.startsWith('GET'));
    expect(reads).toEqual([`GET /*/v1/namespaces/${team.name}`]);
  });

  test('a watch on which nothing happens for half a minute stays', async () => {
    const watches = (from: number): FrontRequest[] => front.seen.slice(from).filter(({ watch }) => watch);
    const cut = front.seen.length;
    front.cutWatches();
    await team.eventually('all watches', () => watches(cut).length >= WATCHES && front.watching === WATCHES);
    const from = front.seen.length;
    const ends = clock.now() + QUIET_MS;
    await team.eventually('half a minute to pass', () => clock.now() >= ends);
    expect(watches(from)).toEqual([]);
    expect(front.watching).toBe(WATCHES);
  });

  test('watches that break off go on where they were, without a listing', async () => {
    const from = front.seen.length;
    expect(front.cutWatches()).toBe(WATCHES);
    await wish();
    await expectSettled();
    await team.eventually('all watches', () => front.watching === WATCHES);
    const read = front.seen.slice(from).filter(({ method, watch }) => method === 'GET' && !watch);
    expect(read.filter(({ path }) => !path.endsWith(`/namespaces/${team.name}`))).toEqual([]);
  });

  test.each<[string, Meddling]>([
    [
      'an event',
      { answer: { status: 200, body: { type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } } } },
    ],
    ['an answer', { answer: { status: 410, body: { kind: 'Status', code: 410, reason: 'Expired' } } }],
  ])('a revision that is gone, as %s tells, is listed anew', async (_how, gone) => {
    const expired = everyOther((request) => (request.watch ? gone : undefined));
    const from = front.seen.length;
    front.cutWatches();
    await wish();
    await expectSettled();
    await team.eventually('all watches', () => front.watching === WATCHES);
    expect(expired()).toBeGreaterThanOrEqual(WATCHES);
    const listings = front.seen.slice(from).filter(({ method, watch }) => method === 'GET' && !watch);
    expect(listings.length).toBeGreaterThanOrEqual(WATCHES);
  });

  test('429 is waited for', async () => {
    const body = { kind: 'Status', code: 429, reason: 'TooManyRequests', message: 'later' };
    const sentAway = everyOther(() => ({ answer: { status: 429, headers: { 'retry-after': '1' }, body } }));
    front.cutWatches();
    await wish();
    await expectSettled();
    await team.eventually('all watches', () => front.watching === WATCHES);
    expect(sentAway()).toBeGreaterThan(WATCHES);
  });

  test('500 and broken connections are tried again', async () => {
    let requests = 0;
    everyOther(() => ((requests += 1) % 2 === 0 ? 'cut' : { answer: { status: 500 } }));
    front.cutWatches();
    await wish();
    await expectSettled();
    await team.eventually('all watches', () => front.watching === WATCHES);
  });

  test('a conflict at every write: somebody else writes each time', async () => {
    const met = new Map<FrontRequest, number | undefined>();
    everyOther(async (request) => {
      if (request.method !== 'PATCH') return undefined;
      const [kind = '', object = ''] = request.path
        .replace(/\/status$/, '')
        .split('/')
        .slice(-2);
      met.set(request, undefined);
      await team.patch(kind, object, { metadata: { annotations: { touched: `${met.size}` } } });
      return undefined;
    });
    front.answered = (request, status) => void (met.has(request) && met.set(request, status));
    await wish();
    await expectSettled();
    // A settled resource may be written once more, and that write may still be under way.
    const statuses = (): (number | undefined)[] => [...met.values()];
    await team.eventually('each write that met another to be answered', () => !statuses().includes(undefined));
    expect(new Set(statuses())).toEqual(new Set([409]));
    expect(met.size).toBeGreaterThanOrEqual(4);
  });

  test('every write is done, and its answer lost', async () => {
    const lost = everyOther((request) => (isWrite(request) ? 'answer lost' : undefined));
    await wish();
    await expectSettled();
    expect(lost()).toBeGreaterThanOrEqual(5);
    front.meddle = () => undefined;
    await team.delete('fkey', name);
  });

  test('after an outage of the API server the changes of the specs meanwhile are carried out', async () => {
    await wish();
    await plane.stopApiServer();
    await plane.startApiServer();
    await expectSettled();
    await plane.stopApiServer();
    await plane.startApiServer();
    name = `${name}-after`;
    await wish();
    await expectSettled();
  });

  const failures = async (kind: string, reason: string): Promise<number> => {
    const { text } = await call(`${muster.ops}/metrics`);
    const series = `muster_kubernetes_reconcile_failures_total{kind="${kind}",reason="${reason}"}`;
    const line = text.split('\n').find((one) => one.startsWith(series));
    return Number(line?.slice(series.length) ?? 0);
  };
  /** The statuses that were sent since, as they were sent. */
  const statuses = (from: number): string =>
    front.seen
      .slice(from)
      .filter(({ path }) => path.endsWith('/status'))
      .map(({ body }) => body)
      .join('\n');

  test('one that is frozen ends no attempt in silence, and what is said afterwards is true', async () => {
    await wish();
    await expectSettled();
    const { status } = await team.ready('facct', name, 'Synced');
    const [from, before] = [front.seen.length, await failures('FleetAccount', 'ApiServerUnavailable')];
    plane.apiServer.freeze();
    try {
      await operatorApi(muster, `accounts/${String(status['accountId'])}`, 'PATCH', { disabled: true });
      const failed = async (): Promise<boolean> => (await failures('FleetAccount', 'ApiServerUnavailable')) > before;
      await team.eventually('the attempt to be given up', failed);
    } finally {
      plane.apiServer.thaw();
    }
    await team.ready('facct', name, 'ChangedOutside');
    expect(statuses(from)).not.toContain('ApiServerUnavailable');
  });

  test('one that is slow is waited for: no attempt fails, and no condition says so', async () => {
    const from = front.seen.length;
    const before = await failures('FleetApiKey', 'ApiServerUnavailable');
    front.meddle = async ({ watch }) => {
      if (!watch) await clock.sleep(SLOW_MS);
      return undefined;
    };
    await wish();
    await expectSettled();
    expect(await failures('FleetApiKey', 'ApiServerUnavailable')).toBe(before);
    expect(statuses(from)).not.toMatch(/Failed|Unavailable|Refused/);
  });

  test('one that takes everything but Secrets, in silence: the key says so, and is issued when they are taken', async () => {
    front.meddle = ({ method, path }) =>
      method === 'POST' && path.endsWith('/secrets') ? new Promise(() => undefined) : undefined;
    await wish();
    const told = await team.ready('fkey', name, 'SecretWriteFailed');
    const message = told.status.conditions?.find(({ type }) => type === 'Ready')?.message;
    expect(message).toContain(`The Secret ${name} cannot be written: no answer of the API server`);
    front.meddle = () => undefined;
    await expectSettled();
  });

  test('one that never answers is given up on, and found again', async () => {
    let hanging = 0;
    front.meddle = () => {
      hanging += 1;
      return new Promise(() => undefined);
    };
    front.cutWatches();
    await team.eventually('every watch to hang', () => hanging >= WATCHES);
    front.meddle = () => undefined;
    await wish();
    await expectSettled();
  });

  test('a kind for which there is no right is told of by readiness, and not as silence', async () => {
    const alone = await Namespace.create(plane, 'alone', { looking: () => clock.advance(STEP_MS) });
    await using beside = await ApiFront.start(plane, { name: 'beside' });
    beside.meddle = ({ path }) => (path.endsWith('/fleetotelconfigs') ? { answer: { status: 403 } } : undefined);
    const env = { ...operating(beside.kubeconfig, alone.name), MUSTER_ROLES: 'controller,kubernetes' };
    await using lacking = await Muster.start({ clock, env });
    await alone.eventually('readiness to say so', async () => {
      const { status, text } = await call(`${lacking.ops}/readyz`);
      return status === 503 && text.includes('the Kubernetes API server has refused fleetotelconfigs for ');
    });
  });
});
