import { MusterError } from './errors.ts';
import type { App } from './generated/v1.ts';
import { verdictOn } from './retries.ts';
import { pause, type Timing } from './timing.ts';

/** What became of an app between two lists. */
export type AppEvent =
  | { readonly type: 'added'; readonly app: App }
  | { readonly type: 'changed'; readonly app: App; readonly before: App }
  | { readonly type: 'removed'; readonly app: App };

export interface WatchOptions {
  /** Milliseconds between two lists: 10,000, and never under 2,000. */
  readonly everyMs?: number | undefined;
  /** The `X-Request-Id` of every list. */
  readonly requestId?: string | undefined;
  /** Ends the iteration. */
  readonly signal?: AbortSignal | undefined;
}

const EVERY_MS = 10_000;
const EVERY_MS_MIN = 2000;

/**
 * Lists again and again, and yields the differences; the first list yields `added` for each app. An outage is waited
 * out, whatever it takes.
 * @throws MusterError where it is none, such as `invalid_key`
 */
export async function* watched(
  list: (signal: AbortSignal | undefined) => Promise<readonly App[]>,
  timing: Timing,
  { everyMs = EVERY_MS, signal }: WatchOptions,
): AsyncGenerator<AppEvent, void, undefined> {
  const everyMsBounded = Math.max(EVERY_MS_MIN, everyMs || 0);
  let known: ReadonlyMap<string, App> = new Map();
  for (;;) {
    try {
      const apps = await list(signal);
      yield* differences(known, apps);
      known = new Map(apps.map((app) => [app.appId, app]));
    } catch (error) {
      if (signal?.aborted === true) return;
      if (!isOutage(error)) throw error;
    }
    if (signal?.aborted === true) return;
    try {
      await pause(timing, everyMsBounded, signal);
    } catch {
      return;
    }
  }
}

/** The time of a call was up, or there was nobody. */
const isOutage = (error: unknown): boolean =>
  error instanceof MusterError && (error.code === 'timeout' || verdictOn(error) !== 'final');

function* differences(known: ReadonlyMap<string, App>, apps: readonly App[]): Generator<AppEvent> {
  const there = new Set(apps.map(({ appId }) => appId));
  for (const [appId, app] of known) if (!there.has(appId)) yield { type: 'removed', app };
  for (const app of apps) {
    const before = known.get(app.appId);
    if (!before) yield { type: 'added', app };
    else if (lasting(before) !== lasting(app)) yield { type: 'changed', app, before };
  }
}

/** All of an app but its last contact, which moves with each poll. */
function lasting(app: App): string {
  const fields = Object.entries(app).filter(([name]) => name !== 'lastSeenAt');
  return JSON.stringify(fields.sort(([a], [b]) => (a < b ? -1 : 1)));
}
