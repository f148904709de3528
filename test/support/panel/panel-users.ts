import { createHash, randomBytes } from 'node:crypto';
import { expectRevision } from '../../../src/store/entry.ts';
import { ABSENT, expectAbsent, type Store } from '../../../src/store/port.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { MemberRole, SessionRecord, UserRecord } from '../../../src/domain/records/user-records.ts';
import { Secret } from '../../../src/domain/credentials/secret.ts';
import type { Replacement } from '../../../src/domain/users/replaced-session.ts';
import { loginKey } from '../../../src/domain/users/user-state.ts';
import { call, Muster, type Answer, type Call, type MusterOptions } from '../service/muster.ts';
import type { Backend } from '../store/backends.ts';
import { rawPut } from '../store/raw-key.ts';

/* Users and sessions of the panel, put into the store as a sign-in would leave them. */

/** A Muster whose store a test can write to beside it. */
export interface PanelMuster extends AsyncDisposable {
  readonly muster: Muster;
  readonly store: Store;
}

/** Starts a Muster on a store that is empty at first. */
export async function panelMuster(
  backend: Pick<Backend, 'fresh'> = { fresh: (options) => Muster.start(options) },
  options: MusterOptions = {},
): Promise<PanelMuster> {
  let store: Store | undefined;
  const wrapStore = (opened: Store): Store => {
    store = opened;
    return options.wrapStore?.(opened) ?? opened;
  };
  const muster = await backend.fresh({ ...options, wrapStore });
  if (!store) throw new Error('The service has opened no store.');
  return { muster, store, [Symbol.asyncDispose]: () => muster[Symbol.asyncDispose]() };
}

export interface UserOptions {
  readonly name?: string;
  readonly login?: string;
  readonly operator?: boolean;
  readonly accounts?: readonly { readonly accountId: string; readonly role: MemberRole }[];
  readonly record?: Partial<UserRecord>;
}

const randomId = (): string => randomBytes(8).toString('hex');

/** Puts a user into the store. @returns his id */
export async function putUser(store: Store, options: UserOptions = {}): Promise<string> {
  const userId = randomId();
  const { name = 'Ann', login = `${userId}@example.com` } = options;
  const record: UserRecord = {
    name,
    login,
    createdAt: Date.now(),
    disabled: false,
    identities: [],
    passkeys: [],
    // A way to sign in that nobody can take: no password has this hash.
    password: { hash: 'none', at: Date.now() },
    ...options.record,
  };
  await committed(store, [
    [KEYS.user(userId), record],
    [loginKey(login), { userId }],
  ]);
  if (options.operator === true) await append(store, KEYS.operators(), userId);
  for (const { accountId, role } of options.accounts ?? []) {
    await append(store, KEYS.members(accountId), { userId, role, since: Date.now() });
  }
  return userId;
}

/** A signed-in browser: the value of its Cookie field is `cookie`. */
export interface Browser {
  readonly userId: string;
  readonly sessionId: string;
  readonly token: string;
}

/**
 * Puts a session of a user into the store, or of one who is made for it; it was proved by a password just now.
 * @param record what is different in the session's record
 */
export async function signedIn(
  store: Store,
  user: string | UserOptions = {},
  record: Partial<SessionRecord> = {},
): Promise<Browser> {
  const userId = typeof user === 'string' ? user : await putUser(store, user);
  const token = `mst_session_${createHash('sha256').update(randomBytes(32)).digest('hex').slice(0, 43)}`;
  const sessionId = createHash('sha256').update(token).digest('base64url');
  const createdAt = Date.now();
  const session = {
    userId,
    createdAt,
    expiresAt: createdAt + 86_400_000,
    method: 'password',
    browser: 'Firefox',
    proof: { at: createdAt, by: 'password' },
    ...record,
  };
  await committed(store, [[KEYS.session(sessionId), session]]);
  return { userId, sessionId, token };
}

/** A session that begins with a change of a user's ways in, in the place of one that is not there. */
export function replacementFor(userId: string): Replacement {
  const [sessionId, replaced] = [randomId(), randomId()];
  const record = { userId, createdAt: 1, expiresAt: 2, method: 'password', browser: 'Firefox' } as const;
  return { session: { token: new Secret(randomId()), sessionId, record }, replaced };
}

/** One request as a page of the panel sends it. */
export async function ask(
  { muster }: Pick<PanelMuster, 'muster'>,
  browser: Pick<Browser, 'token'> | undefined,
  path: string,
  request: Call = {},
): Promise<Answer> {
  const { port } = muster.service.panel;
  const origin = `http://127.0.0.1:${port}`;
  const { method = 'GET' } = request;
  return await call(`${origin}/panel/v1${path}`, {
    ...request,
    headers: {
      ...(browser && { cookie: `muster_${port}=${browser.token}` }),
      ...(method !== 'GET' && { origin }),
      ...(request.body !== undefined || method === 'POST' ? { 'content-type': 'application/json' } : {}),
      ...request.headers,
    },
  });
}

/** Writes a record anew, as whoever changes it would. */
export async function rewrite(
  { store }: Pick<PanelMuster, 'store'>,
  key: string,
  change: (record: Record<string, unknown>) => object,
): Promise<void> {
  const entry = await store.get(key);
  const record = JSON.parse(entry?.value ?? '{}') as Record<string, unknown>;
  await store.commit({
    expect: [expectRevision(key, entry?.revision ?? ABSENT)],
    write: [rawPut(key, change(record))],
  });
}

async function committed(store: Store, records: readonly (readonly [key: string, record: object])[]): Promise<void> {
  const [first, ...others] = records.map(([key]) => expectAbsent(key));
  if (!first) return;
  const { outcome } = await store.commit({
    expect: [first, ...others],
    write: records.map(([key, record]) => rawPut(key, record)),
  });
  if (outcome !== 'committed') throw new Error('A record is there already.');
}

/** Adds a member to a list of members, whoever else writes it. */
async function append(store: Store, key: string, member: object | string): Promise<void> {
  for (;;) {
    const entry = await store.get(key);
    const { members } = (entry ? JSON.parse(entry.value) : { members: [] }) as { members: unknown[] };
    const { outcome } = await store.commit({
      expect: [expectRevision(key, entry?.revision ?? ABSENT)],
      write: [rawPut(key, { members: [...members, member] })],
    });
    if (outcome === 'committed') return;
  }
}
