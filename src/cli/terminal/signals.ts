import process from 'node:process';
import { systemClock } from '../../time/clock.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** Milliseconds: a terminal and bin/muster.mjs above this process both hand over what a person sends once. */
const SAME_WITHIN_MS = 500;

/** Aborts when somebody stops the command. */
interface Interruption extends Disposable {
  readonly signal: AbortSignal;
}

/**
 * Lets a stopped command end by itself, with a message and with the terminal as it was. A second signal, sent on
 * purpose, kills it.
 * @param reason the reason of the aborted signal
 */
export function onInterruption(reason: Error): Interruption {
  const controller = new AbortController();
  let first = 0;
  const interrupt = (signal: NodeJS.Signals): void => {
    if (!controller.signal.aborted) first = systemClock.monotonic();
    else if (systemClock.monotonic() - first > SAME_WITHIN_MS) {
      for (const each of SIGNALS) process.off(each, interrupt);
      process.kill(process.pid, signal);
    }
    controller.abort(reason);
  };
  for (const signal of SIGNALS) process.on(signal, interrupt);
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      for (const signal of SIGNALS) process.off(signal, interrupt);
    },
  };
}
