import type { FakeClock } from '../time/fake-clock.ts';
import { until } from '../time/until.ts';
import { metric, sendEnroll, setOtel } from './daemon.ts';
import { call, createApp, enroll, poll, tenant, type Muster, type Tenant } from './muster.ts';

/** A little traffic for every panel of the dashboards: owners, daemons, refusals, a night. */
export class LightTraffic {
  readonly #muster: Muster;
  readonly #clock: FakeClock;
  readonly #owner: Tenant;
  readonly #limited: Tenant;
  readonly #credential: string;
  #etag = '';

  private constructor(muster: Muster, clock: FakeClock, owner: Tenant, limited: Tenant, credential: string) {
    this.#muster = muster;
    this.#clock = clock;
    this.#owner = owner;
    this.#limited = limited;
    this.#credential = credential;
  }

  /** @param muster that leads, before a midnight of the clock */
  static async start(muster: Muster, clock: FakeClock): Promise<LightTraffic> {
    const [owner, limited] = [await tenant(muster), await tenant(muster)];
    const app = await createApp(muster, owner.apiKey);
    await setOtel(muster, owner.apiKey);
    const credential = await enroll(muster, app);
    await failing(muster);
    return new LightTraffic(muster, clock, owner, limited, credential);
  }

  /** Until the leader has metered the night. */
  async overMidnight(): Promise<void> {
    await until(async () => {
      this.#clock.advance(5000);
      return (await metric(this.#muster, 'muster_metering_nights_total{late="false"}')) > 0;
    });
  }

  /** Until the leader has counted where the devices are, which it does once a minute. */
  async counted(): Promise<void> {
    await until(async () => {
      await this.#poll();
      this.#clock.advance(5000);
      const [applied, pending] = await Promise.all(
        ['applied', 'pending'].map((state) => metric(this.#muster, `muster_rollout_devices{state="${state}"}`)),
      );
      return (applied ?? 0) + (pending ?? 0) > 0;
    });
  }

  /** Until the leader has seen an account grow for an hour, from which it tells when the quota of that account ends. */
  async grown(): Promise<void> {
    await until(async () => {
      await this.#change();
      // The wall clock alone: the lease of the leader lasts for less than ten minutes.
      this.#clock.jump(600_000);
      this.#clock.advance(5000);
      return (await metric(this.#muster, `muster_account_quota_left_seconds{account="${this.#owner.accountId}"}`)) > 0;
    });
  }

  /** Until the window of an account is full. */
  async limit(): Promise<void> {
    await until(async () => {
      const answers = await this.#asTimePasses(Promise.all(Array.from({ length: 50 }, () => this.#listAsLimited())));
      return answers.some(({ status }) => status === 429);
    });
  }

  /** One of everything: reads, a change that reaches the daemon, a held poll, refusals, and a second that passes. */
  async round(): Promise<void> {
    const { apiKey } = this.#owner;
    await call(`${this.#muster.api}/v1/apps`, { token: apiKey });
    await call(`${this.#muster.api}/v1/apps/${'z'.repeat(20)}`, { token: apiKey });
    await this.#poll();
    await this.#change();
    await this.#poll();
    await this.#poll();
    const held = poll(this.#muster, this.#credential, { 'if-none-match': this.#etag, prefer: 'wait=1' });
    await sendEnroll(this.#muster, { appId: 'a'.repeat(20), enrollCode: 'mst_code_wrong' });
    await this.#asTimePasses(this.#listAsLimited());
    await held;
    this.#clock.advance(1000);
  }

  /** A refusal may wait until the ages of what was spent are known, which the clock of a service bounds by a second. */
  async #asTimePasses<Result>(requests: Promise<Result>): Promise<Result> {
    let isOver = false;
    const end = (): void => void (isOver = true);
    void requests.then(end, end);
    await until(() => {
      // Slowly, since what was spent a minute ago is free again.
      if (!isOver) this.#clock.advance(1);
      return isOver;
    });
    return await requests;
  }

  #listAsLimited(): ReturnType<typeof call> {
    return call(`${this.#muster.api}/v1/apps`, { token: this.#limited.apiKey });
  }

  async #change(): Promise<void> {
    await setOtel(this.#muster, this.#owner.apiKey, { endpoint: `https://otel-${this.#clock.now()}.example.com` });
  }

  async #poll(): Promise<void> {
    const answer = await poll(this.#muster, this.#credential, this.#etag === '' ? {} : { 'if-none-match': this.#etag });
    this.#etag = answer.headers.get('etag') ?? this.#etag;
  }
}

/** An account whose three daemons cannot apply its configuration. */
async function failing(muster: Muster): Promise<void> {
  const { apiKey } = await tenant(muster);
  await setOtel(muster, apiKey);
  for (let n = 0; n < 3; n += 1) {
    const token = await enroll(muster, await createApp(muster, apiKey));
    const body = { revision: 1, status: 'failed' };
    await call(`${muster.device}/device/v1/config/ack`, { method: 'POST', token, body });
  }
}
