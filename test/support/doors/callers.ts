import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PATH_IDS } from '../../../src/api/contract/fields.ts';
import { OPERATOR_ROLES, type OperatorRole } from '../../../src/config/operator-tokens.ts';
import type { ListenerName } from '../../../src/config/listeners.ts';
import { passkeyKey } from '../../../src/domain/users/user-state.ts';
import { expectAbsent, type Store } from '../../../src/store/port.ts';
import { exampleBody, type DocumentName } from '../openapi/documents.ts';
import { judgeAnswer } from '../openapi/judge-answer.ts';
import { makeToken } from '../panel/access-tokens/tokens.ts';
import { ask, putUser, signedIn, type Browser, type UserOptions } from '../panel/panel-users.ts';
import { detection, listReviews, sendDetections } from '../records/detections.ts';
import { setOtel } from '../service/daemon.ts';
import {
  call,
  createApp,
  enroll,
  tenant,
  type Answer,
  type CreatedApp,
  type Muster,
  type Tenant,
} from '../service/muster.ts';
import { rawPut } from '../store/raw-key.ts';
import type { Row } from './callers-table.ts';

/* The kinds of callers of CONTRACT.md#callers on one Muster, with two accounts that have one of each record. */

const LISTENERS = { v1: 'api', device: 'device', operator: 'ops', panel: 'panel' } as const satisfies Record<
  DocumentName,
  ListenerName
>;

export type Ids = Readonly<Record<string, string>>;
export type Headers = Readonly<Record<string, string>>;

/** An account with its records. */
export interface Peopled extends Tenant {
  readonly app: CreatedApp;
  readonly credential: string;
  readonly ids: Ids;
}

/** The ids of records that are not there. */
export const MISSING: Ids = Object.fromEntries(
  Object.entries(PATH_IDS).map(([name, schema]) => [name, String(schema?.meta()?.examples?.[0])]),
);

export const operatorToken = (role: OperatorRole): string => `${role}-token-${'0123456789'.repeat(3)}`;

/** Variables of a Muster that knows an operator token of each role, and asks for one at `/metrics`, too. */
export function environment(directory: string): Readonly<Record<string, string>> {
  const file = join(directory, 'operator-tokens');
  const lines = OPERATOR_ROLES.map((role) => `ann-${role}:${role}:${operatorToken(role)}\n`);
  writeFileSync(file, lines.join(''), { mode: 0o600 });
  return { MUSTER_OPERATOR_TOKEN_FILE: file, MUSTER_METRICS_AUTH: 'token' };
}

/** An answer that refuses must have nothing of these: secrets, and the names of what the accounts have. */
export const TOLD = /mst_|"enrollCode"|"apiKey"|"url"|hidden/i;

/** An answer, without the events of a stream. */
export interface Got {
  readonly status: number;
  readonly text: string;
  /** Without those that differ from one request to the next. */
  readonly headers: readonly string[];
  /** The code of the error; undefined where it is none. */
  readonly code: string | undefined;
}

/** The parts of a request that take the place of what is usual for its row. */
interface Another {
  readonly method?: string;
  readonly body?: object;
  readonly query?: string;
}

/** Rows for which one person or token has rate enough, whatever is asked of each. */
const ROWS_EACH = 40;

export class Callers {
  readonly muster: Muster;
  readonly store: Store;
  readonly own: Peopled;
  readonly foreign: Peopled;

  private constructor(muster: Muster, store: Store, own: Peopled, foreign: Peopled) {
    this.muster = muster;
    this.store = store;
    this.own = own;
    this.foreign = foreign;
  }

  static async on(muster: Muster, store: Store): Promise<Callers> {
    const [own, foreign] = [await peopled(muster, store), await peopled(muster, store)];
    return new Callers(muster, store, own, foreign);
  }

  /** The credentials of a caller, as header fields, for each of so many rows. */
  async credentials(api: DocumentName, caller: string, rows: number): Promise<(row: number) => Headers> {
    const made: Headers[] = [];
    for (let from = 0; from < rows; from += ROWS_EACH) made.push(await this.credential(api, caller));
    return (row) => made[Math.floor(row / ROWS_EACH)] ?? {};
  }

