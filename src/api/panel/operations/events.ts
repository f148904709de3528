import { LIMITS } from '../../../domain/limits.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { neededRight } from '../../../domain/users/roles.ts';
import { ACCOUNT_ID } from '../../contract/fields.ts';
import * as operations from '../../contract/panel/live.ts';
import { handle } from '../request/route.ts';

const HEADERS = ['Content-Type', 'text/event-stream', 'X-Accel-Buffering', 'no'];

/**
 * GET /panel/v1/events. Whoever has no right on an account that he asks to follow is told so before the stream begins.
 * A browser opens the stream again and again by itself.
 */
export const readEvents = handle(operations.readEvents, { unattended: true })(async (
  { signedIn: { session, user, reader }, query, request },
  { live },
) => {
  const { accounts, watched } = askedFor(query);
  for (const accountId of accounts) await neededRight(reader, user, { accountId, role: 'viewer' });
  const follower = { userId: user.id, sessionId: session.id, accounts, watched };
  const lastEventId = request.headers['last-event-id'];
  return {
    status: 200,
    headers: HEADERS,
    open(begin) {
      live.refuseMany();
      live.join(follower, begin(), typeof lastEventId === 'string' ? lastEventId : undefined);
    },
  };
});

function askedFor(query: URLSearchParams): { accounts: ReadonlySet<string>; watched: ReadonlySet<operations.Watched> } {
  const asked = operations.eventQuery.safeParse(Object.fromEntries(query));
  const listOf = (text: string | undefined): readonly string[] =>
    text === undefined || text === '' ? [] : text.split(',');
  const accounts = listOf(asked.data?.account);
  const watched = listOf(asked.data?.watch);
  if (!asked.success || accounts.length > LIMITS.accountsPerStreamMax || !accounts.every((id) => ACCOUNT_ID.test(id))) {
    throw new Refusal('invalid_request', `account: at most ${LIMITS.accountsPerStreamMax} ids with commas between.`);
  }
  const known = watched
    .map((name) => operations.WATCHED.find((what) => what === name))
    .filter((what) => what !== undefined);
  if (known.length < watched.length) throw new Refusal('invalid_request', `watch: ${operations.WATCHED.join(', ')}.`);
  return { accounts: new Set(accounts), watched: new Set(known) };
}
