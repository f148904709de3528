import { tokenHash } from '../../../src/domain/credentials/tokens.ts';
import { ownCredential, type OwnCredential } from '../../support/service/daemon.ts';
import { OPERATOR_TOKEN } from '../../support/service/muster.ts';
import type { AccountField } from '../judgement/history.ts';
import type { Asked } from './client.ts';

/* The requests of the workload, one function each. */

/** An account as its owner knows it. */
export interface Owner {
  readonly account: string;
  readonly key: string;
  /** The name of its secret, where it was rotated; else that is the key's id. */
  readonly secret?: string;
  readonly apiKey: string;
  /** Stands in every text that the account stores, so that it is recognised in another account's answers. */
  readonly marker: string;
}

export interface App {
  readonly app: string;
  readonly code: string;
}

type Body = Readonly<Record<string, unknown>>;
const text = (body: Body, field: string): string => String(body[field]);

function v1(owner: Owner, kind: Asked['kind'], target: string, more: Partial<Asked> = {}): Asked {
  const [method = '', path = ''] = target.split(' ');
  const facts = { account: owner.account, key: owner.secret ?? owner.key, ...more.facts };
  return { kind, plane: 'api', method, path: `/v1${path}`, token: owner.apiKey, ...more, facts };
}

export const createApp = (owner: Owner, number: number): Asked =>
  v1(owner, 'app.create', 'POST /apps', {
    body: { name: `${owner.marker} ${number}` },
    learn: (body) => ({ app: text(body, 'appId'), code: tokenHash(text(body, 'enrollCode')) }),
  });

export const appOf = (body: Body): App => ({ app: text(body, 'appId'), code: text(body, 'enrollCode') });

export const listApps = (owner: Owner): Asked =>
  v1(owner, 'app.list', 'GET /apps', { learn: ({ apps }) => ({ count: Array.isArray(apps) ? apps.length : -1 }) });

export const readApp = (owner: Owner, app: string): Asked =>
  v1(owner, 'app.read', `GET /apps/${app}`, { facts: { app }, learn: (body) => ({ value: text(body, 'status') }) });

export const issueCode = (owner: Owner, app: string): Asked =>
  v1(owner, 'code.issue', `POST /apps/${app}/enroll-code`, {
    facts: { app },
    learn: (body) => ({ code: tokenHash(text(body, 'enrollCode')) }),
  });

export const revokeApp = (owner: Owner, app: string): Asked =>
  v1(owner, 'app.revoke', `POST /apps/${app}/revoke`, { facts: { app } });

export const deleteApp = (owner: Owner, app: string): Asked =>
  v1(owner, 'app.delete', `DELETE /apps/${app}`, { facts: { app } });

export function writeOtel(owner: Owner, number: number): Asked {
  const endpoint = `https://${owner.marker}.example.com/${number}`;
  const body = { enabled: true, endpoint, authHeader: `Bearer ${owner.marker}-${number}` };
  return v1(owner, 'otel.write', 'PUT /otel-config', { body, facts: { value: endpoint } });
}

export const readOtel = (owner: Owner): Asked =>
  v1(owner, 'otel.read', 'GET /otel-config', { learn: (body) => ({ value: text(body, 'endpoint') }) });

export const purgeOtel = (owner: Owner): Asked => v1(owner, 'otel.purge', 'DELETE /otel-config');

export { ownCredential, type OwnCredential };

const hashOf = ({ token }: OwnCredential): string => tokenHash(token);

export const enroll = (owner: Owner, { app, code }: App, own: OwnCredential): Asked => ({
  kind: 'enroll',
  plane: 'device',
  method: 'POST',
  path: '/device/v1/enroll',
  body: {
    appId: app,
    enrollCode: code,
    connection: 'cloud',
    platform: 'linux',
    agentVersion: '1',
    credentialHash: own.hash,
  },
  facts: { account: owner.account, app, code: tokenHash(code), credential: hashOf(own) },
});

export const poll = (owner: Owner, app: string, own: OwnCredential, etag = ''): Asked => ({
  kind: 'poll',
  plane: 'device',
  method: 'GET',
  path: '/device/v1/config',
  token: own.token,
  headers: etag === '' ? {} : { 'If-None-Match': etag },
  facts: { account: owner.account, app, credential: hashOf(own) },
});