  /** A new credential of a caller. */
  async credential(api: DocumentName, caller: string): Promise<Headers> {
    if (caller === 'nobody') return {};
    if (api === 'v1') return bearer(caller === 'full' ? this.own.apiKey : await this.#key(caller));
    if (api === 'device') return bearer(this.own.credential);
    if (api === 'operator') return bearer(operatorToken(caller as OperatorRole));
    if (caller.startsWith('token: ')) return bearer(await this.#accessToken(caller.slice('token: '.length)));
    return { cookie: await this.#session(PEOPLE[caller]?.(this.own, this.foreign)) };
  }

  async #key(access: string): Promise<string> {
    const made = await call(`${this.muster.ops}/operator/v1/accounts/${this.own.accountId}/api-keys`, {
      method: 'POST',
      token: operatorToken('operator'),
      body: { access },
    });
    return String(made.body['apiKey']);
  }

  /** A person with the greatest role on both accounts makes it: it is of one account, and of its own role. */
  async #accessToken(kind: string): Promise<string> {
    const accountId = kind === 'another account' ? this.foreign.accountId : this.own.accountId;
    const both = [this.own, this.foreign].map((one) => ({ accountId: one.accountId, role: 'owner' as const }));
    const by = await signedIn(this.store, { accounts: both });
    return (await makeToken(this, by, { accountId, role: kind === 'viewer' ? 'viewer' : 'owner' })).token;
  }

  async #session(options: UserOptions | undefined): Promise<string> {
    if (!options) throw new Error('The table has a caller of the panel that is nobody here.');
    const { token } = await signedIn(this.store, options);
    return `muster_${this.muster.service.panel.port}=${token}`;
  }

  /** Ids of records of the own account that are new, and that a change of the row can have. */
  async fresh({ path }: Row): Promise<Ids> {
    const { muster, store, own } = this;
    const { accountId, apiKey, credential } = own;
    const member = await signedIn(store, { accounts: [{ accountId, role: 'owner' }] });
    return {
      accountId,
      userId: member.userId,
      sessionId: member.sessionId,
      ...(path.includes('{appId}') && { appId: (await createApp(muster, apiKey, 'hidden app')).appId }),
      ...(path.includes('{keyId}') && (await rotatedKey(muster, accountId))),
      ...(path.includes('{linkId}') && { linkId: await invitationOf(muster, accountId, member) }),
      ...(path.includes('{entryId}') && { entryId: await entryOf(muster, accountId, credential) }),
    };
  }

  url(api: DocumentName): string {
    return this.muster[LISTENERS[api]];
  }

  /** One request of a row, on the records of these ids. */
  async ask(row: Row, credential: Headers, ids: Ids, more: Another = {}): Promise<Got> {
    for (;;) {
      const got = await this.#askOnce(row, credential, ids, more);
      // One backup goes at a time, and the one before it may not have ended yet.
      if (got.status !== 503) return got;
    }
  }

  async #askOnce(
    row: Row,
    credential: Headers,
    ids: Ids,
    { method = row.method, body = bodyOf(row), query = queryOf(row, ids) }: Another,
  ): Promise<Got> {
    const path = row.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => idOf(ids, name));
    const url = `${this.url(row.api)}${path}${query}`;
    const isWrite = method !== 'GET' && method !== 'HEAD';
    const response = await fetch(url, {
      method,
      redirect: 'manual',
      headers: {
        ...(isWrite && { 'content-type': 'application/json' }),
        ...(isWrite && row.api === 'panel' && { origin: this.url('panel') }),
        ...credential,
      },
      ...(isWrite && body !== undefined && { body: JSON.stringify(body) }),
    });
    const { status, headers } = response;
    if (headers.get('content-type')?.startsWith('text/event-stream') === true) {
      await response.body?.cancel();
      return { status, text: '', headers: steady(headers), code: undefined };
    }
    const text = await response.text();
    judgeAnswer({ method, url }, { status, headers, text });
    return { status, text, headers: steady(headers), code: /^\{"error":\{"code":"([a-z_]+)"/.exec(text)?.[1] };
  }
}

/** @throws Error where the records have none of that name: another one would be tried in its place */
function idOf(ids: Ids, name: string): string {
  const id = ids[name];
  if (id === undefined) throw new Error(`There is no record for {${name}}.`);
  return id;
}

const OF_ONE_REQUEST: ReadonlySet<string> = new Set(['connection', 'date', 'keep-alive', 'ratelimit', 'x-request-id']);
/** A Retry-After is spread by chance. */
const steady = (headers: Response['headers']): readonly string[] =>
  [...headers]
    .filter(([name]) => !OF_ONE_REQUEST.has(name))
    .map(([name, value]) => (name === 'retry-after' ? name : `${name}: ${value}`))
    .toSorted();

