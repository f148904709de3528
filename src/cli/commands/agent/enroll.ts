import { accessSync, constants, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { DeviceClient } from '#client';
import { CLIENT } from '../../../config/client-variables.ts';
import { ConfigError } from '../../../config/files/config-error.ts';
import { writableByOthers } from '../../../config/files/trusted-file.ts';
import { supervisorFile } from '../../../opamp/supervisor-file.ts';
import { makeDirectories } from '../../../service/files/directories.ts';
import { enrolledIdentity, type CodeSource } from '../../agent/enrollment.ts';
import { trustAuthority, type Address } from '../../connection/address.ts';
import { isServiceUrl } from '../../connection/context-file.ts';
import { fetchNamed } from '../../connection/unreachable.ts';
import { CommandFault, EXIT, fileTrouble } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { onInterruption } from '../../terminal/signals.ts';
import {
  codeSource,
  commandFault,
  deviceAddress,
  OPAMP_PATH,
  surroundingsOf,
  type CodeOptions,
} from './surroundings.ts';

export interface EnrollOptions extends CodeOptions {
  /** The folder of the credential and of the supervisor's configuration. */
  readonly opamp: string;
  readonly app?: string;
  readonly deviceUrl?: string;
  readonly endpoint?: string;
  readonly caFile?: string;
  readonly executable?: string;
  readonly configFile?: readonly string[];
  readonly storage?: string;
}

/**
 * `muster agent enroll --opamp`: enrolls on this machine, and writes the configuration of the OpAMP supervisor with the
 * credential. Everything that a person can have mistaken is judged before the code is used. Run again, it goes on where
 * it was killed, and needs no code once it has enrolled.
 * @throws CommandFault; ConfigError; the system's error of a file
 */
export async function agentEnroll(call: Invocation, options: EnrollOptions): Promise<void> {
  const code = codeSource(options);
  const { address, endpoint } = serviceOf(call, options);
  trustAuthority(address);
  const executable = options.executable === undefined ? usualCollector() : collectorAt(resolve(options.executable));
  const configFiles = (options.configFile ?? []).map((path) => readable(resolve(path)));
  const folder = withoutColon('--opamp', resolve(options.opamp));
  const storage = withoutColon('--storage', resolve(options.storage ?? join(folder, 'storage')));
  makePrivate(folder);
  const credential = await credentialIn(folder, call, options, address, code);
  const path = join(folder, 'supervisor.yaml');
  const text = supervisorFile({
    endpoint,
    credential,
    executable,
    storage,
    authorityFile: endpoint.startsWith('https:') ? address.caFiles?.[0] : undefined,
    configFiles,
  });
  await surroundingsOf(call).files.replace(path, text);
  call.say(`${path} is written: start the supervisor with it.`);
}

/** The credential that the service has bound, which lies in its file then. */
async function credentialIn(
  folder: string,
  call: Invocation,
  { app: appId }: EnrollOptions,
  address: Address,
  source: CodeSource | undefined,
): Promise<string> {
  const credentialFile = join(folder, 'credential');
  let isCodeRead = false;
  const code = source && {
    from: source.from,
    read: async () => {
      isCodeRead = true;
      return await source.read();
    },
  };
  // A collector tells its own version once it is connected.
  const about = { platform: `${process.platform}/${process.arch}`, agentVersion: '' };
  const device = new DeviceClient({ url: address.url, fetch: fetchNamed(address, false) });
  const again = `Stopped. Run it again: it goes on with the credential of ${credentialFile}, if that is there.`;
  using interruption = onInterruption(new CommandFault(again));
  const { signal } = interruption;
  try {
    const enrollment = { credentialFile, appId, code, connection: 'cloud', once: true, ...about } as const;
    const { credential } = await enrolledIdentity(device, enrollment, surroundingsOf(call), signal);
    if (code && !isCodeRead) {
      call.say(
        `${credentialFile} has enrolled already, and the code is left as it is. To enroll anew, remove that file.`,
      );
    }
    return credential;
  } catch (error) {
    signal.throwIfAborted();
    throw commandFault(error);
  }
}

/**
 * The device listener, at which the machine enrolls, and the URL that the supervisor asks.
 * @throws ConfigError; CommandFault
 */
function serviceOf(call: Invocation, options: EnrollOptions): { readonly address: Address; readonly endpoint: string } {
  const found = deviceAddress(call, options.deviceUrl);
  const caFiles = options.caFile === undefined ? found.caFiles : [options.caFile];
  const address = { ...found, ...(caFiles && { caFiles: caFiles.map((path) => resolve(path)) }) };
  const endpoint = options.endpoint ?? `${found.url}${OPAMP_PATH}`;
  if (endpoint.startsWith('https:') && (caFiles?.length ?? 0) > 1) {
    throw new ConfigError(`${CLIENT.caFile}: a supervisor reads one file: name it with --ca-file`);
  }
  if (!isServiceUrl(endpoint))
    throw new ConfigError('--endpoint: must be http://HOST:PORT/PATH or https://HOST:PORT/PATH');
  if (options.caFile !== undefined && ![found.url, endpoint].some((url) => url.startsWith('https:'))) {
    throw new CommandFault('--ca-file is for an address that begins with https://, and there is none.', EXIT.usage);
  }
  return { address, endpoint };
}

/** The paths at which the collector lies where a package of a distribution, or a person with an archive, put it. */
export const COLLECTORS: readonly string[] = ['/usr/bin', '/usr/local/bin'].flatMap((folder) =>
  // The distribution `otelcol-contrib` has the most components.
  ['otelcol-contrib', 'otelcol'].map((name) => join(folder, name)),
);

/** The first collector that is there. @throws CommandFault that names the option */
export function usualCollector(places: readonly string[] = COLLECTORS): string {
  const found = places.find((path) => statSync(path, { throwIfNoEntry: false })?.isFile());
  if (found !== undefined) return collectorAt(found);
  throw new CommandFault(`No collector is at ${places.join(', ')}: give its path by --executable.`, EXIT.usage);
}

/** The supervisor would end at once where its collector is no program. @throws CommandFault */
function collectorAt(path: string): string {
  const why = troubleOf(path, constants.X_OK);
  if (why === undefined) return path;
  throw new CommandFault(`${path}: ${why}. Give the path of a collector by --executable.`, EXIT.usage);
}

/** The supervisor would leave out a file that it cannot read, and go on. @throws CommandFault */
function readable(path: string): string {
  const why = troubleOf(path, constants.R_OK);
  if (why === undefined) return path;
  throw new CommandFault(`${path}: ${why}. Give files of the collector by --config-file.`, EXIT.usage);
}

/** Why a path is no file that this user may use so, in words; undefined where it is one. */
function troubleOf(path: string, mode: number): string | undefined {
  try {
    if (!statSync(path).isFile()) return 'it is no file';
    accessSync(path, mode);
    return undefined;
  } catch (error) {
    return fileTrouble((error as NodeJS.ErrnoException).code ?? 'unknown');
  }
}

/** The supervisor and its collector read the paths of their configurations as URIs. @throws CommandFault */
function withoutColon(option: '--opamp' | '--storage', path: string): string {
  if (!path.includes(':')) return path;
  throw new CommandFault(
    `${path} has a colon, with which the supervisor finds nothing: name another by ${option}.`,
    EXIT.usage,
  );
}

/**
 * Makes the folder for its owner alone where it is missing. One that others can write is refused: they could choose
 * which program the supervisor starts.
 * @throws CommandFault; the system's error
 */
function makePrivate(path: string): void {
  const there = statSync(path, { throwIfNoEntry: false });
  if (there && !there.isDirectory()) {
    throw new CommandFault(`${path} is no folder: name another one by --opamp.`, EXIT.usage);
  }
  if (!there) makeDirectories(path);
  const why = writableByOthers(path);
  if (why !== undefined) throw new CommandFault(why, EXIT.usage);
}
