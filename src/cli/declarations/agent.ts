import type { Command } from 'commander';
import type { ExporterType, Pipeline, Signal } from '../agent/collector-file.ts';
import type { RunOptions } from '../commands/agent/run.ts';
import { CommandFault, EXIT } from '../terminal/exit-codes.ts';
import { choice, durationIn, matching, refusedArgument, wholeNumber } from '../terminal/globals.ts';
import type { Environment } from '../terminal/terminal.ts';
import { commandsOf } from './declare.ts';

const urlOf = matching(/^https?:\/\/[^\s/@?#]+(?:\/[^\s@?#]*)?$/, 'It must be http://HOST:PORT or https://HOST:PORT.');
const endpointOf = matching(
  /^https?:\/\/[^\s/@?#]+\/[^\s@?#]+$/,
  'It must be the whole URL, as in https://HOST:PORT/v1/opamp.',
);
const appIdOf = matching(/^[a-z0-9]{20}$/, 'An app id is 20 small letters and digits.');
const folderOf = matching(/./, 'It is the path of a folder.');
const reportedOf = matching(/^[\x20-\x7e]{1,128}$/, 'It is 1 to 128 printable ASCII characters.');
const DEVICE_URL = 'the device listener, in place of all others';
const EXPORTER = 'the exporter of the file: otlphttp for collectors before 0.144 (otlp_http)';
const OPAMP_INTERVAL = 'of the heartbeats of OpAMP; what the service offers by default';
const DAEMONS_MAX = 1000;
const SIMULATION_MAX = '1d';

const CONFIG_FILES_MAX = 64;
const [CODE_FILE, CODE_STDIN] = ['the enrollment code', 'read the enrollment code from stdin'] as const;

/** `muster agent …`; the code that a command needs is loaded when it is called. */
export function addAgent(program: Command, env: Environment, args: readonly string[]): void {
  const agent = program
    .command('agent')
    .description('the reference daemon, many simulated ones, and collectors that speak OpAMP');
  addRun(agent, env, args);
  addEnroll(agent, env);
  addSimulate(agent, env);
}

function addRun(agent: Command, env: Environment, args: readonly string[]): void {
  commandsOf(agent, env)(
    'run',
    'enroll as an app, and follow its configuration until SIGTERM or SIGINT',
    ['context', 'quiet'],
    async () => {
      const { agentRun } = await import('../commands/agent/run.ts');
      return (call, command: readonly string[], options: RunOptions) => {
        refuseBeforeDashes(command, args);
        return agentRun(call, options, command);
      };
    },
  )
    .argument('[command...]', 'behind `--`: a program and its arguments, run after each change without a shell')
    .requiredOption('--credential-file <file>', 'keeps the credential; made at the enrollment, for its owner alone')
    .option('--app <id>', 'the app to enroll as', appIdOf)
    .option('--code-file <file>', CODE_FILE)
    .option('--code-stdin', CODE_STDIN, false)
    .option('--device-url <url>', DEVICE_URL, urlOf)
    .addOption(
      choice('--connection <kind>', 'whether Muster configures it, or its machine does', ['cloud', 'private']).default(
        'cloud',
      ),
    )
    .option('--otel-config <file>', "write the configuration there, as a collector's YAML")
    .option('--pipeline <signal=receivers>', "what goes to Muster's collector; repeatable (all of otlp)", pipelinesOf)
    .addOption(choice('--exporter <type>', EXPORTER, ['otlp_http', 'otlphttp'] satisfies readonly ExporterType[]))
    .option('--platform <text>', 'what it reports as its platform; that of this machine by default', reportedOf)
    .option('--agent-version <text>', 'what it reports as its version; that of this command by default', reportedOf)
    .option('--once', 'poll once, carry out what that brings, and end', false)
    .addHelpText('after', '\nThe code is needed once, where the credential file has no credential yet.');
}

/** A word of another command, in a wrong place, is no program to run after each change. @throws CommandFault */
function refuseBeforeDashes(command: readonly string[], args: readonly string[]): void {
  if (command.length === 0 || args.at(-1 - command.length) === '--') return;
  throw new CommandFault(`A program to run stands behind \`--\`, and ${command[0] ?? ''} does not.`, EXIT.usage);
}

function addEnroll(agent: Command, env: Environment): void {
  commandsOf(agent, env)(
    'enroll',
    'enroll this machine as an app, and write the configuration of the OpAMP supervisor',
    ['context', 'quiet'],
    () => import('../commands/agent/enroll.ts').then(({ agentEnroll }) => agentEnroll),
  )
    .requiredOption('--opamp <folder>', 'keeps the credential and supervisor.yaml; made for its owner alone', folderOf)
    .option('--app <id>', 'the app to enroll as', appIdOf)
    .option('--code-file <file>', CODE_FILE)
    .option('--code-stdin', CODE_STDIN, false)
    .option('--device-url <url>', DEVICE_URL, urlOf)
    .option('--endpoint <url>', 'where the supervisor asks; /v1/opamp of the device listener by default', endpointOf)
    .option('--ca-file <file>', 'PEM: the authority that signed the certificate of that listener')
    .option('--executable <file>', 'the collector; the one that its package installed by default')
    .option('--config-file <file>', "the collector's own configuration; repeatable", filesOf)
    .option(
      '--storage <folder>',
      'where the supervisor keeps what it knows; storage in the folder by default',
      folderOf,
    )
    .addHelpText('after', '\nThe code is needed once, where the folder has no enrolled credential yet.');
}

/** Adds a path to those that stand before it. */
function filesOf(path: string, before: readonly string[] = []): readonly string[] {
  if (before.length === CONFIG_FILES_MAX) throw refusedArgument(`There are at most ${CONFIG_FILES_MAX} files.`);
  return [...before, path];
}

const RECEIVERS_MAX = 16;
/** `TYPE` or `TYPE/NAME`, as the collector has ids of its components. */
const RECEIVER = /^[A-Za-z][A-Za-z0-9_]{0,62}(?:\/[A-Za-z0-9_.-]{1,128})?$/;

/** Reads `traces=otlp,jaeger`, beside those that stand before it. */
function pipelinesOf(text: string, before: readonly Pipeline[] = []): readonly Pipeline[] {
  const [, signal = '', list = ''] = /^(traces|metrics|logs)=(.+)$/.exec(text) ?? [];
  const receivers = list.split(',');
  const isKnown = receivers.length <= RECEIVERS_MAX && receivers.every((id) => RECEIVER.test(id));
  if (signal === '' || !isKnown) {
    throw refusedArgument('It is traces, metrics or logs, =, and receivers with commas, as in logs=otlp,filelog/app.');
  }
  if (before.some((pipeline) => pipeline.signal === signal)) throw refusedArgument(`${signal} is there twice.`);
  return [...before, { signal: signal as Signal, receivers }];
}

function addSimulate(agent: Command, env: Environment): void {
  const protocol = 'what they speak once they have enrolled';
  commandsOf(agent, env)(
    'simulate',
    'run many daemons in this process, and tell how long they waited for changes',
    ['url', 'context', 'output', 'quiet', 'yes'],
    () => import('../commands/agent/simulate.ts').then(({ agentSimulate }) => agentSimulate),
  )
    .requiredOption('--count <number>', 'how many daemons', wholeNumber('daemons', DAEMONS_MAX))
    .option('--duration <duration>', 'of polling; until Ctrl-C without it', durationIn('1s', SIMULATION_MAX))
    .option('--change-every <duration>', 'change the configuration so often', durationIn('1s', SIMULATION_MAX))
    .addOption(choice('--protocol <protocol>', protocol, ['device', 'opamp']).default('device'))
    .option('--interval <duration>', OPAMP_INTERVAL, durationIn('1s', SIMULATION_MAX))
    .option('--endpoint <url>', 'where agents of OpAMP ask; /v1/opamp of the device listener by default', endpointOf)
    .option('--device-url <url>', DEVICE_URL, urlOf)
    .option('--keep', 'leave the apps there at the end', false)
    .addHelpText('after', "\nIt makes an app for each daemon with the owner's API key, and deletes them at the end.");
}