const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` });

/** The people of the panel by the names of the table. */
const PEOPLE: Readonly<Record<string, (own: Tenant, foreign: Tenant) => UserOptions>> = {
  operator: () => ({ operator: true }),
  support: () => ({ record: { installationRole: 'support' } }),
  auditor: () => ({ record: { installationRole: 'auditor' } }),
  owner: ({ accountId }) => ({ accounts: [{ accountId, role: 'owner' }] }),
  viewer: ({ accountId }) => ({ accounts: [{ accountId, role: 'viewer' }] }),
  'of another account': (_own, { accountId }) => ({ accounts: [{ accountId, role: 'owner' }] }),
};

async function peopled(muster: Muster, store: Store): Promise<Peopled> {
  const one = await tenant(muster);
  const { accountId, apiKey } = one;
  const app = await createApp(muster, apiKey, 'hidden app');
  const daemon = await createApp(muster, apiKey, 'hidden daemon');
  const credential = await enroll(muster, daemon);
  await setOtel(muster, apiKey, { evidenceLevel: 'redacted' });
  const member = await signedIn(store, { name: 'Hidden Hal', accounts: [{ accountId, role: 'owner' }] });
  const { userId, sessionId } = member;
  const { tokenId } = await makeToken({ muster }, member, { accountId });
  const passkeyId = randomBytes(16).toString('base64url');
  const passkey = { id: passkeyId, publicKey: '', name: 'hidden passkey', createdAt: 1 };
  const withPasskey = await putUser(store, { name: 'Hidden Pat', record: { passkeys: [passkey] } });
  const locator = passkeyKey(passkeyId);
  await store.commit({ expect: [expectAbsent(locator)], write: [rawPut(locator, { userId: withPasskey })] });
  const { appId } = daemon;
  const records = {
    ...(await rotatedKey(muster, accountId)),
    entryId: await entryOf(muster, accountId, credential),
    linkId: await invitationOf(muster, accountId, member),
  };
  return { ...one, app, credential, ids: { accountId, appId, userId, sessionId, tokenId, passkeyId, ...records } };
}

/** A key of the account whose former secret works. */
async function rotatedKey(muster: Muster, accountId: string): Promise<Ids> {
  const keys = `${muster.ops}/operator/v1/accounts/${accountId}/api-keys`;
  const by = { method: 'POST', token: operatorToken('operator') };
  const keyId = told(await call(keys, by), 'keyId');
  const rotated = await call(`${keys}/${keyId}/rotation`, { ...by, body: { graceSeconds: 3600 } });
  return { keyId, formerExpiresAt: told(rotated, 'formerExpiresAt') };
}

async function invitationOf(muster: Muster, accountId: string, owner: Browser): Promise<string> {
  const path = `/accounts/${accountId}/invitations`;
  const made = await ask({ muster }, owner, path, { method: 'POST', body: { role: 'viewer' } });
  return told(made, 'linkId');
}

async function entryOf(muster: Muster, accountId: string, credential: string): Promise<string> {
  const rule = `hidden rule ${(detections += 1)}`;
  await sendDetections(muster, credential, [detection({ id: rule, rule })]);
  const entry = (await listReviews(muster, accountId)).find((one) => one.rule === rule);
  if (!entry) throw new Error('The review queue has not what the daemon sent.');
  return entry.entryId;
}

/** @throws Error where the answer tells none */
function told({ status, body }: Answer, name: string): string {
  const id = body[name];
  if (typeof id !== 'string') throw new Error(`An answer ${status} has no ${name}.`);
  return id;
}

let detections = 0;

/** The queries without which a request is refused for what it says, by the end of the row. */
const QUERIES: readonly (readonly [row: RegExp, query: string])[] = [
  [/^GET .*\/usage$/, '?month=2026-01'],
  [/^GET .*\/find$/, '?text=hidden'],
  [/^DELETE .*\/users\/\{userId\}$/, '?keepKeys='],
];

function queryOf({ method, path }: Row, { formerExpiresAt = '2099-01-31T00:00:00.000Z' }: Ids): string {
  if (path.endsWith('/former-secret')) return `?formerExpiresAt=${formerExpiresAt}`;
  return QUERIES.find(([pattern]) => pattern.test(`${method} ${path}`))?.[1] ?? '';
}

/** The example of the body in the document, which is a valid one. */
function bodyOf({ api, method, path }: Row): object | undefined {
  const isDocumented = path.startsWith(`${PREFIXES[api]}/`) && method !== 'GET' && path !== '/v1/opamp';
  const spelled = path.replaceAll(/\{(\w+)\}/g, ':$1');
  const body = isDocumented ? exampleBody(api, { method: method.toLowerCase(), path: spelled }) : undefined;
  // One who fails to sign in has to wait, and a login is one person's.
  return body && 'login' in body ? { ...body, login: `somebody-${(logins += 1)}@example.com` } : body;
}

let logins = 0;

const PREFIXES: Readonly<Record<DocumentName, string>> = {
  v1: '/v1',
  device: '/device/v1',
  operator: '/operator/v1',
  panel: '/panel/v1',
};
