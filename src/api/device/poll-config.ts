import { andThen, type MaybePromise } from '../../concurrency/maybe-promise.ts';
import type { HeldPoll } from '../../domain/devices/held-polls.ts';
import { forgetIfSetBack } from '../../domain/devices/set-back.ts';
import type { AppEntry, FoundApp } from '../../domain/fleet/reader.ts';
import type { Origin } from '../../domain/mutation/step.ts';
import { LIMITS } from '../../domain/limits.ts';
import { revisionOfEtag, type DeviceConfig } from '../../domain/otel-config/delivered-config.ts';
import { Refusal } from '../../domain/refusal.ts';
import { StoreUnavailable } from '../../store/port.ts';
import type { Answered } from '../contract/answers.ts';
import { pollConfig as operation } from '../contract/device/config.ts';
import { entityTags, namesTag } from '../headers/entity-tags.ts';
import { HttpRefusal } from '../http/errors.ts';
import type { Exchange } from '../http/exchange.ts';
import { fieldsOf } from '../http/request-headers.ts';
import { authenticated, authenticatedAgain } from './authenticate.ts';
import type { DeviceDeps } from './deps.ts';
import type { PollResult } from './metrics.ts';
import { handle } from './route.ts';

/** Held polls have a route of their own in the metrics: how long they are held says nothing of how fast others are. */
export const HELD_ROUTE = '/device/v1/config (held)';

/**
 * GET /device/v1/config. A poll with `Prefer: wait` whose configuration is unchanged is held.
 * @throws Refusal, HttpRefusal, StoreUnavailable, Busy
 */
export const pollConfig = handle(
  operation,
  countRefusedPoll,
)((exchange, deps) =>
  andThen(authenticated(exchange, deps), (found) => {
    noteContact(exchange, deps, found);
    recordReport(exchange, deps, found);
    const known = exchange.request.headers['if-none-match'];
    return andThen(exchange.inTimeIfLate(deps.configs.of(found)), (config) => {
      const waitMs = namesTag(known, config.etag) ? waitOf(exchange) : 0;
      const held = waitMs > 0 ? deps.heldPolls.hold(found.app) : undefined;
      if (!held) {
        return andThen(showSetBack(exchange, deps, found, config, known), () =>
          answerOf(deps, config, known, undefined),
        );
      }
      exchange.route = HELD_ROUTE;
      return hold(exchange, deps, found.app, held, known, waitMs).then((then) => answerOf(deps, then, known, held));
    });
  }),
);

type PollAnswer = Answered<typeof operation.answers>;

/**
 * A daemon that asks with the tag of an older revision may have acknowledged a newer one before its machine was set
 * back. A held poll has not: its tag was the newest. The answer waits, since the daemon acknowledges anew after it.
 * Polls above the bound are not looked at, where many come at once, as after a change in a fleet that holds none.
 */
function showSetBack(
  exchange: Exchange,
  deps: DeviceDeps,
  found: FoundApp,
  config: DeviceConfig,
  known: string | undefined,
): MaybePromise<void> {
  const had = olderThan(config, known);
  if (had === undefined) return undefined;
  const shown = deps.setBackReads.tryRun(() => forgetIfSetBack(deps, found, had));
  // It is about what people see: where the store is slow, memory answers all the same.
  return shown && exchange.inTime(shown).catch(passOutage);
}

function passOutage(error: unknown): void {
  if (!(error instanceof StoreUnavailable)) throw error;
}

/** Counts a poll that ends in an error, by its reason. */
function countRefusedPoll(error: unknown, deps: DeviceDeps): void {
  const code = error instanceof Refusal || error instanceof HttpRefusal ? error.code : '';
  deps.metrics.pollEnded(RESULT_OF_CODE.get(code) ?? 'unavailable');
}

const RESULT_OF_CODE: ReadonlyMap<string, PollResult> = new Map<string, PollResult>([
  ['invalid_credential', 'invalid_credential'],
  ['account_disabled', 'account_disabled'],
  ['rate_limited', 'rate_limited'],
]);

