import process from 'node:process';
import { CommanderError } from 'commander';
import { LiveLine } from '../src/cli/simulation/live-line.ts';
import { createProgress } from '../src/cli/terminal/progress.ts';
import { screenOf } from '../src/cli/terminal/terminal.ts';
import { Devices } from './devices.ts';
import { enrollAll, type Enrolled } from './enrolling.ts';
import { figuresOf } from './figures.ts';
import { fleetOptions, type FleetOptions } from './options.ts';
import { pollAll, Polls } from './polling.ts';
import { reportLines } from './report.ts';
import { openTarget, type Target } from './service.ts';

/*
 * `npm run fleet`: very many daemons in one process. They enroll and poll over HTTP, as daemons would from elsewhere,
 * but share a few hundred connections, as behind a proxy.
 */

const PLAIN_EVERY_MS = 5000;
const write = (line: string): void => void process.stdout.write(`${line}\n`);

async function run(options: FleetOptions, signal: AbortSignal): Promise<void> {
  await using target = await openTarget(options);
  const devices = new Devices(options.devices);
  const empty = await figuresOf(target);
  write(`${options.devices} daemons enroll with ${target.urls.device}. Ctrl-C ends it.`);
  const enrolled = await enroll(target, devices, signal);
  write(`${enrolled.enrolled} are enrolled and poll every ${options.interval} s.`);
  const before = await figuresOf(target);
  const polls = new Polls();
  {
    using line = new LiveLine(polls, screenOf(process.stdout, process.env));
    line.start();
    const { connections, duration: seconds } = options;
    await pollAll({ urls: target.urls, devices, connections, seconds, signal, polls });
  }
  const after = await figuresOf(target);
  for (const line of reportLines({ enrolled, polls, figures: [empty, before, after] })) write(line);
}

async function enroll({ urls, operatorToken }: Target, devices: Devices, signal: AbortSignal): Promise<Enrolled> {
  using progress = createProgress('daemons');
  progress.total(devices.count);
  let done = 0;
  const plain = setInterval(() => {
    if (!progress.shown) write(`${done} of ${devices.count} daemons`);
  }, PLAIN_EVERY_MS);
  try {
    return await enrollAll({
      urls,
      operatorToken,
      devices,
      signal,
      progress(enrolled, failed) {
        done = enrolled + failed;
        progress.at(done);
      },
    });
  } finally {
    clearInterval(plain);
  }
}

const ending = new AbortController();
// A signal that comes again changes nothing, since npm passes on the one that the terminal has sent already.
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => ending.abort());
try {
  await run(fleetOptions(process.argv.slice(2)), ending.signal);
} catch (error) {
  const isUsage = error instanceof CommanderError;
  if (!isUsage) process.stderr.write(`fleet: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = isUsage ? (error.exitCode === 0 ? 0 : 2) : 1;
}
