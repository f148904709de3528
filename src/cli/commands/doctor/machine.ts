import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { access, constants, statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
import process from 'node:process';
import { LISTENER_NAMES, listenVariable, type ListenerName } from '../../../config/listeners.ts';
import type { Config, ListenAddress } from '../../../config/config.ts';
import { plantedByOthers } from '../../../config/files/trusted-file.ts';
import { parseKeyRing, type KeyRing } from '../../../domain/keys/key-ring.ts';
import { generatedKeyPath, lostKeyFile } from '../../../service/files/generated-secrets.ts';
import { parseCertificate } from '../../../service/files/tls-certificate.ts';
import { systemClock } from '../../../time/clock.ts';
import { DAY_MS } from '../../../time/utc-days.ts';
import { VERSION } from '../../../version.ts';
import { fileTrouble, wordsOf } from '../../terminal/exit.ts';
import { finding, type Report } from './finding.ts';

const NODE_MAJOR = 24;
const MIB = 1024 * 1024;
/** cert-manager renews a certificate of 90 days when 30 are left: with 14 left a renewal has failed. */
const CERTIFICATE_WARN_MS = 14 * DAY_MS;
const FREE_FAIL_BYTES = 64 * MIB;
const FREE_WARN_BYTES = 1024 * MIB;

/** The checks of this machine depend on whether the service runs, and where. */
interface Whereabouts {
  /** It runs, here or elsewhere: its ports are taken, and its key file is there. */
  readonly serviceRuns: boolean;
  /** It runs elsewhere, and so is its data directory. */
  readonly elsewhere: boolean;
}

/**
 * Checks this machine: the program, the key file, the certificates, the data directory, the ports.
 * @returns the keys of the key file where it can be read
 */
export async function checkMachine(
  config: Config,
  { serviceRuns, elsewhere }: Whereabouts,
  report: Report,
): Promise<KeyRing | undefined> {
  checkProgram(report);
  const keyRing = checkKeyFile(config, serviceRuns, report);
  checkCertificates(config, report);
  if (config.store.kind === 'sqlite' && !elsewhere) await checkDisk(dirname(config.store.path), report);
  if (serviceRuns) return keyRing;
  for (const name of LISTENER_NAMES) {
    const address = config.listen[name];
    if (address) await checkPort(name, address, report);
  }
  return keyRing;
}

export function checkProgram(report: Report): void {
  const program = finding('version');
  if (Number(process.versions.node.split('.')[0]) >= NODE_MAJOR) {
    report(program.ok(`Muster ${VERSION} on Node ${process.versions.node}`));
  } else report(program.fail(`Node ${process.versions.node} is too old: Muster needs ${NODE_MAJOR}`));
}

function checkKeyFile(config: Config, serviceRuns: boolean, report: Report): KeyRing | undefined {
  const { files, dataDir, store } = config;
  const configured = files.MUSTER_KEY_FILE;
  const keyFile = finding('key file');
  const path = configured?.path ?? generatedKeyPath(dataDir);
  try {
    const keyRing = parseKeyRing(readFileSync(path, 'utf8'));
    const planted = configured === undefined ? plantedByOthers(path) : undefined;
    if (planted !== undefined) throw new Error(planted);
    const { mode: type, uid } = statSync(path);
    const mode = type & 0o777;
    // A file that a platform mounts belongs to another user, and its group may read it.
    const exposed = uid === process.getuid?.() ? 0o077 : 0o007;
    const has = `${path} has key ${keyRing.numbers.join(', ')}`;
    if ((mode & exposed) === 0) report(keyFile.ok(has));
    else report(keyFile.warn(`${has}, and others may read it (mode ${mode.toString(8)}): chmod 600 ${path}`));
    return keyRing;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' || configured !== undefined) {
      report(keyFile.fail(`${path}: ${code === undefined ? (error as Error).message : fileTrouble(code)}`));
    } else if (serviceRuns) report(keyFile.fail(lostKeyFile(path)));
    else if (store.kind !== 'sqlite' || !existsSync(store.path)) report(keyFile.ok(madeAtStart(path)));
    // Otherwise the store tells whether a service has used it (store.ts).
    return undefined;
  }
}

export const madeAtStart = (path: string): string => `${path} is made at the first start`;

function checkCertificates({ tls }: Config, report: Report): void {
  const certificate = finding('certificate');
  for (const [listener, paths] of Object.entries(tls)) {
    if (!paths) continue;
    try {
      const pair = { cert: readFileSync(paths.certificate), key: readFileSync(paths.key) };
      const leftMs = parseCertificate(pair).expiresAt - systemClock.now();
      const says = `that of the ${listener} listener is valid for ${Math.floor(leftMs / DAY_MS)} days`;
      if (leftMs <= 0) report(certificate.fail(`that of the ${listener} listener has expired: renew it`));
      else if (leftMs < CERTIFICATE_WARN_MS) report(certificate.warn(`${says}: see why it was not renewed`));
      else report(certificate.ok(says));
    } catch (error) {
      report(certificate.fail(`${listener}: ${wordsOf(error)}`));
    }
  }
}

async function checkDisk(directory: string, report: Report): Promise<void> {
  const disk = finding('disk');
  try {
    await access(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    const { bavail, bsize } = await statfs(directory);
    const free = bavail * bsize;
    const says = `${directory} has ${Math.floor(free / MIB)} MiB free`;
    if (free < FREE_FAIL_BYTES) report(disk.fail(`${says}: the store cannot write for long; make room`));
    else if (free < FREE_WARN_BYTES)
      report(disk.warn(`${says}: a purge builds the store's file anew and needs its size`));
    else report(disk.ok(says));
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') report(disk.ok(`${directory} is made at the first start`));
    else report(disk.fail(`${directory}: ${fileTrouble(code)}`));
  }
}

async function checkPort(name: ListenerName, { host, port }: ListenAddress, report: Report): Promise<void> {
  const listener = finding('port');
  const server = createServer().listen(port, host);
  try {
    await once(server, 'listening');
    report(listener.ok(`${host}:${port} is free for ${name}`));
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    const why = code === 'EADDRINUSE' ? 'is taken by another program' : `cannot be listened on (${code})`;
    report(listener.fail(`${host}:${port} ${why}: set ${listenVariable(name)}`));
  } finally {
    server.close();
  }
}
