import { readFileSync } from 'node:fs';
import { machineMonotonic, systemClock } from './clock.ts';

/** The machine's monotonic clock, which all processes of one boot share: by it ages outlive a process. */
export interface Boot {
  /** Tells this boot, and the clock of this container, from others; undefined where the system does not say. */
  readonly id: string | undefined;
  /** The machine's monotonic clock showed this, in milliseconds, when `Clock.monotonic` of this process was 0. */
  readonly origin: number;
}

const SAMPLES = 5;

/** Reads from the system which boot it is (Linux), and where the clock of this process began. */
export function systemBoot(read: (path: string) => string = (path) => readFileSync(path, 'utf8')): Boot {
  const samples = Array.from({ length: SAMPLES }, () => {
    const before = systemClock.monotonic();
    const origin = machineMonotonic() - before;
    return { origin, tookMs: systemClock.monotonic() - before };
  });
  // A process that is interrupted between the two reads is wrong by that time, so the quickest pair counts.
  const { origin = 0 } = samples.toSorted((one, other) => one.tookMs - other.tookMs)[0] ?? {};
  return { id: bootId(read), origin };
}

function bootId(read: (path: string) => string): string | undefined {
  try {
    return `${read('/proc/sys/kernel/random/boot_id').trim()}${offset(read)}`;
  } catch {
    return undefined;
  }
}

/** A time namespace (time_namespaces(7)) has a monotonic clock of its own, at a fixed distance from the machine's. */
function offset(read: (path: string) => string): string {
  let text: string;
  try {
    text = read('/proc/self/timens_offsets');
  } catch {
    return '';
  }
  const [, seconds = '0', nanoseconds = '0'] = /^monotonic\s+(-?\d+)\s+(\d+)/m.exec(text) ?? [];
  return seconds === '0' && nanoseconds === '0' ? '' : `+${seconds}.${nanoseconds}`;
}
