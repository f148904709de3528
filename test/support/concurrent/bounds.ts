import { randomInt } from 'node:crypto';
import { LIMITS } from '../../../src/domain/limits.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { Authenticator } from '../panel/authenticator.ts';
import { ask, putUser, signedIn } from '../panel/panel-users.ts';
import { asOperator, Visitor } from '../panel/visitor.ts';
import { call, OPERATOR_TOKEN, tenant, type Answer, type Muster } from '../service/muster.ts';
import type { Place } from './place.ts';
import { plant, replant, type Planted } from './planting.ts';
import { hashOf, newId, plainToken } from './tokens.ts';
import { rawKey } from '../store/raw-key.ts';

/* Bounds of which one more is free, and requests that each want it. */

/** Something of which there may be one more. */
export interface AlmostFull {
  /** Asks for one more; `index` is another one in each call. */
  ask(muster: Muster, index: number): Promise<Answer>;
  /** How many there are, as a client or the store tells. */
  count(): Promise<number>;
}

interface Bound {
  /** Ends the sentence "at the bound of …". */
  readonly name: string;
  readonly most: number;
  /** The answer where the bound is reached. */
  readonly refused: string;
  /** @param asking so many requests will ask */
  fill(place: Place, asking: number): Promise<AlmostFull>;
}

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const record = (key: string, value: object): Planted => ({ key: rawKey(key), value: JSON.stringify(value) });
const lengthOf = (body: Answer['body'], field: string): number => (body[field] as readonly unknown[]).length;

const listLength = async (answer: Promise<Answer>, field: string): Promise<number> =>
  lengthOf((await answer).body, field);

async function fieldOf(place: Place, key: string, field: string): Promise<unknown> {
  const entry = await place.store.get(key);
  return (JSON.parse(entry?.value ?? '{}') as Record<string, unknown>)[field];
}

const apps: Bound = {
  name: 'apps of an account',
  most: LIMITS.appsPerAccountMax,
  refused: '400 limit_reached',
  async fill(place) {
    const { accountId, apiKey } = await tenant(place.one);
    const counters = { apps: LIMITS.appsPerAccountMax - 1, nextSlot: LIMITS.appsPerAccountMax, idempotencyNext: 0 };
    await replant(place.store, KEYS.counters(accountId), counters);
    return {
      ask: (muster, index) =>
        call(`${muster.api}/v1/apps`, { method: 'POST', token: apiKey, body: { name: `app ${index}` } }),
      count: async () => Number(await fieldOf(place, KEYS.counters(accountId), 'apps')),
    };
  },
};

const apiKeys: Bound = {
  name: 'API keys of an account',
  most: LIMITS.apiKeysPerAccountMax,
  refused: '400 invalid_request',
  async fill({ one, store }) {
    const { accountId } = await tenant(one);
    const key = (): Planted =>
      record(KEYS.apiKey(accountId, newId(12)), { name: 'planted', hash: hashOf(newId(20)), createdAt: 1 });
    // The account has one already.
    await plant(store, times(LIMITS.apiKeysPerAccountMax - 2, key));
    const path = `/operator/v1/accounts/${accountId}/api-keys`;
    return {
      ask: (muster) => call(muster.ops + path, { method: 'POST', token: OPERATOR_TOKEN }),
      count: () => listLength(call(one.ops + path, { token: OPERATOR_TOKEN }), 'apiKeys'),
    };
  },
};

/** An invitation by the operator, as it lies in the store, and its token. */
function invitation(accountId: string): Planted & { readonly token: string } {
  const token = plainToken(`mst_link_${accountId}_`);
  const now = Date.now();
  const link = { kind: 'invitation', linkId: newId(12), createdAt: now, expiresAt: now + 3_600_000, by: 'operator' };
  return { ...record(KEYS.link(accountId, hashOf(token)), { ...link, accountId, role: 'viewer' }), token };
}

const invitations: Bound = {
  name: 'open invitations to an account',
  most: LIMITS.invitationsPerAccountMax,
  refused: '409 conflict',
  async fill({ one, store }) {
    const { accountId } = await tenant(one);
    const owner = await signedIn(store, { accounts: [{ accountId, role: 'owner' }] });
    await plant(
      store,
      times(LIMITS.invitationsPerAccountMax - 1, () => invitation(accountId)),
    );
    const path = `/accounts/${accountId}/invitations`;
    return {
      ask: (muster) => ask({ muster }, owner, path, { method: 'POST', body: { role: 'viewer' } }),
      count: () => listLength(ask({ muster: one }, owner, path), 'invitations'),
    };
  },
};

