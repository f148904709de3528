import { expectUnchanged } from '../../store/port.ts';
import type { FleetReader, SessionEntry, UserEntry } from '../fleet/reader.ts';
import { UNAUDITED_CLASSES } from '../fullness/unaudited-classes.ts';
import { mutate } from '../mutation/mutation.ts';
import type { LeadingStep, MutationDeps, Origin, Step, Unchanged } from '../mutation/step.ts';
import { OPERATOR_AUDIT } from '../records/audit-records.ts';
import { put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { Identity, UserRecord } from '../records/user-records.ts';
import { mutateEndingKeys } from './made-keys.ts';
import { settled } from './person-endings.ts';
import { sessionEnd } from './replaced-session.ts';
import { takingRoles } from './taken-roles.ts';
import { hasIdentity } from './user-state.ts';

/** A refusal of the provider to renew anything for a person. */
interface ProviderRefusal {
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
  /** Ends sessions of a user, and opens the question with the token of the newest. @throws StoreUnavailable; Busy */
  endSessions(origin: Origin, userId: string, sessionIds: ReadonlySet<string>): Promise<void>;
  /**
   * Ends what a person has by the provider, who refuses them: every session, the roles of groups, and the API keys that
   * were made by these. Nothing where another answer came meanwhile. @throws StoreUnavailable; Busy
   */
  refused(origin: Origin, userId: string, refusal: ProviderRefusal): Promise<void>;
  /** Closes a question that no answer will come to. @throws StoreUnavailable */
  settle(user: UserEntry): Promise<void>;
}

/** Creates the operations; see `ProviderDepartures`. */
export function createProviderDepartures(deps: MutationDeps): ProviderDepartures {
  return {
    endSessions: (origin, userId, sessionIds) =>
      mutate<void>(deps, origin, (reader) => endingSessions(reader, userId, sessionIds, origin.at)),
    refused: (origin, userId, refusal) =>
      mutateEndingKeys<void>(deps, origin, { ids: [] }, async (reader) => {
        const user = await reader.user(userId);
        const { identity, known, asked } = refusal;
        if (!user || user.record.disabled || !hasIdentity(user.record, identity)) return { unchanged: undefined };
        const { mapped: now } = user.record;
        if (now?.at !== known?.at || now?.asked !== known?.asked) return { unchanged: undefined };
        const mapped = { operator: false, accounts: [], at: origin.at, asked };
        return await takingRoles(reader, user, { mapped, at: origin.at, isRefused: true });
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

async function endingSessions(
  reader: FleetReader,
  userId: string,
  sessionIds: ReadonlySet<string>,
  at: number,
): Promise<LeadingStep<void> | Unchanged<void>> {
  const user = await reader.user(userId);
  const meant = Array.from(await reader.sessionsOf(userId)).filter(({ id }) => sessionIds.has(id));
  const [newest, ...others] = meant.sort((a, b) => b.record.createdAt - a.record.createdAt);
  if (!newest || !user) return { unchanged: undefined };
  const { identity } = newest.record;
  const first = others.map((session) => ending(session));
  if (!identity) return { ...ending(newest), first };
  const question = settled(user.record);
  const toAsk = { sessionId: newest.id, identity: { issuer: identity.issuer, subject: identity.subject }, at };
  return {
    ...ending(newest),
    first,
    expect: [user, newest].map(expectUnchanged),
    write: [{ remove: newest.key }, put(KEYS.user(userId), { ...question.record, toAsk }), ...question.write],
  };
}

const ending = (session: SessionEntry): Step<void> => ({
  accountId: OPERATOR_AUDIT,
  action: 'session.ended',
  detail: { userId: session.record.userId },
  expect: [expectUnchanged(session)],
  write: sessionEnd(session.id),
  result: undefined,
});
