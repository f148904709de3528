import { Slots } from '../../../concurrency/slots.ts';
import type { Fleet } from '../../../domain/fleet/fleet.ts';
import { PlanReader } from '../../../domain/fleet/plan-reader.ts';
import type { FleetReader } from '../../../domain/fleet/reader.ts';
import { RESTRICTED_ROLES } from '../../../domain/records/user-records.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { liveSession } from '../../../domain/sessions/guard.ts';
import { lacksSecondFactor, type SecondFactorPolicy } from '../../../domain/sessions/proof.ts';
import { installationRight, neededRight, type Need } from '../../../domain/users/roles.ts';
import type { LiveStream } from './live-stream.ts';

/** The rules of an installation for its streams, beside the rights of their users. */
export interface StreamPolicy {
  readonly secondFactor: SecondFactorPolicy;
}

/**
 * Ends the streams whose session has ended or lacks the second factor, or whose user has lost a right, as soon as
 * memory knows (A12). Memory may yet be behind what the stream's own request read of the store: a stream that memory
 * refuses is held until the store itself was asked. Where the store does not answer, the browser comes back and is
 * judged anew. Never throws.
 */
export async function judgeStreams(
  { fleet, ...policy }: StreamPolicy & { readonly fleet: Fleet },
  streams: Iterable<LiveStream>,
): Promise<void> {
  // Memory tells of everything again once it is filled.
  if (!fleet.memory.whole) return;
  const doubtful: LiveStream[] = [];
  for (const stream of streams) {
    if (await hasRights(fleet.memory, stream, policy).catch(() => false)) continue;
    stream.isHeld = true;
    doubtful.push(stream);
  }
  if (doubtful.length === 0) return;
  try {
    const reader = await fleet.current();
    for (const stream of doubtful) {
      if (await hasRights(reader, stream, policy)) stream.isHeld = false;
      else stream.end();
    }
  } catch {
    for (const stream of doubtful) if (stream.isHeld) stream.leave();
  }
}

/** The right to follow an account: hints tell that something changed, and nothing of it. */
export const followNeed = (accountId: string): Need => ({ role: 'viewer', accountId, open: RESTRICTED_ROLES });

/** Rights of streams that are read from the store at once. */
const READ_TOGETHER_MAX = 8;

/**
 * Ends the same streams, where the watch may be silent and memory knows
 * nothing of it. Streams of one user or account share their reads. @throws StoreUnavailable; BadRecord
 */
export async function judgeByStore(
  reader: FleetReader,
  streams: Iterable<LiveStream>,
  policy: StreamPolicy,
): Promise<void> {
  const shared = new PlanReader(reader);
  const slots = new Slots(READ_TOGETHER_MAX);
  await Promise.all(
    Array.from(streams, (stream) =>
      slots.run(async () => {
        if (!(await hasRights(shared, stream, policy))) stream.end();
      }),
    ),
  );
}

async function hasRights(reader: FleetReader, stream: LiveStream, { secondFactor }: StreamPolicy): Promise<boolean> {
  try {
    const { session, user } = await liveSession(reader, stream.sessionId);
    if (await lacksSecondFactor({ reader, session, user }, secondFactor)) return false;
    for (const accountId of stream.accounts) {
      await neededRight(reader, user, followNeed(accountId));
    }
    stream.installationRole = (await installationRight(reader, user))?.installationRole;
    return true;
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
}
