import type { MusterError } from '../errors.ts';

/*
 * For how long polls may be held on their way: a proxy between may end what it waits for too long. A poll that it has
 * cut off is sent again at once, and what changes in between comes a moment late; so one an hour is no loss.
 */

/** The limit is forgotten after so long, in case that the proxy is gone. */
const LIMIT_MS = 3_600_000;
/** Of the time after which polls were cut, so much is asked for. */
const SHARE = 0.8;
/** A poll that is held for less than this is better not held at all: there would be too many. */
const HELD_SECONDS_MIN = 5;
/** What fails sooner was not held. */
const CUT_MS_MIN = 1500;
/**
 * A proxy that cuts after the very time that is asked for is faster than the service, whose answer has a way to come.
 */
const LATE_MS = 5000;
/** Two polls were cut after the same time where the times differ by no more than this, or by this part. */
const ALIKE_MS = 500;
const ALIKE_PART = 0.1;
/**
 * By which a proxy that has waited for too long ends a request: 504, 502, 408, and 524 of Cloudflare. 503 is that of
 * one that has found no service, mostly after the same time as well.
 */
const CUTTING: ReadonlySet<number> = new Set([408, 502, 504, 524]);
/** The codes of a connection that was there, and broke: one that could not be made tells nothing of held polls. */
const BROKEN: ReadonlySet<unknown> = new Set(['ECONNRESET', 'UND_ERR_SOCKET']);

/** How long held polls of one client get through. */
export class HeldWait {
  readonly #now: () => number;
  #limitSeconds = Number.POSITIVE_INFINITY;
  #limitUntil = 0;
  /** After how long the poll before was cut off; undefined where it was not. */
  #cutAfterMs: number | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The seconds to ask for in place of these. */
  seconds(wanted: number): number {
    if (this.#now() >= this.#limitUntil) return wanted;
    return Math.min(wanted, this.#limitSeconds);
  }

  /** A poll that was to be held was answered by the service. */
  answered(): void {
    this.#cutAfterMs = undefined;
  }

  /** A poll failed that was to be held. Two in a row that are cut off after the same time are a proxy's work. */
  failed(error: MusterError, tookMs: number, askedSeconds: number): void {
    const before = this.#cutAfterMs;
    this.#cutAfterMs = isCut(error, tookMs, askedSeconds) ? tookMs : undefined;
    if (before === undefined || this.#cutAfterMs === undefined) return;
    const [sooner, later] = [Math.min(before, tookMs), Math.max(before, tookMs)];
    if (later - sooner > Math.max(ALIKE_MS, sooner * ALIKE_PART)) return;
    const seconds = Math.floor((sooner * SHARE) / 1000);
    this.#limitSeconds = seconds < HELD_SECONDS_MIN ? 0 : seconds;
    this.#limitUntil = this.#now() + LIMIT_MS;
    this.#cutAfterMs = undefined;
  }
}

function isCut({ status, code, cause }: MusterError, tookMs: number, askedSeconds: number): boolean {
  if (tookMs < CUT_MS_MIN || tookMs >= askedSeconds * 1000 + LATE_MS) return false;
  if (status !== 0) return CUTTING.has(status);
  const { cause: broken } = (cause ?? {}) as { readonly cause?: { readonly code?: unknown } };
  return code === 'network' && BROKEN.has(broken?.code);
}
