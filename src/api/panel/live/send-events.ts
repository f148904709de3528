import { LIMITS } from '../../../domain/limits.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { SignedIn } from '../../../domain/sessions/sessions.ts';
import { neededRight } from '../../../domain/users/roles.ts';
import { ACCOUNT_ID } from '../../contract/fields.ts';
import { eventQuery, WATCHED, type Watched } from '../../contract/panel/live.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { LiveHub } from './live-hub.ts';

const HEADERS = ['Content-Type', 'text/event-stream', 'X-Accel-Buffering', 'no'];

/**
 * Begins a stream of events; it is no `PanelRoute` since it lasts. Whoever has no right on an account that he asks to
 * follow is told so before it begins.
 * @throws Refusal `not_found`, `forbidden`, `invalid_request`; HttpRefusal `overloaded`; StoreUnavailable
 */
export async function sendEvents(
  exchange: Exchange,
  { session, user, reader }: SignedIn,
  query: URLSearchParams,
  hub: LiveHub,
): Promise<void> {
  const { accounts, watched } = askedFor(query);
  for (const accountId of accounts) await neededRight(reader, user, { accountId, role: 'viewer' });
  if (exchange.request.method === 'HEAD') return exchange.reply({ status: 200, headers: HEADERS });
  hub.refuseMany();
  const follower = { userId: user.id, sessionId: session.id, accounts, watched };
  const lastEventId = exchange.request.headers['last-event-id'];
  exchange.open(HEADERS);
  hub.join(follower, exchange.response, typeof lastEventId === 'string' ? lastEventId : undefined);
}

function askedFor(query: URLSearchParams): { accounts: ReadonlySet<string>; watched: ReadonlySet<Watched> } {
  const asked = eventQuery.safeParse(Object.fromEntries(query));
  const listOf = (text: string | undefined): readonly string[] =>
    text === undefined || text === '' ? [] : text.split(',');
  const accounts = listOf(asked.data?.account);
  const watched = listOf(asked.data?.watch);
  if (!asked.success || accounts.length > LIMITS.accountsPerStreamMax || !accounts.every((id) => ACCOUNT_ID.test(id))) {
    throw new Refusal('invalid_request', `account: at most ${LIMITS.accountsPerStreamMax} ids with commas between.`);
  }
  const known = watched.map((name) => WATCHED.find((what) => what === name)).filter((what) => what !== undefined);
  if (known.length < watched.length) throw new Refusal('invalid_request', `watch: ${WATCHED.join(', ')}.`);
  return { accounts: new Set(accounts), watched: new Set(known) };
}
