import { tokenHash } from '../../../src/domain/credentials/tokens.ts';
import { parseRecord } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { Store } from '../../../src/store/port.ts';
import { halfWritten } from '../service/accounts.ts';
import type { Addresses } from '../service/muster-process.ts';
import { call, type Answer, type Call, type Tenant } from '../service/muster.ts';

type State = 'created' | 'enrolled' | 'revoked' | 'deleted';

/** The known state of an app: what was acknowledged, and what was requested and not answered. */
interface Known {
  readonly accountId: string;
  acknowledged: State;
  asked: State;
  credential: string | undefined;
}

/** The numbered configurations of an account; 0 is none. */
interface Configurations {
  asked: number;
  /** Those that may be stored: no later one has replaced them for certain. */
  readonly possible: Set<number>;
  /** Those of the possible ones whose request was answered, in whatever way. */
  readonly answered: Set<number>;
}

/** No answer may take this long; the service's own deadline is a fraction of it. */
const SAFETY_MS = 15_000;
const ask = (url: string, options: Call): Promise<Answer> =>
  call(url, { ...options, signal: AbortSignal.timeout(SAFETY_MS) });

/** A workload that remembers what was acknowledged, and checks whether the store keeps it. */
export class Ledger {
  readonly #apps = new Map<string, Known>();
  readonly #configurations = new Map<string, Configurations>();
  /** Answers that the call may not have. */
  readonly surprises: string[] = [];
  acknowledgements = 0;
  unavailable = 0;

  /**
   * Works on one account until it is stopped, or a call has no answer. It goes on after an error of the API's table.
   */
  async work(muster: Addresses, tenant: Tenant, stop?: AbortSignal): Promise<void> {
    try {
      const stopped = (): boolean => stop?.aborted === true;
      while (!stopped()) await this.#oneApp(muster, tenant);
    } catch (error) {
      // The process has ended, or is ending.
      if (!(error instanceof TypeError)) throw error;
    }
  }

  async #oneApp(muster: Addresses, { accountId, apiKey }: Tenant): Promise<void> {
    const created = await this.#answered(
      ask(`${muster.api}/v1/apps`, { method: 'POST', token: apiKey, body: {} }),
      201,
    );
    if (!created) return;
    const appId = String(created.body['appId']);
    const app: Known = { accountId, acknowledged: 'created', asked: 'created', credential: undefined };
    this.#apps.set(appId, app);
    const body = { appId, enrollCode: created.body['enrollCode'], connection: 'cloud' };
    app.asked = 'enrolled';
    const enrolled = await this.#answered(ask(`${muster.device}/device/v1/enroll`, { method: 'POST', body }), 200);
    if (enrolled) {
      app.acknowledged = 'enrolled';
      app.credential = String(enrolled.body['credential']);
    }
    await this.#configure(muster, { accountId, apiKey });
    const end = this.#apps.size % 3;
    if (end === 0 || !enrolled) return;
    app.asked = end === 1 ? 'revoked' : 'deleted';
    const path = `${muster.api}/v1/apps/${appId}`;
    const gone =
      end === 1
        ? await this.#answered(ask(`${path}/revoke`, { method: 'POST', token: apiKey }), 200)
        : await this.#answered(ask(path, { method: 'DELETE', token: apiKey }), 204);
    if (gone) app.acknowledged = app.asked;
  }

  async #configure(muster: Addresses, { accountId, apiKey }: Pick<Tenant, 'accountId' | 'apiKey'>): Promise<void> {
    const known = this.#configurations.get(accountId) ?? {
      asked: 0,
      possible: new Set([0]),
      answered: new Set([0]),
    };
    this.#configurations.set(accountId, known);
    known.asked += 1;
    const { asked } = known;
    // Requests that are under way at once are done in any order. Only what was over before this one is replaced by it.
    const over = [...known.answered];
    known.possible.add(asked);
    const body = { enabled: true, endpoint: `https://otel.example.com/${asked}`, authHeader: `Bearer ${asked}` };
    const stored = await this.#answered(
      ask(`${muster.api}/v1/otel-config`, { method: 'PUT', token: apiKey, body }),
      200,
    );
    known.answered.add(asked);
    if (!stored) return;
    for (const one of over) {
      known.answered.delete(one);
      known.possible.delete(one);
    }
  }

  async #answered(answering: Promise<Answer>, status: number): Promise<Answer | undefined> {
    const answer = await answering;
    if (answer.status === status) {
      this.acknowledgements += 1;
      return answer;
    }
    if (answer.status === 502) this.unavailable += 1;
    const { code } = (answer.body['error'] ?? {}) as { code?: string };
    // An outage ends, and the answer says so. After it the state is the requested one or the former one.
    const fits =
      answer.status === 502 ? code === 'upstream_unavailable' : answer.status === 429 && code === 'rate_limited';
    if (!fits || answer.headers.get('retry-after') === null) this.surprises.push(`${answer.status} ${answer.text}`);
    return undefined;
  }

  /** Returns sentences for everything acknowledged that the store does not have, or has in part. */
  async faults(store: Store): Promise<string[]> {
    const faults: string[] = [];
    for (const [appId, known] of this.#apps) {
      const entry = await store.get(KEYS.app(known.accountId, appId));
      const record = entry && parseRecord(KEYS.app, entry).record;
      const states = { pending: 'created', active: 'enrolled', revoked: 'revoked' } as const;
      const state: State = record ? states[record.status] : 'deleted';
      if (state !== known.acknowledged && state !== known.asked) {
        faults.push(`${appId}: ${known.acknowledged} was acknowledged, ${known.asked} asked for, ${state} found`);
      }
      if (
        state === 'enrolled' &&
        known.credential !== undefined &&
        record?.credential !== tokenHash(known.credential)
      ) {
        faults.push(`${appId}: enrolled with another credential`);
      }
      // A requested state that was found is the state from now on.
      known.acknowledged = known.asked = state;
    }
    for (const [accountId, { possible }] of this.#configurations) {
      faults.push(...(await halfWritten(store, accountId)));
      const entry = await store.get(KEYS.otel(accountId));
      const endpoint = entry && parseRecord(KEYS.otel, entry).record.config?.endpoint;
      const stored = Number(endpoint?.split('/').at(-1) ?? 0);
      if (!possible.has(stored)) faults.push(`${accountId}: endpoint ${[...possible].join(' or ')}, found ${stored}`);
    }
    return faults;
  }
}
