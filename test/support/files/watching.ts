import type { FileVariable } from '../../../src/config/files/configured-file.ts';
import { createLog } from '../../../src/log.ts';
import { WatchedFiles, type WatchedFilesDeps } from '../../../src/service/files/watched-file.ts';
import { FakeClock } from '../time/fake-clock.ts';

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly why?: string;
}

/** Watched files on a clock of the test, with what they told. */
export class Watching {
  readonly clock: FakeClock;
  readonly logged: string[] = [];
  readonly log = createLog('info', { write: (line) => void this.logged.push(line) });
  /** Whether each file is unusable, as the metric has it. */
  readonly unusable = new Map<FileVariable, boolean>();
  /** When each certificate expires, in seconds since 1970. */
  readonly expiry = new Map<FileVariable, number>();
  readonly files: WatchedFiles;

  constructor(clock = new FakeClock(Date.now()), reading: Pick<WatchedFilesDeps, 'read' | 'inTime'> = {}) {
    this.clock = clock;
    this.files = new WatchedFiles({
      // A busy machine is as slow as a file system that hangs.
      inTime: (work) => work,
      ...reading,
      clock,
      log: this.log,
      metrics: {
        fileUnusable: (file, isUnusable) => void this.unusable.set(file, isUnusable),
        certificateExpires: (file, seconds) => void this.expiry.set(file, seconds),
      },
    });
  }

  get lines(): readonly Line[] {
    return this.logged.map((line) => JSON.parse(line) as Line);
  }

  /** Why files could not be used, as the log has it. */
  get faults(): readonly (string | undefined)[] {
    return this.lines.filter(({ level }) => level === 'error').map(({ why }) => why);
  }
}