function answerOf(
  deps: DeviceDeps,
  config: DeviceConfig,
  known: string | undefined,
  held: HeldPoll | undefined,
): PollAnswer {
  const { revision, etag, intervalSeconds } = config;
  const headers = ['ETag', etag];
  // A daemon whose poll was held may ask again at once; any other is to wait for its interval.
  if (!held || held.isDisplaced) headers.push('Retry-After', String(intervalSeconds));
  if (namesTag(known, etag)) {
    deps.metrics.pollEnded(held ? 'held_not_modified' : 'not_modified');
    return { status: 304, headers };
  }
  deps.metrics.pollEnded(held ? 'held_content' : 'content');
  observeReceipt(deps, config, known);
  return { status: 200, body: { revision, pollIntervalSeconds: intervalSeconds, otel: config.settings() }, headers };
}

/**
 * Records how long a revision took to reach a daemon that had an older one. A daemon that has none is new, and did not
 * wait for it.
 */
function observeReceipt(deps: DeviceDeps, config: DeviceConfig, known: string | undefined): void {
  if (config.changedAt === undefined || olderThan(config, known) === undefined) return;
  deps.metrics.revisionReceived(Math.max(0, deps.clock.now() - config.changedAt) / 1000);
}

/** The newest revision of the tags, where all of them are of older ones than the configuration; undefined elsewhere. */
function olderThan({ revision }: DeviceConfig, known: string | undefined): number | undefined {
  const had = known === undefined ? [] : entityTags(known).map((etag) => revisionOfEtag(etag) ?? revision);
  return had.length > 0 && had.every((one) => one < revision) ? Math.max(...had) : undefined;
}

/**
 * Holds the poll until the configuration has changed, the time is up, a newer poll takes its place, or the process
 * ends. The credential is checked again before the response, whatever woke the poll. Where it is another app's by then,
 * the poll ends: its place is the first app's, and no change of the other one would wake it.
 */
async function hold(
  exchange: Exchange,
  deps: DeviceDeps,
  first: AppEntry,
  held: HeldPoll,
  known: string | undefined,
  waitMs: number,
): Promise<DeviceConfig> {
  using _ = held;
  // Daemons that came together are answered in pieces.
  const timer = setTimeout(() => deps.turns.do(() => held.end()), waitMs);
  exchange.response.once('close', () => held.end());
  // The response may have closed while the poll was authenticated: no event tells that again.
  if (exchange.response.destroyed) held.end();
  try {
    for (;;) {
      held.look();
      const { app, config } = await exchange.inTime(currentConfig(exchange, deps));
      if (held.hasEnded || app.id !== first.id || !namesTag(known, config.etag)) return config;
      await held.changed();
    }
  } finally {
    clearTimeout(timer);
  }
}

async function currentConfig(exchange: Exchange, deps: DeviceDeps): Promise<{ app: AppEntry; config: DeviceConfig }> {
  const found = await authenticatedAgain(exchange, deps);
  return { app: found.app, config: await deps.configs.of(found) };
}

/** RFC 7240: `Prefer: wait=N`, in milliseconds; 0 where there is none. */
function waitOf(exchange: Exchange): number {
  if (exchange.request.headers['prefer'] === undefined) return 0;
  const wait = /(?:^|[,;\s])wait\s*=\s*"?(\d{1,9})"?(?:$|[,;\s])/i.exec(fieldsOf(exchange.request, 'prefer').join(','));
  return wait ? Math.min(Number(wait[1]), LIMITS.pollWaitSecondsMax) * 1000 : 0;
}

const REPORTED = /^[\x20-\x7e]{1,128}$/;

function reported({ request }: Exchange, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' && REPORTED.test(value) ? value : undefined;
}

/** A poll tells who uses the credential: one that waits for its turn, or is held, does so when it comes. */
function noteContact(exchange: Exchange, deps: DeviceDeps, found: FoundApp): void {
  const now = deps.clock.now();
  const sender = { instance: reported(exchange, 'muster-instance-id'), network: deps.siteOf(exchange.request) };
  const originOf = (): Origin => exchange.origin(`device:${found.app.id}`);
  deps.heartbeats.seen(found.app, now, deps.sharedCredentials.polled(found, sender, now, originOf));
}

/**
 * Records Muster-Platform and Muster-Agent-Version. Both are optional, and ignored where enrollment would not accept
 * them.
 */
function recordReport(exchange: Exchange, deps: DeviceDeps, found: FoundApp): void {
  const platform = reported(exchange, 'muster-platform');
  const agentVersion = reported(exchange, 'muster-agent-version');
  if (platform === undefined && agentVersion === undefined) return;
  deps.reportVersion(found, { platform, agentVersion }, exchange.origin(`device:${found.app.id}`));
}
