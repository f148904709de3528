import type { Entry } from '../../store/port.ts';
import { absent, parseRecord, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { NO_OPERATORS, type OperatorsRecord } from '../records/user-records.ts';
import type { AccessTokenEntry, SessionEntry, UserEntry } from './reader.ts';

/** The kinds of a user's records. */
export type UserRef =
  { readonly kind: 'user' | 'session' | 'accessToken'; readonly id: string } | { readonly kind: 'operators' };

/** Parses a key; undefined for a key of other records. */
export function userRefOf(key: string): UserRef | undefined {
  if (key.startsWith(KEYS.session.under())) return { kind: 'session', id: key.slice(KEYS.session.under().length) };
  if (key.startsWith(TOKENS)) return { kind: 'accessToken', id: key.slice(TOKENS.length) };
  if (key.startsWith(KEYS.user.under())) return { kind: 'user', id: key.slice(KEYS.user.under().length) };
  return key === KEYS.operators() ? { kind: 'operators' } : undefined;
}

const TOKENS = KEYS.accessToken.under();
const NOBODY = absent(KEYS.operators(), NO_OPERATORS);

/**
 * The users, their sessions and access tokens, and the operators in memory, and the accounts that each user is a member
 * of.
 */
export class UserMemory {
  readonly #users = new Map<string, UserEntry>();
  readonly #sessions = new Map<string, SessionEntry>();
  readonly #sessionsOf = new Map<string, Set<string>>();
  readonly #tokens = new Map<string, AccessTokenEntry>();
  readonly #tokensOf = new Map<string, Set<string>>();
  readonly #accountsOf = new Map<string, Set<string>>();
  readonly #invitedBy = new Map<string, Set<string>>();
  #operators: Versioned<OperatorsRecord> = NOBODY;

  user(userId: string): UserEntry | undefined {
    return this.#users.get(userId);
  }

  /** @param invitedBy an account: only those who came by its invitations */
  userCount(invitedBy?: string): number {
    return invitedBy === undefined ? this.#users.size : (this.#invitedBy.get(invitedBy)?.size ?? 0);
  }

  users(): Iterable<UserEntry> {
    return this.#users.values();
  }

  session(sessionId: string): SessionEntry | undefined {
    return this.#sessions.get(sessionId);
  }

  sessions(): Iterable<SessionEntry> {
    return this.#sessions.values();
  }

  sessionsOf(userId: string): readonly SessionEntry[] {
    return [...(this.#sessionsOf.get(userId) ?? [])].flatMap((id) => this.#sessions.get(id) ?? []);
  }

  accessToken(tokenId: string): AccessTokenEntry | undefined {
    return this.#tokens.get(tokenId);
  }

  accessTokens(): Iterable<AccessTokenEntry> {
    return this.#tokens.values();
  }

  accessTokensOf(userId: string): readonly AccessTokenEntry[] {
    return [...(this.#tokensOf.get(userId) ?? [])].flatMap((id) => this.#tokens.get(id) ?? []);
  }

  operators(): Versioned<OperatorsRecord> {
    return this.#operators;
  }

  /** The ids of the accounts that have the user among their members. */
  accountsOf(userId: string): Iterable<string> {
    return this.#accountsOf.get(userId) ?? [];
  }

  /** Notes that the members of an account changed. */
  membersChanged(accountId: string, before: readonly string[], after: readonly string[]): void {
    for (const userId of before) removeFrom(this.#accountsOf, userId, accountId);
    for (const userId of after) addTo(this.#accountsOf, userId, accountId);
  }

  /** @throws BadRecord, and then holds what it held before */
  put(ref: UserRef, entry: Entry): void {
    switch (ref.kind) {
      case 'user': {
        const user: UserEntry = { id: ref.id, ...parseRecord(KEYS.user, entry) };
        this.#dropUser(ref.id);
        this.#users.set(ref.id, user);
        if (user.record.invitedBy !== undefined) addTo(this.#invitedBy, user.record.invitedBy, ref.id);
        break;
      }
      case 'session': {
        const session: SessionEntry = { id: ref.id, ...parseRecord(KEYS.session, entry) };
        this.#sessions.set(ref.id, session);
        addTo(this.#sessionsOf, session.record.userId, ref.id);
        break;
      }
      case 'accessToken': {
        const token: AccessTokenEntry = { id: ref.id, ...parseRecord(KEYS.accessToken, entry) };
        this.#tokens.set(ref.id, token);
        addTo(this.#tokensOf, token.record.userId, ref.id);
        break;
      }
      case 'operators': {
        this.#operators = parseRecord(KEYS.operators, entry);
        break;
      }
    }
  }

  drop(ref: UserRef): void {
    switch (ref.kind) {
      case 'user': {
        this.#dropUser(ref.id);
        break;
      }
      case 'session': {
        const session = this.#sessions.get(ref.id);
        if (session) removeFrom(this.#sessionsOf, session.record.userId, ref.id);
        this.#sessions.delete(ref.id);
        break;
      }
      case 'accessToken': {
        const token = this.#tokens.get(ref.id);
        if (token) removeFrom(this.#tokensOf, token.record.userId, ref.id);
        this.#tokens.delete(ref.id);
        break;
      }
      case 'operators': {
        this.#operators = NOBODY;
        break;
      }
    }
  }

  #dropUser(userId: string): void {
    const invitedBy = this.#users.get(userId)?.record.invitedBy;
    if (invitedBy !== undefined) removeFrom(this.#invitedBy, invitedBy, userId);
    this.#users.delete(userId);
  }

  clear(): void {
    this.#users.clear();
    this.#invitedBy.clear();
    this.#sessions.clear();
    this.#sessionsOf.clear();
    this.#tokens.clear();
    this.#tokensOf.clear();
    this.#accountsOf.clear();
    this.#operators = NOBODY;
  }

  /** The revision at which memory holds the record; 0 where it holds none. */
  revisionOf(ref: UserRef): number {
    switch (ref.kind) {
      case 'user':
        return this.#users.get(ref.id)?.revision ?? 0;
      case 'session':
        return this.#sessions.get(ref.id)?.revision ?? 0;
      case 'accessToken':
        return this.#tokens.get(ref.id)?.revision ?? 0;
      case 'operators':
        return this.#operators.revision;
    }
  }

  *held(): Iterable<readonly [key: string, revision: number]> {
    for (const { id, revision } of this.#users.values()) yield [KEYS.user(id), revision];
    for (const { id, revision } of this.#sessions.values()) yield [KEYS.session(id), revision];
    for (const { id, revision } of this.#tokens.values()) yield [KEYS.accessToken(id), revision];
    if (this.#operators.revision > 0) yield [KEYS.operators(), this.#operators.revision];
  }
}

function addTo(sets: Map<string, Set<string>>, key: string, value: string): void {
  const set = sets.get(key);
  if (set) set.add(value);
  else sets.set(key, new Set([value]));
}

function removeFrom(sets: Map<string, Set<string>>, key: string, value: string): void {
  const set = sets.get(key);
  set?.delete(value);
  if (set?.size === 0) sets.delete(key);
}
