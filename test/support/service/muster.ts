import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DestinationStream } from 'pino';
import { inject } from 'vitest';
import { fetchHere } from '../../../src/cli/connection/fetch-to.ts';
import { readConfig } from '../../../src/config/config.ts';
import type { Deadlines } from '../../../src/domain/limits.ts';
import { createLog, SAMPLING } from '../../../src/log.ts';
import { startService, type Service, type ServiceOptions } from '../../../src/service/service.ts';
import type { Store } from '../../../src/store/port.ts';
import type { Boot } from '../../../src/time/boot.ts';
import type { StartProgress } from '../../../src/service/start-deadline.ts';
import type { Clock } from '../../../src/time/clock.ts';
import { FakeClock } from '../time/fake-clock.ts';
import { judgeAnswer, type Undocumented } from '../openapi/judge-answer.ts';
import { cheapPasswords } from '../panel/cheap-passwords.ts';
import { scratchDirectory } from '../run/scratch-directory.ts';
import { PATIENT } from '../time/patience.ts';
import { until } from '../time/until.ts';
import { judgedStore } from '../store/judged-store.ts';

export const OPERATOR_TOKEN = 'operator-token-for-tests-0123456789';
export const KEY_FILE_TEXT = `1:${Buffer.alloc(32, 7).toString('base64')}\n`;

/**
 * A start whose store does not answer yet, as on a slow machine, pauses by the test's clock, which nobody moves yet.
 */
const passing = (clock: Clock): StartProgress => ({
  waiting: () => {
    if (clock instanceof FakeClock) setImmediate(() => clock.pass(1000));
  },
});

export interface MusterOptions {
  /** `MUSTER_STORE`; a fresh embedded store when absent. */
  readonly store?: string;
  /** Further variables of the environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly clock?: Clock;
  readonly boot?: Boot;
  readonly wrapStore?: (store: Store) => Store;
  /** The deadlines of production, for tests of them; the default is patient, since others use this machine, too. */
  readonly deadlines?: Deadlines;
  readonly bounds?: NonNullable<ServiceOptions['bounds']>;
  /** Off, its controller works unfenced, beside others. */
  readonly election?: boolean;
  /** Lines that it logs of one cause in a second; by default all, since others use this machine, too. */
  readonly linesPerSecond?: number;
  /** Where the data of an embedded store lies; kept when the service ends. */
  readonly dataDir?: string;
}

interface Kept {
  readonly logged: string[];
  readonly dataDir: string;
  readonly ownsDataDir: boolean;
  readonly opsCertificate: string | undefined;
  readonly passwords: Disposable;
}

/** A whole Muster in this process, on ports of its own, spoken to over HTTP. */
export class Muster implements AsyncDisposable {
  readonly service: Service;
  /** Every line that it logged. */
  readonly logged: string[];
  readonly dataDir: string;
  readonly #ownsDataDir: boolean;
  /** The certificate of the ops listener; undefined where that speaks HTTP. */
  readonly #opsCertificate: string | undefined;
  readonly #passwords: Disposable;

  private constructor(service: Service, { logged, dataDir, ownsDataDir, opsCertificate, passwords }: Kept) {
    this.service = service;
    this.logged = logged;
    this.dataDir = dataDir;
    this.#ownsDataDir = ownsDataDir;
    this.#opsCertificate = opsCertificate;
    this.#passwords = passwords;
  }

  static async start(options: MusterOptions = {}): Promise<Muster> {
    if (options.dataDir !== undefined) return await Muster.#startIn(options.dataDir, options);
    const dataDir = scratchDirectory('muster');
    try {
      return await Muster.#startIn(dataDir, options);
    } catch (error) {
      rmSync(dataDir, { recursive: true, force: true });
      throw error;
    }
  }

