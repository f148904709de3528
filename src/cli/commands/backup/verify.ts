import { statSync } from 'node:fs';
import type { BackupHeader } from '../../../domain/backup/file-format.ts';
import { checkBackup, type BackupTrust, type Checked } from '../../../domain/backup/restore.ts';
import { systemRandom } from '../../../domain/credentials/random-ids.ts';
import type { KeyRing } from '../../../domain/keys/key-ring.ts';
import { readKeyFile } from '../../../service/files/configured-key-file.ts';
import type { Column } from '../../output/columns.ts';
import { printOne } from '../../output/print.ts';
import { CommandFault, requireWholeStdout } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { createProgress } from '../../terminal/progress.ts';
import { onInterruption } from '../../terminal/signals.ts';
import { asVerdict, bytesIn, counting } from './reading.ts';
import { opensBy, trustOf, type TrustOptions } from './trust.ts';

interface Verified {
  readonly file: string;
  readonly at: string;
  readonly entries: number;
  readonly revision: number;
  readonly backend: string;
  readonly version: string;
  /** The number of the key that signed the backup; null where none did. */
  readonly key: number | null;
  readonly signature: 'verified' | 'vouched for by its SHA-256' | 'not verified';
  /** Collector headers that no key of this place opens. */
  readonly unopened: number;
  readonly sha256: string;
}

const COLUMNS: readonly Column<Verified>[] = [
  { head: 'FILE', field: 'file' },
  { head: 'AT', field: 'at', kind: 'time' },
  { head: 'ENTRIES', field: 'entries' },
  { head: 'REVISION', field: 'revision' },
  { head: 'BACKEND', field: 'backend' },
  { head: 'VERSION', field: 'version' },
  { head: 'KEY', field: 'key' },
  { head: 'SIGNATURE', field: 'signature' },
  { head: 'UNOPENED HEADERS', field: 'unopened' },
  { head: 'SHA-256', field: 'sha256' },
];

/**
 * `muster backup verify FILE`: checks a file as a restore does before it writes, without a store and without a service.
 * @throws CommandFault with exit code 3 where a restore would refuse it; ConfigError; the system's error
 */
export async function verifyBackup(call: Invocation, path: string, options: TrustOptions): Promise<void> {
  requireWholeStdout();
  const ring = (await readKeyFile(call.env))?.ring;
  const trust = trustOf(ring, options);
  // Without any key, damage is all that can be found.
  const proof = trust.keyRing || trust.sha256 !== undefined ? trust : undefined;
  const checked = await checkedFile(call, path, proof, ring);
  const item = verifiedOf(path, checked, proof);
  if (!proof) {
    call.say(
      'The signature is not verified, since there is no key file: set MUSTER_KEY_FILE, or name one by --key-file.',
    );
  }
  await printOne(call, { columns: COLUMNS, id: ({ sha256 }) => sha256, item });
}

async function checkedFile(
  call: Invocation,
  path: string,
  trust: BackupTrust | undefined,
  ring: KeyRing | undefined,
): Promise<Checked> {
  const { size } = statSync(path);
  using interruption = onInterruption(new CommandFault('interrupted.'));
  using progress = createProgress('bytes', { quiet: call.globals.quiet });
  progress.total(size);
  const read = counting(progress, interruption.signal);
  const random = systemRandom();
  const rules = { random, trust, opens: opensBy(ring ?? trust?.keyRing, random), keepCodes: true };
  return await checkBackup(rules, () => read(bytesIn(path))).catch(asVerdict);
}

function verifiedOf(
  file: string,
  { header, entries, unopened, sha256 }: Checked,
  trust: BackupTrust | undefined,
): Verified {
  const { at, revision, backend, version, key } = header;
  return {
    file,
    at,
    entries,
    revision,
    backend,
    version,
    key: key.number,
    signature: signatureOf(key, trust),
    unopened,
    sha256,
  };
}

function signatureOf(key: BackupHeader['key'], trust: BackupTrust | undefined): Verified['signature'] {
  if (trust?.keyRing?.fingerprint(key.number) === key.fingerprint) return 'verified';
  return trust?.sha256 === undefined ? 'not verified' : 'vouched for by its SHA-256';
}
