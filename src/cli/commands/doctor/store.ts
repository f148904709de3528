import { existsSync } from 'node:fs';
import type { Config } from '../../../config/config.ts';
import { fullInWords } from '../../../domain/fullness/write-class.ts';
import { keysLacking } from '../../../domain/key-rotation/keys-in-use.ts';
import { keyMissing, readActiveKey } from '../../../domain/keys/active-key.ts';
import type { KeyRing } from '../../../domain/keys/key-ring.ts';
import { parseRecord } from '../../../domain/records/codec.ts';
import { KEYS } from '../../../domain/records/keys.ts';
import { FORMAT } from '../../../domain/records/store-records.ts';
import { EMPTY_IT, otherInWords } from '../../../domain/replicas/format.ts';
import { generatedKeyPath, isUnused, lostKeyFile } from '../../../service/files/generated-secrets.ts';
import { inUseInWords } from '../../../service/files/key-file.ts';
import { openConfiguredStore } from '../../../service/open-store.ts';
import { PAGE_ENTRIES_MAX, type Store } from '../../../store/port.ts';
import { systemClock } from '../../../time/clock.ts';
import { wordsOf } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { checkThroughStore } from './deep.ts';
import { finding, type Report } from './finding.ts';
import { checkLoginsOfStore } from './logins.ts';
import { madeAtStart } from './machine.ts';

const FULLNESS_WARN = 0.7;
const UNKNOWN_FULLNESS =
  'it cannot be told how full the store is: let the user ask etcd for its status, or open /metrics of etcd to Muster';
const HELD = 'held by the running service: its findings above tell of the store';
const UNREAD = 'not read: the service may hold it, and cannot be reached; leave out --running where none runs';
/** A replica announces its clock every few seconds, so that its record may be that old. */
const CLOCK_FAIL_MS = 30_000;

/** The remedies of the runbook, under MusterStoreNearlyFull and MusterStoreFull. */
function roomInWords(backend: Store['backend'], isFull: boolean): string {
  if (backend !== 'etcd') return 'make room on its disk';
  const quota = 'raise --quota-backend-bytes of etcd, and MUSTER_ETCD_QUOTA_BYTES with it';
  if (!isFull) return `\`etcdctl defrag\` where the file is far larger than what is in use, otherwise ${quota}`;
  const order = '`etcdctl compact`, then `etcdctl defrag --cluster`, and only then `etcdctl alarm disarm`';
  return `remove what filled it, ${order}; where all of it is needed, first ${quota}`;
}

interface Known {
  readonly keyRing: KeyRing | undefined;
  /** It responds, or it is said to run elsewhere. */
  readonly serviceRuns: boolean;
  /** It responds, so that its own findings are there. */
  readonly serviceResponds: boolean;
  /** Every record is read, and where no service runs, every audit verified. */
  readonly deep: boolean;
}

/** Checks the store itself; an embedded one only while no service holds it. */
export async function checkStore(call: Invocation, config: Config, known: Known, report: Report): Promise<void> {
  const found = finding('store');
  const { store: choice } = config;
  if (choice.kind === 'sqlite' && known.serviceRuns) {
    report(known.serviceResponds ? found.ok(HELD) : found.warn(UNREAD));
    if (known.deep) report(finding('records').warn('not read: stop the service, and run this again'));
    return;
  }
  if (choice.kind === 'sqlite' && !existsSync(choice.path)) {
    return report(found.ok(`${choice.path} is made at the first start`));
  }
  try {
    const warn = (message: string): void => report(found.warn(message));
    await using store = await openConfiguredStore(config, warn, { checked: true });
    await checkOpened(store, config, known, report);
    if (known.deep) await checkThroughStore(call, store, { audits: !known.serviceRuns }, report);
  } catch (error) {
    report(found.fail(wordsOf(error)));
  }
}

/** Tells whether a key file that is not there is made at the start, or lost. */
async function checkLostKeyFile(store: Store, { files, dataDir }: Config, report: Report): Promise<void> {
  const [path, keyFile] = [generatedKeyPath(dataDir), finding('key file')];
  if (files.MUSTER_KEY_FILE !== undefined || existsSync(path)) return;
  report((await isUnused(store)) ? keyFile.ok(madeAtStart(path)) : keyFile.fail(lostKeyFile(path)));
}

async function checkOpened(
  store: Store,
  config: Config,
  { keyRing, serviceResponds }: Known,
  report: Report,
): Promise<void> {
  const found = finding('store');
  report(
    found.ok(store.backend === 'etcd' ? 'etcd responds, and its version is supported' : 'the file opens and is whole'),
  );
  await checkFormat(store, config.storeId, report);
  const fullness = store.fullness();
  const full = fullInWords(fullness);
  const mend = roomInWords(store.backend, fullness >= 1);
  if (full !== undefined) report(found.fail(`${full}; ${mend}`));
  else if (fullness >= FULLNESS_WARN) {
    report(found.warn(`the store is ${Math.floor(fullness * 100)} % full; before it is 80 %: ${mend}`));
  } else if (Number.isNaN(fullness)) report(found.warn(UNKNOWN_FULLNESS));
  if (keyRing) {
    const missing = keyMissing((await readActiveKey(store))?.record, keyRing);
    if (missing !== undefined) report(finding('keys').fail(missing));
    const lacking = await keysLacking(store, keyRing);
    if (lacking.length > 0) report(finding('keys').fail(`the key file: ${inUseInWords(lacking)}`));
  } else await checkLostKeyFile(store, config, report);
  await checkReplicas(store, report);
  if (!serviceResponds) await checkLoginsOfStore(store, report);
}

async function checkFormat(store: Store, expected: string | undefined, report: Report): Promise<void> {
  const found = finding('format');
  if (await store.get(KEYS.restoring())) return report(found.fail(`a restore was not finished. ${EMPTY_IT}`));
  const entry = await store.get(KEYS.format());
  const says = otherInWords(entry && parseRecord(KEYS.format, entry).record, expected);
  if (says !== undefined) return report(found.fail(says));
  if (!entry) return report(found.ok('the store is empty, and takes its format at the first start'));
  const { format, storeId } = parseRecord(KEYS.format, entry).record;
  if (storeId !== undefined) report(finding('store id').ok(storeId));
  if (format === FORMAT) report(found.ok(`${format}, as this program has it`));
  else if (format < FORMAT) report(found.ok(`${format}; the next start brings it to ${FORMAT}`));
  else report(found.fail(`${format} is of a newer Muster; this one knows up to ${FORMAT}: start that version`));
}

/**
 * Compares the clocks of the live replicas with this machine's. An embedded store that the doctor opens has none. A
 * store that is full keeps the announcements of before, which are behind by the time for which it is.
 */
async function checkReplicas(store: Store, report: Report): Promise<void> {
  if (store.backend === 'sqlite') return;
  const isFull = store.fullness() >= 1;
  const { entries } = await store.list({ prefix: KEYS.replica.under(), limit: PAGE_ENTRIES_MAX });
  const now = systemClock.now();
  for (const entry of entries) {
    const { replicaId, clock } = parseRecord(KEYS.replica, entry).record;
    if (Math.abs(clock - now) <= CLOCK_FAIL_MS || (isFull && clock < now)) continue;
    const off = `${Math.round(Math.abs(clock - now) / 1000)} s ${clock < now ? 'behind' : 'ahead of'}`;
    report(finding('clock').fail(`replica ${replicaId.slice(0, 8)} is ${off} this machine: set both by NTP`));
  }
}
