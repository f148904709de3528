import type { Command } from 'commander';
import type { SetOptions } from '../commands/otel/otel.ts';
import type { RolloutOptions } from '../commands/otel/rollout.ts';
import { addGlobals, CONNECTED, durationIn, type GlobalOptions } from '../terminal/globals.ts';
import { invocation } from '../terminal/invocation.ts';
import type { Environment } from '../terminal/terminal.ts';

/** `muster otel …`; the code that a command needs is loaded when it is called. */
export function addOtel(program: Command, env: Environment): void {
  const otel = program.command('otel').description('the OpenTelemetry export configuration of an account');
  addGlobals(otel.command('get').description('show the configuration, without its header'), [
    ...CONNECTED,
    'output',
  ]).action(async (options: GlobalOptions) => {
    const { getOtelConfig } = await import('../commands/otel/otel.ts');
    await getOtelConfig(invocation(env, options));
  });
  const set = otel.command('set').description('change the configuration; what is not given stays as it is');
  addGlobals(
    set
      .option('--endpoint <url>', 'the OTLP/HTTP address of the collector')
      .option('--auth-header-file <file>', 'the value of its Authorization header, or `Name: value`; - is stdin')
      .addOption(
        set
          .createOption(
            '--auth-header-form <form>',
            'of that file: as it stands, or as OTEL_EXPORTER_OTLP_HEADERS has it',
          )
          .choices(['plain', 'otlp']),
      )
      .option('--no-auth-header', 'delete the stored header')
      .addOption(
        set
          .createOption('--evidence <level>', 'how much of a detection leaves the machine')
          .choices(['hashes', 'redacted', 'full']),
      )
      .addOption(
        set.createOption('--enabled <boolean>', 'whether daemons export to the collector').choices(['true', 'false']),
      ),
    [...CONNECTED, 'output', 'yes'],
  ).action(async (options: SetOptions & GlobalOptions) => {
    const { setOtelConfig } = await import('../commands/otel/otel.ts');
    await setOtelConfig(invocation(env, options), options);
  });
  addGlobals(otel.command('purge').description('remove the configuration, its header included'), [
    ...CONNECTED,
    'output',
    'yes',
  ]).action(async (options: GlobalOptions) => {
    const { purgeOtelConfig } = await import('../commands/otel/otel.ts');
    await purgeOtelConfig(invocation(env, options));
  });
}

/** `muster rollout status`. */
export function addRollout(program: Command, env: Environment): void {
  const rollout = program.command('rollout').description('how far a configuration has come among the daemons');
  addGlobals(
    rollout
      .command('status')
      .description('show how many devices have applied the configuration; asks the ops listener')
      .option('-a, --account <account>', 'its id or name; not needed where there is only one')
      .option('--wait', 'until no device is pending; 1 where the time is up', false)
      .option('--timeout <duration>', 'how long to wait, as in 90s or 5m; 5m by default', durationIn())
      .addHelpText('after', '\nExit code 3: a device could not apply the configuration.'),
    ['url', 'context', 'requestId', 'output', 'quiet'],
  ).action(async (options: RolloutOptions & GlobalOptions) => {
    const { rolloutStatus } = await import('../commands/otel/rollout.ts');
    // The time is that of the wait, and not that of each request.
    const { timeout: _wait, ...others } = options;
    await rolloutStatus(invocation(env, others), options);
  });
}
