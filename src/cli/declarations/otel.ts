import type { Command } from 'commander';
import { choice, CONNECTED, durationIn, ONE, wholeNumber } from '../terminal/globals.ts';
import type { Environment } from '../terminal/terminal.ts';
import { commandsOf } from './declare.ts';

/** `muster otel …`; the code that a command needs is loaded when it is called. */
export function addOtel(program: Command, env: Environment): void {
  const otel = program.command('otel').description('the OpenTelemetry export configuration of an account');
  const add = commandsOf(otel, env);
  const code = async () => {
    const { getOtelConfig, setOtelConfig, purgeOtelConfig } = await import('../commands/otel/otel.ts');
    return { getOtelConfig, setOtelConfig, purgeOtelConfig };
  };
  const reads = [...CONNECTED, 'output'] as const;
  const changes = [...reads, 'yes'] as const;
  add('get', 'show the configuration, without its header', reads, async () => (await code()).getOtelConfig);
  const setting = 'change the configuration; what is not given stays as it is';
  const form = 'of that file: as it stands, or as OTEL_EXPORTER_OTLP_HEADERS has it';
  add('set', setting, changes, async () => (await code()).setOtelConfig)
    .option('--endpoint <url>', 'the OTLP/HTTP address of the collector')
    .option('--auth-header-file <file>', 'the value of its Authorization header, or `Name: value`; - is stdin')
    .addOption(choice('--auth-header-form <form>', form, ['plain', 'otlp']))
    .option('--no-auth-header', 'delete the stored header')
    .addOption(
      choice('--evidence <level>', 'how much of a detection leaves the machine', ['hashes', 'redacted', 'full']),
    )
    .addOption(choice('--enabled <boolean>', 'whether daemons export to the collector', ['true', 'false']));
  const purging = 'remove the configuration, its header included';
  add('purge', purging, changes, async () => (await code()).purgeOtelConfig);
}

/** As many accounts as the service lists. */
const TOP_MAX = 20;

/** `muster rollout …`. */
export function addRollout(program: Command, env: Environment): void {
  const rollout = program.command('rollout').description('how far a configuration has come among the daemons');
  const add = commandsOf(rollout, env);
  add(
    'status',
    'show how many devices have applied the configuration; asks the ops listener',
    ['url', 'context', 'requestId', 'output', 'quiet'],
    () => import('../commands/otel/rollout.ts').then(({ rolloutStatus }) => rolloutStatus),
  )
    .option('-a, --account <account>', 'its id or name; not needed where there is only one')
    .option('--wait', 'until no device is pending; 1 where the time is up', false)
    .option('--timeout <duration>', 'how long to wait, as in 90s or 5m; 5m by default', durationIn())
    .addHelpText('after', '\nExit code 3: a device could not apply the configuration.');
  const by = 'which daemons: failed, pending or stale ones; or the accounts of which half or more failed';
  add('list', 'list the accounts with the most daemons that do not have the configuration', ONE, () =>
    import('../commands/otel/rollout.ts').then(({ rolloutList }) => rolloutList),
  )
    .addOption(choice('--by <state>', by, ['failing', 'failed', 'pending', 'stale']).default('failed'))
    .option('-t, --top <number>', 'so many accounts, 1 to 20', wholeNumber('accounts', TOP_MAX), TOP_MAX)
    .addHelpText('after', '\nThe leader counts about once a minute.');
}
