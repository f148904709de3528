import { neededRight } from '../../../domain/users/roles.ts';
import * as operations from '../../contract/panel/live.ts';
import { followNeed } from '../live/live-rights.ts';
import { handleInSession } from '../request/route.ts';

const HEADERS = ['Content-Type', 'text/event-stream', 'X-Accel-Buffering', 'no'];

/**
 * GET /panel/v1/events. Whoever has no right on an account that he asks to follow is told so before the stream begins.
 * A browser opens the stream again and again by itself.
 */
export const readEvents = handleInSession(operations.readEvents, { unattended: true })(async (
  { signedIn: { session, user, reader }, query, request },
  { live },
) => {
  const accounts = new Set(query.account);
  for (const accountId of accounts) await neededRight(reader, user, followNeed(accountId));
  const follower = { userId: user.id, sessionId: session.id, accounts, watched: new Set(query.watch) };
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
