import { randomUUID } from 'node:crypto';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { configured, run } from '../src/service/run.ts';
import { demoApiKey } from './account.ts';
import { Daemon, type Enrollment } from './daemon.ts';
import { insist, urlsOf, type Asked, type Urls } from './http.ts';
import { LiveLine, FleetCounters } from './fleet-counters.ts';

/*
 * `npm run demo`: the service with 25 simulated daemons, and an owner who now and then changes the configuration, cuts
 * a daemon off and sets it up anew. All of them speak to it by HTTP, as they would from elsewhere.
 */

const DAEMONS = 25;
const CHANGE_EVERY_MS = 12_000;
const UPGRADE_EVERY_MS = 5000;
const REVOKE_EVERY_MS = 10_000;
const NEW_MACHINE_AFTER_MS = 2000;

class Fleet {
  readonly #urls: Urls;
  readonly #apiKey: string;
  readonly #counters: FleetCounters;
  readonly #signal: AbortSignal;
  readonly #members: Member[];

  constructor(urls: Urls, apiKey: string, counters: FleetCounters, signal: AbortSignal) {
    this.#urls = urls;
    this.#apiKey = apiKey;
    this.#counters = counters;
    this.#signal = signal;
    this.#members = Array.from({ length: DAEMONS }, (_, index) => ({
      name: `demo-${String(index + 1).padStart(2, '0')}`,
      appId: '',
      daemon: new Daemon(urls, counters),
      ended: Promise.resolve(),
    }));
  }

  /** Rejects when the signal aborts, as all work that is under way does. */
  async run(): Promise<void> {
    const { apps } = (await this.#owner(200, '/v1/apps')) as { apps: { appId: string; name: string }[] };
    const known = new Map(apps.map(({ name, appId }) => [name, appId]));
    await Promise.all(this.#members.map(async (member) => this.#setUp(member, known.get(member.name))));
    await Promise.all([
      this.#every(CHANGE_EVERY_MS, async () => this.#change()),
      this.#every(UPGRADE_EVERY_MS, () => this.#anyMember().daemon.upgrade()),
      this.#every(REVOKE_EVERY_MS, async () => this.#replace(this.#anyMember())),
    ]);
  }

  /** A daemon of an earlier run has an app already: it is set up anew with a further code. */
  async #setUp(member: Member, appId: string | undefined): Promise<void> {
    const enrollment = appId === undefined ? await this.#create(member.name) : await this.#reissue(appId);
    member.appId = enrollment.appId;
    member.daemon = new Daemon(this.#urls, this.#counters);
    member.ended = member.daemon.run(enrollment, this.#signal);
    // A caller that waits for the end gets the error; while none waits, it is no unhandled rejection.
    member.ended.catch(() => undefined);
  }

  async #create(name: string): Promise<Enrollment> {
    const { appId, enrollCode } = await this.#owner(201, '/v1/apps', { method: 'POST', body: { name } });
    return { appId: String(appId), enrollCode: String(enrollCode) };
  }

  async #reissue(appId: string): Promise<Enrollment> {
    const { enrollCode } = await this.#owner(201, `/v1/apps/${appId}/enroll-code`, { method: 'POST' });
    return { appId, enrollCode: String(enrollCode) };
  }

  async #change(): Promise<void> {
    this.#counters.changes += 1;
    const evidenceLevel = this.#counters.changes % 2 === 0 ? 'hashes' : 'redacted';
    const endpoint = `https://otel-${this.#counters.changes}.example.com`;
    const body = { enabled: true, endpoint, authHeader: 'Bearer demo', evidenceLevel };
    await this.#owner(200, '/v1/otel-config', { method: 'PUT', body });
  }

  /** Cuts a daemon off, deletes its app, and sets another machine up in its place. */
  async #replace(member: Member): Promise<void> {
    await this.#owner(200, `/v1/apps/${member.appId}/revoke`, { method: 'POST' });
    const answered = performance.now();
    await member.ended;
    this.#counters.revoked += 1;
    this.#counters.slowestCutOffMs = Math.max(this.#counters.slowestCutOffMs, performance.now() - answered);
    await sleep(NEW_MACHINE_AFTER_MS, undefined, { signal: this.#signal });
    await this.#owner(204, `/v1/apps/${member.appId}`, { method: 'DELETE' });
    await this.#setUp(member, undefined);
  }

  #anyMember(): Member {
    const member = this.#members[Math.floor(Math.random() * this.#members.length)];
    if (!member) throw new Error('a fleet without daemons');
    return member;
  }

  async #every(pauseMs: number, act: () => Promise<void> | void): Promise<void> {
    for (;;) {
      await sleep(pauseMs, undefined, { signal: this.#signal });
      await act();
    }
  }

  async #owner(status: number, path: string, asked: Omit<Asked, 'signal'> = {}): Promise<Record<string, unknown>> {
    return insist(status, this.#urls.api + path, {
      // Sent again after a lost answer, a create must not leave a second app.
      headers: { 'Idempotency-Key': randomUUID() },
      ...asked,
      token: this.#apiKey,
      signal: this.#signal,
    });
  }
}

interface Member {
  readonly name: string;
  appId: string;
  daemon: Daemon;
  /** Resolves when the daemon was cut off. */
  ended: Promise<void>;
}

const config = configured({ ...process.env, MUSTER_LOG_LEVEL: process.env['MUSTER_LOG_LEVEL'] || 'warn' });
if (config) {
  await run(config, async (service, signal) => {
    const urls = urlsOf(service);
    const apiKey = await demoApiKey(config, urls, signal);
    process.stdout.write(
      `${DAEMONS} daemons poll at ${urls.device}; their owner works at ${urls.api}. Ctrl-C ends it.\n`,
    );
    const counters = new FleetCounters();
    using line = new LiveLine(counters);
    line.start();
    await new Fleet(urls, apiKey, counters, signal).run();
  });
}
