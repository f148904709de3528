import { expectUnchanged, type Entry, type Store } from '../../../store/port.ts';
import type { FleetReader, SessionEntry, UserEntry } from '../../fleet/reader.ts';
import { UNAUDITED_CLASSES } from '../../fullness/unaudited-classes.ts';
import { mutate } from '../../mutation/mutation.ts';
import {
  withParts,
  type LeadingStep,
  type MutationDeps,
  type Origin,
  type Step,
  type Unchanged,
} from '../../mutation/step.ts';
import { OPERATOR_AUDIT } from '../../records/audit-records.ts';
import { put } from '../../records/codec.ts';
import { KEYS } from '../../records/keys.ts';
import type { Identity, UserRecord } from '../../records/user-records.ts';
import { mutateEndingKeys, NONE_KEPT } from '../made-keys.ts';
import { endings, settled } from '../person-endings.ts';
import { sessionEnd } from '../replaced-session.ts';
import { takingRoles } from '../taken-roles.ts';
import { hasIdentity } from '../user-state.ts';

/** A refusal of the provider to renew anything for a person. */
export interface ProviderRefusal {
  readonly identity: Identity;
  /** The roles that were known when the provider was asked: later ones are of an answer that the refusal ignores. */
  readonly known: UserRecord['mapped'];
  /** The store's revision before the provider was asked. */
  readonly asked: number;
}

/**
 * People who may have left at the provider. A logout says only that a session has ended there, and so does silence. So
 * the session ends here, and a question stays open: whether the provider still renews for the person. The answer ends
 * what the person has (A17), and an outage only puts it off (docs/adr/0081-offboarding.md).
 */
export interface ProviderDepartures {
  /**
   * Ends sessions of a user, and opens the question with the token of the newest that has one.
   * @param isRevoked the provider has said that it revokes the tokens with the sessions: they tell nothing any more
   * @throws StoreUnavailable; Busy
   */
  endSessions(origin: Origin, userId: string, sessionIds: ReadonlySet<string>, isRevoked?: boolean): Promise<void>;
  /**
   * Ends what a person has by the provider, who refuses them: every session, the roles of groups, and the API keys that
   * were made by these. Nothing where another answer came meanwhile. @throws StoreUnavailable; Busy
   */
  refused(origin: Origin, userId: string, refusal: ProviderRefusal): Promise<void>;
  /**
   * Ends the sessions of a person whom the provider refuses with so many others that it tells of no departure. The API
   * keys stay until a person has looked at them. Nothing where another answer came meanwhile.
   * @param at when that was first seen
   * @throws StoreUnavailable; Busy
   */
  refusedWithOthers(origin: Origin, userId: string, refusal: ProviderRefusal, at: number): Promise<void>;
  /** Closes a question that no answer will come to. @throws StoreUnavailable */
  settle(user: UserEntry): Promise<void>;
}

/** Creates the operations; see `ProviderDepartures`. */
export function createProviderDepartures(deps: MutationDeps): ProviderDepartures {
  return {
    endSessions: (origin, userId, sessionIds, isRevoked = false) =>
      mutate<void>(deps, origin, (reader) => endingSessions(deps, reader, { userId, sessionIds, isRevoked, origin })),
    refused: (origin, userId, refusal) =>
      mutateEndingKeys<void>(deps, origin, NONE_KEPT, async (reader) => {
        const user = await concerned(reader, userId, refusal);
        if (!user) return { unchanged: undefined };
        const mapped = { operator: false, accounts: [], at: origin.at, asked: refusal.asked };
        return await takingRoles(reader, user, { mapped, at: origin.at, isRefused: true });
      }),
    refusedWithOthers: (origin, userId, refusal, at) =>
      mutate<void>(deps, origin, async (reader) => {
        const user = await concerned(reader, userId, refusal);
        return user ? await standingStill(reader, user, at) : { unchanged: undefined };
      }),
    async settle(user) {
      const { record, write } = settled(user.record);
      await deps.store.commit({
        expect: [expectUnchanged(user)],
        write: [put(KEYS.user(user.id), record), ...write],
        writeClass: UNAUDITED_CLASSES.rolesConfirmed,
      });
    },
  };
}

