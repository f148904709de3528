import { Session, type Profiler } from 'node:inspector/promises';
import process from 'node:process';
import type { Cost } from './child.ts';
import { Pauses } from './pauses.ts';

/** What a profile came to, with the processor time of the same stretch. */
export interface Profiled {
  readonly profile: Profiler.Profile;
  /** Microseconds of processor time of the main thread. */
  readonly mainMicros: number;
}

const SAMPLING_MICROS = 250;

/** Answers the questions of a bench: what the process has cost so far, and where its main thread spends its time. */
export function answerBench(): void {
  const session = new Session();
  session.connect();
  let mainBefore = 0;
  let pauses: Pauses | undefined;
  const answers: Record<string, () => Promise<unknown>> = {
    cost: async (): Promise<Cost> => ({
      cpu: process.cpuUsage(),
      mainMicros: mainMicros(),
      rss: process.memoryUsage.rss(),
    }),
    pauses: async () => (pauses ??= new Pauses()).take(),
    profile: async () => {
      await session.post('Profiler.enable');
      await session.post('Profiler.setSamplingInterval', { interval: SAMPLING_MICROS });
      await session.post('Profiler.start');
      mainBefore = mainMicros();
      return 'started';
    },
    profiled: async (): Promise<Profiled> => {
      const micros = mainMicros() - mainBefore;
      const { profile } = await session.post('Profiler.stop');
      return { profile, mainMicros: micros };
    },
  };
  // A bench that was stopped, or failed, leaves nothing behind.
  process.once('disconnect', () => process.exit());
  process.on('message', (question: string) => {
    void answers[question]?.().then((answer) => process.send?.(answer));
  });
}

function mainMicros(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}
