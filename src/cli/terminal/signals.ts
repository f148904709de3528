import process from 'node:process';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Aborts when somebody stops the command. */
export interface Interruption extends Disposable {
  readonly signal: AbortSignal;
}

/**
 * Lets a stopped command end by itself, with a message and with the terminal as it was. A second signal of the same
 * kind kills it.
 * @param reason the reason of the aborted signal
 */
export function onInterruption(reason: Error): Interruption {
  const controller = new AbortController();
  const interrupt = (): void => controller.abort(reason);
  for (const signal of SIGNALS) process.once(signal, interrupt);
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      for (const signal of SIGNALS) process.off(signal, interrupt);
    },
  };
}
