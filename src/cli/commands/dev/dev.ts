import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { OwnerClient } from '#client';
import { systemRandom } from '../../../domain/credentials/random-ids.ts';
import type { Config } from '../../../config/config.ts';
import { configured, run, type Work } from '../../../service/run.ts';
import type { Service } from '../../../service/service.ts';
import { jitter } from '../../../time/jitter.ts';
import { keepAddresses } from '../../connection/kept-addresses.ts';
import { urlsOf, type Urls } from '../../connection/service-urls.ts';
import { FleetCounters } from '../../simulation/counters.ts';
import { SimulatedFleet } from '../../simulation/fleet.ts';
import { LiveLine } from '../../simulation/live-line.ts';
import { CommandFault, EXIT } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { demoApiKey } from './account.ts';
import { greeting, type Greeted } from './greeting.ts';
import { ownCommand } from './own-command.ts';

export interface DevOptions {
  /** How many simulated daemons run in the same process. */
  readonly agents?: number;
  readonly dataDir?: string;
}

/** The fleet of a newcomer does these, often enough to be seen. */
const PLAN = { prefix: 'demo', changeEveryMs: 12_000, upgradeEveryMs: 5000, replaceEveryMs: 10_000 } as const;
/** How long the service may hold a poll: short, so that there is something to see. */
const WAIT_SECONDS = 5;

/**
 * `muster dev`: the service as its environment says, which is on the embedded store where it says nothing, with an
 * account and an API key to begin with, until a signal ends it. Sets the exit code.
 * @param steps what the next commands that it prints are written for
 * @throws CommandFault with exit code 2 for a certificate; and for a store that others may use, unless `--yes` is given
 */
export async function dev(
  call: Invocation,
  { agents = 0, dataDir }: DevOptions,
  steps: Greeted['steps'] = 'muster',
): Promise<void> {
  const config = configured({
    ...call.env,
    MUSTER_LOG_LEVEL: call.env['MUSTER_LOG_LEVEL'] || 'warn',
    ...(dataDir !== undefined && { MUSTER_DATA_DIR: dataDir }),
  });
  if (!config) return;
  if (config.tls.api ?? config.tls.device ?? config.tls.ops) throw new CommandFault(ENCRYPTED, EXIT.usage);
  if (config.store.kind !== 'sqlite' && !call.globals.yes) throw new CommandFault(SHARED, EXIT.usage);
  let addresses: string | undefined;
  const begin: Work = async (service, signal) => {
    const urls = urlsOf(service);
    const apiKey = await demoApiKey(config, urls, signal);
    addresses = await keepAddresses(config.dataDir, urls);
    const [muster, folder] = [ownCommand(call.env), resolve(config.dataDir)];
    const firstLink = await service.firstLink();
    const panel = panelOf(config, service);
    await call.terminal.stdout.write(
      greeting({ urls, apiKey, dataDir: folder, agents, muster, steps, panel, firstLink }),
    );
    if (agents > 0) await fleet(call, agents, urls, apiKey, signal);
  };
  try {
    await run(config, begin, { inWords: true });
  } finally {
    if (addresses !== undefined) await rm(addresses, { force: true });
  }
}

/** The address at which people of this machine reach the panel; passkeys belong to a name, so it is no address. */
function panelOf({ panel, tls }: Config, { panel: { port } }: Service): string | undefined {
  if (!panel || port === 0) return undefined;
  return panel.url ?? `http${tls.panel ? 's' : ''}://localhost:${port}`;
}

const ENCRYPTED =
  'MUSTER_API_TLS_CERT_FILE, MUSTER_DEVICE_TLS_CERT_FILE and MUSTER_OPS_TLS_CERT_FILE are for `muster serve`: this is for ' +
  'trying things out, with its own account and daemons over plain http. Leave them out.';
const SHARED =
  'MUSTER_STORE names a store that others may use, and this makes an account with an API key in it: say so with --yes, ' +
  'or leave MUSTER_STORE out.';

async function fleet(
  { clock, globals, terminal }: Invocation,
  count: number,
  { api, device }: Urls,
  apiKey: string,
  signal: AbortSignal,
): Promise<void> {
  const random = systemRandom();
  const counters = new FleetCounters();
  using line = globals.quiet ? undefined : new LiveLine(counters, terminal.stderr);
  line?.start();
  const owner = new OwnerClient({ url: api, apiKey, random: jitter });
  const surroundings = {
    url: device,
    counters,
    clock,
    jitter,
    randomBytes: (bytes: number) => random.bytes(bytes),
    waitSeconds: WAIT_SECONDS,
    detectEveryMs: 30_000,
  };
  const simulated = new SimulatedFleet(owner, { ...PLAN, count }, surroundings);
  await simulated.start(signal);
  await simulated.run(signal);
}
