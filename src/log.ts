import { pino, stdTimeFunctions, type DestinationStream, type Logger } from 'pino';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/**
 * The log: JSON lines. `error` means that a person must act, and a healthy night has none; a refused request is `info`
 * at most. No line holds a secret: a value that may be one is a `Secret`, which prints as `[redacted]`.
 */
export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>;

/** Creates the log of the process; `destination` is stdout where it is absent. */
export function createLog(level: LogLevel, destination?: DestinationStream): Log {
  const options = {
    level,
    base: { service: 'muster' },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return destination ? pino(options, destination) : pino(options);
}