function operator(kind: Asked['kind'], target: string, more: Partial<Asked>): Asked {
  const [method = '', path = ''] = target.split(' ');
  return { kind, plane: 'ops', method, path: `/operator/v1${path}`, token: OPERATOR_TOKEN, facts: {}, ...more };
}

/** A person of the panel, by a session or by an access token. */
export interface Person {
  readonly person: string;
  readonly bearer: string;
  readonly by: Pick<Asked, 'session' | 'token'>;
}

function panel({ person, bearer, by }: Person, kind: Asked['kind'], target: string, more: Partial<Asked> = {}): Asked {
  const [method = '', path = ''] = target.split(' ');
  return {
    kind,
    plane: 'panel',
    method,
    path: `/panel/v1${path}`,
    ...by,
    ...more,
    facts: { person, bearer, ...more.facts },
  };
}

/** The token is an owner's: it does what its person does on the account. */
export const makeToken = (person: Person, { account }: Owner): Asked =>
  panel(person, 'token.create', 'POST /me/access-tokens', {
    body: { name: 'program', accountId: account, role: 'owner' },
    facts: { account },
    learn: (body) => ({ target: text(body, 'tokenId') }),
  });

export const revokeToken = (person: Person, target: string): Asked =>
  panel(person, 'token.revoke', `DELETE /me/access-tokens/${target}`, { facts: { target } });

export const readsAccount = (person: Person, { account }: Owner): Asked =>
  panel(person, 'person.read', `GET /accounts/${account}/overview`, { facts: { account } });

export const writesAccount = (person: Person, { account, marker }: Owner): Asked =>
  panel(person, 'person.write', `POST /accounts/${account}/apps`, { body: { name: marker }, facts: { account } });

/** Whoever has a role on the installation reads this. */
export const readsUsers = (person: Person): Asked => panel(person, 'person.read', 'GET /users');

/** Support may do this; it is not done twice. */
export const disablesUser = (person: Person, userId: string): Asked =>
  panel(person, 'person.write', `PATCH /users/${userId}`, { body: { disabled: true } });

export const disablePerson = ({ person }: Person): Asked =>
  operator('person.disable', `PATCH /users/${person}`, { body: { disabled: true }, facts: { person } });

export const takeRole = ({ person }: Person): Asked =>
  operator('role.take', `PATCH /users/${person}`, { body: { role: 'none' }, facts: { person } });

export const createAccount = (marker: string): Asked =>
  operator('account.create', 'POST /accounts', {
    body: { name: marker, entitlement: 'enterprise' },
    learn: (body) => ({ account: text(body, 'accountId') }),
  });

export const createKey = (account: string): Asked =>
  operator('key.create', `POST /accounts/${account}/api-keys`, {
    facts: { account },
    learn: (body) => ({ target: text(body, 'keyId') }),
  });

/** Lets a key read, and do nothing else. */
export const narrowKey = ({ account, key }: Owner): Asked =>
  operator('key.narrow', `PATCH /accounts/${account}/api-keys/${key}`, {
    body: { access: 'read' },
    facts: { account, target: key },
  });

/** Gives a key another secret; the one before it ends with the answer. */
export const rotateKey = ({ account, key, secret = key }: Owner): Asked =>
  operator('key.rotate', `POST /accounts/${account}/api-keys/${key}/rotation`, {
    body: { graceSeconds: 0 },
    facts: { account, target: secret },
  });

export const revokeKey = ({ account, key }: Owner): Asked =>
  operator('key.revoke', `DELETE /accounts/${account}/api-keys/${key}`, { facts: { account, target: key } });

export const disableAccount = ({ account }: Owner, disabled: boolean): Asked =>
  operator(disabled ? 'account.disable' : 'account.enable', `PATCH /accounts/${account}`, {
    body: { disabled },
    facts: { account, field: 'disabled', value: String(disabled) },
  });

export const changeAccount = ({ account }: Owner, field: Exclude<AccountField, 'disabled'>, value: string): Asked =>
  operator('account.change', `PATCH /accounts/${account}`, {
    body: { [field]: value },
    facts: { account, field, value },
  });