/** The user whom a refusal concerns; undefined where another answer came meanwhile. @throws StoreUnavailable */
async function concerned(
  reader: FleetReader,
  userId: string,
  { identity, known }: ProviderRefusal,
): Promise<UserEntry | undefined> {
  const user = await reader.user(userId);
  if (!user || user.record.disabled || !hasIdentity(user.record, identity)) return undefined;
  const { mapped: now } = user.record;
  return now?.at === known?.at && now?.asked === known?.asked ? user : undefined;
}

async function standingStill(reader: FleetReader, user: UserEntry, at: number): Promise<Step<void>> {
  const { record, write } = settled(user.record);
  return {
    accountId: OPERATOR_AUDIT,
    action: 'user.changed',
    detail: { userId: user.id, mapped: 'refused_with_others' },
    withdraws: true,
    expect: [expectUnchanged(user)],
    write: [
      put(KEYS.user(user.id), { ...record, refusedWithOthersAt: at }),
      ...write,
      ...(await endings(reader, user.id)),
    ],
    result: undefined,
  };
}

interface EndingSessions {
  readonly userId: string;
  readonly sessionIds: ReadonlySet<string>;
  readonly isRevoked: boolean;
  readonly origin: Origin;
}

async function endingSessions(
  { store }: Pick<MutationDeps, 'store'>,
  reader: FleetReader,
  { userId, sessionIds, isRevoked, origin }: EndingSessions,
): Promise<LeadingStep<void> | Unchanged<void>> {
  const user = await reader.user(userId);
  const meant = Array.from(await reader.sessionsOf(userId)).filter(({ id }) => sessionIds.has(id));
  const [last, ...others] = meant.sort((a, b) => signedInAt(a) - signedInAt(b)).map(ending);
  if (!last || !user) return { unchanged: undefined };
  const { toAsk } = user.record;
  const question = isRevoked ? undefined : await questionBy(store, meant.toReversed(), toAsk?.signedInAt ?? 0, origin);
  if (!question) return { ...last, first: others };
  const { record, write } = settled(user.record);
  const keepingToken = (step: Step<void>): Step<void> => ({
    ...step,
    write: step.write.filter((one) => !('remove' in one && one.remove === question.token.key)),
  });
  return {
    ...withParts(keepingToken(last), {
      expect: [user, question.token].map(expectUnchanged),
      write: [put(KEYS.user(userId), { ...record, toAsk: question.toAsk }), ...write],
    }),
    first: others.map(keepingToken),
  };
}

/** A question to the provider, and the refresh token by which it is asked. */
interface Question {
  readonly toAsk: NonNullable<UserRecord['toAsk']>;
  readonly token: Entry;
}

/**
 * The question that the newest session with a refresh token allows; undefined where none has one, or the open question
 * is of a later sign-in than these.
 * @throws StoreUnavailable
 */
async function questionBy(
  store: Store,
  newestFirst: readonly SessionEntry[],
  openSince: number,
  { at }: Origin,
): Promise<Question | undefined> {
  for (const session of newestFirst) {
    const { identity } = session.record;
    if (signedInAt(session) < openSince) return undefined;
    const token = identity && (await store.get(KEYS.refresh(session.id)));
    if (!token) continue;
    const { issuer, subject } = identity;
    const toAsk = { sessionId: session.id, identity: { issuer, subject }, at, signedInAt: signedInAt(session) };
    return { toAsk, token };
  }
  return undefined;
}

/** When the person was last seen at the provider by a session, in milliseconds since 1970. */
export const signedInAt = ({ record: { signedInAt: at, createdAt, proof } }: SessionEntry): number =>
  Math.max(at ?? createdAt, proof?.by === 'provider' ? proof.at : 0);

const ending = (session: SessionEntry): Step<void> => ({
  accountId: OPERATOR_AUDIT,
  action: 'session.ended',
  detail: { userId: session.record.userId },
  expect: [expectUnchanged(session)],
  write: sessionEnd(session.id),
  result: undefined,
});