const members: Bound = {
  name: 'members of an account',
  most: LIMITS.membersPerAccountMax,
  refused: '409 conflict',
  async fill(place, asking) {
    const { one, store } = place;
    const { accountId } = await tenant(one);
    const listed = times(LIMITS.membersPerAccountMax - 1, () => ({ userId: newId(16), role: 'viewer', since: 1 }));
    await replant(store, KEYS.members(accountId), { members: listed });
    const links = times(asking, () => invitation(accountId));
    await plant(
      store,
      links.map(({ key, value }) => ({ key, value })),
    );
    const strangers = await Promise.all(times(asking, () => signedIn(store)));
    return {
      ask: (muster, index) =>
        ask({ muster }, strangers[index], '/links/accept', {
          method: 'POST',
          body: { token: links[index]?.token ?? '' },
          headers: { 'x-forwarded-for': anyAddress() },
        }),
      count: async () => lengthOf({ members: await fieldOf(place, KEYS.members(accountId), 'members') }, 'members'),
    };
  },
};

/** Each visitor has an address of his own, since an address has a rate of sign-ins. */
const anyAddress = (): string => `10.${randomInt(256)}.${randomInt(256)}.${randomInt(256)}`;

const NEW = 'new';

const newUser = (muster: Muster, operator: boolean): Promise<Answer> =>
  asOperator(muster, '/users', { method: 'POST', body: { name: NEW, login: `${newId(16)}@example.com`, operator } });

/** Deletes those whom an earlier round has made. @returns how many users are left */
async function leavePlanted(muster: Muster): Promise<number> {
  const { body } = await asOperator(muster, '/users');
  const listed = body['users'] as readonly { readonly userId: string; readonly name: string }[];
  const made = listed.filter(({ name }) => name === NEW);
  for (const { userId } of made) await asOperator(muster, `/users/${userId}`, { method: 'DELETE' });
  return listed.length - made.length;
}

const users: Bound = {
  name: 'users',
  most: LIMITS.usersMax,
  refused: '409 conflict',
  async fill({ one, store }) {
    const missing = LIMITS.usersMax - 1 - (await leavePlanted(one));
    const user = { name: 'planted', login: '', createdAt: 1, disabled: false, identities: [], passkeys: [] };
    await plant(
      store,
      times(missing, () => record(KEYS.user(newId(16)), user)),
    );
    return { ask: (muster) => newUser(muster, false), count: () => listLength(asOperator(one, '/users'), 'users') };
  },
};

const operators: Bound = {
  name: 'operators',
  most: LIMITS.operatorsMax,
  refused: '409 conflict',
  async fill(place, asking) {
    const candidates = await Promise.all(times(asking, () => putUser(place.store)));
    await replant(place.store, KEYS.operators(), { members: times(LIMITS.operatorsMax - 1, () => newId(16)) });
    return {
      // Half of them are users already, the others are made as operators.
      ask: (muster, index) =>
        index % 4 < 2
          ? asOperator(muster, `/users/${candidates[index]}`, { method: 'PATCH', body: { operator: true } })
          : newUser(muster, true),
      count: async () => lengthOf({ members: await fieldOf(place, KEYS.operators(), 'members') }, 'members'),
    };
  },
};

const passkeys: Bound = {
  name: 'passkeys of a user',
  most: LIMITS.passkeysPerUserMax,
  refused: '409 conflict',
  async fill(place, asking) {
    const { one, other, store } = place;
    const listed = times(LIMITS.passkeysPerUserMax - 1, (index) => ({
      id: `planted-${index}`,
      publicKey: '',
      name: 'planted',
      createdAt: 1,
    }));
    const userId = await putUser(store, { record: { passkeys: listed } });
    // A browser begins and ends at one replica here: its cookies bear the port.
    const begun = await Promise.all(
      times(asking, async (index) => {
        const visitor = new Visitor(index % 2 === 0 ? one : other, { browser: await signedIn(store, userId) });
        const { body } = await visitor.post('/me/passkeys/options');
        return { visitor, response: new Authenticator().create(body['options'], visitor.origin) };
      }),
    );
    return {
      ask: async (_muster, index) => {
        const { visitor, response } = begun[index] ?? begun[0] ?? raise();
        return await visitor.post('/me/passkeys', { name: `key ${index}`, response });
      },
      count: async () => lengthOf({ passkeys: await fieldOf(place, KEYS.user(userId), 'passkeys') }, 'passkeys'),
    };
  },
};

function raise(): never {
  throw new Error('Nobody asks.');
}

export const BOUNDS: readonly Bound[] = [apps, apiKeys, invitations, members, operators, passkeys, users];