  static async #startIn(dataDir: string, options: MusterOptions): Promise<Muster> {
    const logged: string[] = [];
    const destination: DestinationStream = { write: (line) => void logged.push(line) };
    const keyFile = join(dataDir, 'keys');
    if (!existsSync(keyFile)) writeFileSync(keyFile, KEY_FILE_TEXT, { mode: 0o600 });
    const config = readConfig({
      MUSTER_DATA_DIR: dataDir,
      MUSTER_KEY_FILE: keyFile,
      MUSTER_API_LISTEN: '127.0.0.1:0',
      MUSTER_DEVICE_LISTEN: '127.0.0.1:0',
      MUSTER_OPS_LISTEN: '127.0.0.1:0',
      MUSTER_PANEL_LISTEN: '127.0.0.1:0',
      MUSTER_OPERATOR_TOKEN: OPERATOR_TOKEN,
      MUSTER_LOG_LEVEL: 'debug',
      ...(options.store !== undefined && { MUSTER_STORE: options.store }),
      // A compaction is of the whole etcd: on a clock that leaps over days it would take the others' history away.
      ...(options.store === `etcd:${inject('etcd')}` && { MUSTER_ETCD_COMPACT: 'never' }),
      ...options.env,
    });
    const service = await startService({
      config,
      log: createLog('debug', destination, {
        sampling: {
          clock: options.clock ?? SAMPLING.clock,
          linesPerSecond: options.linesPerSecond ?? Number.POSITIVE_INFINITY,
        },
      }),
      deadlines: options.deadlines ?? PATIENT,
      ...(options.clock && { clock: options.clock, progress: passing(options.clock) }),
      ...(options.boot && { boot: options.boot }),
      wrapStore: (store) => judgedStore(options.wrapStore?.(store) ?? store),
      ...(options.bounds && { bounds: options.bounds }),
      ...(options.election !== undefined && { election: options.election }),
    });
    const muster = new Muster(service, {
      logged,
      dataDir,
      ownsDataDir: options.dataDir === undefined,
      opsCertificate: config.tls.ops?.certificate,
      passwords: cheapPasswords(),
    });
    await muster.ready();
    return muster;
  }

  get api(): string {
    return `http://127.0.0.1:${this.service.api.port}`;
  }

  get device(): string {
    return `http://127.0.0.1:${this.service.device.port}`;
  }

  get ops(): string {
    return `http${this.#opsCertificate === undefined ? '' : 's'}://127.0.0.1:${this.service.ops.port}`;
  }

  get panel(): string {
    return `http://127.0.0.1:${this.service.panel.port}`;
  }

  /** Resolves when /readyz says so. */
  async ready(): Promise<void> {
    const ask = this.#opsCertificate === undefined ? fetch : fetchHere([this.#opsCertificate]);
    await until(async () => (await ask(`${this.ops}/readyz`)).status === 200);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.service.stop();
    this.#passwords[Symbol.dispose]();
    if (this.#ownsDataDir) rmSync(this.dataDir, { recursive: true, force: true });
  }
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body; `{}` where there is none, or no JSON object. */
  readonly body: Record<string, unknown>;
}

export interface Call {
  readonly method?: string;
  readonly token?: string | undefined;
  /** An object is sent as JSON; a text or bytes as they are. */
  readonly body?: object | string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Why the answer is in no document, by a name of the list. */
  readonly undocumented?: Undocumented;
}

/** A document of lines, such as a backup, begins as an object does. */
const isJson = ({ headers }: Pick<Response, 'headers'>): boolean =>
  headers.get('content-type')?.includes('ndjson') !== true;

/**
 * One request by `fetch`.
 * @throws Error where the answer is not what the document of its API says
 */
export async function call(url: string, request: Call = {}): Promise<Answer> {
  const { method = 'GET', token, body, headers, signal, undocumented } = request;
  const response = await fetch(url, {
    method,
    headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers },
    ...(body !== undefined && {
      body: typeof body === 'string' ? body : body instanceof Uint8Array ? Buffer.from(body) : JSON.stringify(body),
    }),
    ...(signal && { signal }),
  });
  const text = await response.text();
  if (undocumented === undefined)
    judgeAnswer({ method, url }, { status: response.status, headers: response.headers, text });
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson(response) && text.startsWith('{') ? (JSON.parse(text) as Answer['body']) : {},
  };
}

export interface Tenant {
  readonly accountId: string;
  readonly keyId: string;
  readonly apiKey: string;
}

/** An account with one API key, made by the operator API. */
export async function tenant(
  muster: Pick<Muster, 'ops'>,
  entitlement: 'standard' | 'enterprise' = 'enterprise',
): Promise<Tenant> {
  const accounts = `${muster.ops}/operator/v1/accounts`;
  const account = await createdBy(accounts, { name: 'tenant', entitlement });
  const accountId = String(account['accountId']);
  const key = await createdBy(`${accounts}/${accountId}/api-keys`);
  return { accountId, keyId: String(key['keyId']), apiKey: String(key['apiKey']) };
}

/** What the operator creates. A store that is slow for a moment is asked again. */
async function createdBy(url: string, body?: object): Promise<Answer['body']> {
  for (;;) {
    const created = await call(url, { method: 'POST', token: OPERATOR_TOKEN, ...(body && { body }) });
    if (created.status === 201) return created.body;
    if (created.status !== 502) throw new Error(`POST ${url}: ${created.status} ${created.text}`);
  }
}

export interface CreatedApp {
  readonly appId: string;
  readonly enrollCode: string;
}

export async function createApp(muster: Pick<Muster, 'api'>, apiKey: string, name = 'app'): Promise<CreatedApp> {
  const created = await call(`${muster.api}/v1/apps`, { method: 'POST', token: apiKey, body: { name } });
  if (created.status !== 201) throw new Error(`POST /v1/apps: ${created.status} ${created.text}`);
  return { appId: String(created.body['appId']), enrollCode: String(created.body['enrollCode']) };
}

/** Enrolls a daemon with the code; the service makes the credential. */
export async function enroll(
  muster: Pick<Muster, 'device'>,
  app: CreatedApp,
  connection: 'cloud' | 'private' = 'cloud',
): Promise<string> {
  const body = { appId: app.appId, enrollCode: app.enrollCode, platform: 'linux', agentVersion: '1.0.0', connection };
  const enrolled = await call(`${muster.device}/device/v1/enroll`, { method: 'POST', body });
  if (enrolled.status !== 200) throw new Error(`enroll: ${enrolled.status} ${enrolled.text}`);
  return String(enrolled.body['credential']);
}

export const poll = (
  muster: Pick<Muster, 'device'>,
  credential: string,
  headers: Record<string, string> = {},
): Promise<Answer> => call(`${muster.device}/device/v1/config`, { token: credential, headers });
