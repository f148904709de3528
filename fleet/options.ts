import { Command, Option } from 'commander';
import { CLIENT } from '../src/config/client-variables.ts';
import type { Urls } from '../src/cli/connection/service-urls.ts';
import { durationIn, matching, wholeNumber } from '../src/cli/terminal/globals.ts';

export interface FleetOptions {
  readonly devices: number;
  /** Seconds. */
  readonly interval: number;
  /** Seconds of polling; where undefined, until Ctrl-C. */
  readonly duration: number | undefined;
  readonly store: 'sqlite' | 'etcd';
  readonly connections: number;
  /** A service that runs already. */
  readonly urls: Urls | undefined;
}

const httpUrl = matching(/^http:\/\/[^/@?#\s]+$/, 'It is http://HOST:PORT.');

/** @throws CommanderError for wrong options, and after --help */
export function fleetOptions(args: readonly string[]): FleetOptions {
  const program = new Command('npm run fleet --')
    .description('Enrolls very many daemons with a Muster and lets them poll; tells what that came to.')
    .addOption(
      new Option('--devices <number>', 'how many daemons').argParser(wholeNumber('daemons', 5_000_000)).default(1000),
    )
    .addOption(
      new Option('--interval <duration>', 'between two polls of a daemon')
        .argParser(durationIn('1s', '1h'))
        .default(60, '60s'),
    )
    .addOption(
      new Option('--duration <duration>', 'of polling; until Ctrl-C without it').argParser(durationIn('1s', '7d')),
    )
    .addOption(
      new Option('--connections <number>', 'that the polls share')
        .argParser(wholeNumber('connections', 10_000))
        .default(256),
    )
    .addOption(
      new Option('--store <kind>', 'of the service that it starts').choices(['sqlite', 'etcd']).default('sqlite'),
    )
    .addOption(new Option('--api <url>', 'of a service that runs already; with --device and --ops').argParser(httpUrl))
    .addOption(new Option('--device <url>', 'its device listener').argParser(httpUrl))
    .addOption(
      new Option('--ops <url>', `its ops listener; the operator token is in ${CLIENT.operatorToken}`).argParser(
        httpUrl,
      ),
    )
    .exitOverride();
  program.parse(args, { from: 'user' });
  const given = program.opts<Omit<FleetOptions, 'urls' | 'duration'> & Partial<Urls> & { duration?: number }>();
  const { api, device, ops } = given;
  const named = [api, device, ops].filter((url) => url !== undefined).length;
  if (named !== 0 && named !== 3) program.error('error: --api, --device and --ops go together');
  const urls = api !== undefined && device !== undefined && ops !== undefined ? { api, device, ops } : undefined;
  return { ...given, duration: given.duration, urls };
}
