import type { Outcome } from '../checkers/checker.ts';
import type { Written } from '../cluster/follower.ts';
import type { AccountField, Call, Facts, History, Kind, Mark } from '../judgement/history.ts';
import type { StoredAccount, StoredApp, StoredAudit } from '../judgement/state.ts';
import { whole, type Random } from '../random.ts';

/** The model's verdict on a request: its answer, and the records of the account that it changed, if any. */
export interface Verdict {
  readonly status: number;
  readonly code?: string;
  readonly told?: Facts;
  readonly writes?: {
    readonly action: string;
    readonly account: string;
    readonly app?: string;
    readonly places: readonly string[];
  };
}

export type ModelApp = { -readonly [Field in keyof StoredApp]: StoredApp[Field] } & { openCodes: string[] };

export interface ModelAccount {
  disabled: boolean;
  counters: number;
  readonly keys: Set<string>;
  /** Keys that may read alone, and secrets that a rotation has ended. */
  readonly narrowed: Set<string>;
  readonly ended: Set<string>;
  /** The other fields of its record. */
  readonly fields: Record<Exclude<AccountField, 'disabled'>, string>;
  consentEnd: string;
}

/**
 * The model of the service, without faults: its histories keep every rule. Each request takes effect at one instant
 * between its start and its end, though these overlap, and sometimes its answer is lost.
 */
export class ModelService {
  readonly calls: Call[] = [];
  readonly marks: Mark[] = [];
  readonly written: Written[] = [];
  readonly audits: StoredAudit[] = [];
  readonly apps = new Map<string, ModelApp>();
  readonly accounts = new Map<string, ModelAccount>();
  readonly endpoints = new Map<string, string | undefined>();
  readonly credentials = new Map<string, string>();
  readonly markerOf = new Map<string, string>();
  /** The persons who have a role on the installation, and their ways in. */
  readonly people = new Map<string, Set<string>>();
  /** The share of the requests whose answer is lost; half of them take no effect. */
  lostShare = 0;
  readonly #random: Random;
  #now = 1000;
  #ids = 0;
  #revision = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  get history(): History {
    const { calls, marks, markerOf } = this;
    return { calls, marks, markerOf, stalls: [] };
  }

  get outcome(): Outcome {
    const { accounts, apps, endpoints, credentials, audits, written } = this;
    return { state: { accounts, apps, endpoints, credentials, audits }, written };
  }

  /** A name that nothing else has. */
  id(what: string): string {
    this.#ids += 1;
    return `${what}${this.#ids}`;
  }

  nextSlot(): number {
    this.#ids += 1;
    return this.#ids;
  }

  pass(ms: number): void {
    this.#now += ms;
  }

  /** One request, its effect at this instant. `sure` answers are never lost. */
  ask(kind: Kind, asked: Facts, decide: () => Verdict, sure = false): Call {
    this.pass(whole(this.#random, 30));
    const fate = sure ? 1 : this.#random();
    const requestId = this.id('request');
    const verdict: Verdict = fate < this.lostShare / 2 ? { status: 502, code: 'upstream_unavailable' } : decide();
    const { status, code = '', told = {}, writes } = verdict;
    if (writes) this.write(requestId, writes);
    const isLost = fate < this.lostShare;
    const call: Call = {
      client: 'model',
      kind,
      replica: whole(this.#random, 3),
      start: this.#now - whole(this.#random, 40),
      end: this.#now + whole(this.#random, 40),
      requestId,
      asked,
      told: isLost ? {} : told,
      status: isLost ? 502 : status,
      code: isLost ? 'upstream_unavailable' : code,
      retryAfter: isLost || [429, 502].includes(status),
      markers: status === 200 ? [this.markerOf.get(asked.account ?? '') ?? ''].filter((marker) => marker !== '') : [],
    };
    this.calls.push(call);
    return call;
  }

  #recordOf(account: string): readonly StoredAccount[] {
    const stored = this.accounts.get(account);
    if (!stored) return [];
    const { fields, disabled, consentEnd } = stored;
    return [{ account, fields: { ...fields, disabled: String(disabled) }, consentEnd }];
  }

  /** What one commit writes, with its entry of the audit. */
  protected write(requestId: string, { action, account, app, places }: NonNullable<Verdict['writes']>): void {
    this.#revision += 1;
    const entry: StoredAudit = { account, app, action, requestId, revision: this.#revision };
    this.audits.push(entry);
    this.written.push({
      revision: this.#revision,
      audits: [entry],
      touched: places.map((place) => `d/a/${account}${place}`),
      accounts: places.includes('') ? this.#recordOf(account) : [],
    });
  }
}
