import { setImmediate as nextTurn } from 'node:timers/promises';
import { HEAD_KEY, PAGE_ENTRIES_MAX, StoreUnavailable, type Entry, type Page, type Store } from '../../store/port.ts';
import { auditExport, type AuditedExportsDeps } from '../access-audit/audited-exports.ts';
import { generateMarker } from '../credentials/random-ids.ts';
import { pinRevision } from '../history/revision-pins.ts';
import { readActiveKey } from '../keys/active-key.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import type { Origin } from '../mutation/step.ts';
import { OPERATOR_AUDIT } from '../records/audit-records.ts';
import { idempotencyScope } from '../records/idempotency-records.ts';
import { KEYS } from '../records/keys.ts';
import type { Declared } from '../records/registry.ts';
import { FORMAT } from '../records/store-records.ts';
import { keyIsMissing } from '../refusal.ts';
import { noteBackup } from './last-backup.ts';
import { BACKUP_FORMAT, BackupWriter, type BackupSnapshot, type SigningKey } from './file-format.ts';

interface BackupDeps extends AuditedExportsDeps {
  readonly keyRing: KeyRing;
  readonly version: string;
}

/** A snapshot of the store at one revision, while writes go on. Disposing of it releases the history. */
interface Backup extends AsyncDisposable {
  /**
   * The text in pieces; each is read from the store when it is asked for. The last piece is a trailer, or says why the
   * store could not be read further: StoreUnavailable is never thrown.
   */
  pieces(): AsyncGenerator<string, void>;
}

/** Makes backups of the store. */
export interface Backups {
  /**
   * Begins a backup of the store as it is now. Only one runs at a time: `busy` while another one is not disposed of. It
   * is in the audit of the service before anything of it leaves the service.
   * @param options.counted whether the entries are counted first, so that the header has their number and a client can
   *   show the progress
   * @throws StoreUnavailable; Busy; ConfigurationFault where this replica does not have the active key
   */
  begin(options: { readonly counted: boolean; readonly origin: Origin }): Promise<Backup | 'busy'>;
}

const PATTERNS_LEFT_OUT = Object.values<Declared>(KEYS)
  .filter(({ backup }) => backup === 'left out')
  .map(({ pattern }) => pattern);
const LEFT_OUT: ReadonlySet<string> = new Set([HEAD_KEY, ...PATTERNS_LEFT_OUT]);
/** Keys of a newer version that begin so are left out, too. */
const LEFT_OUT_RANGES: readonly string[] = [
  ...PATTERNS_LEFT_OUT.filter((pattern) => pattern.includes('<')).map((pattern) =>
    pattern.slice(0, pattern.indexOf('<')),
  ),
  // The operator's creates: their answers hold API keys, which outlive the store, and nothing else in a backup does.
  idempotencyScope(OPERATOR_AUDIT),
  `${KEYS.idempotencySlot.under()}${OPERATOR_AUDIT}-`,
];

/**
 * Whether a key is not part of a backup: it belongs to this store and its processes, or a restore must not bring it
 * back to life, as a session. The header has the `format`.
 */
export const isLeftOut = (key: string): boolean =>
  LEFT_OUT.has(key) || LEFT_OUT_RANGES.some((prefix) => key.startsWith(prefix));

/** So small that requests wait for a page for a few milliseconds at most. */
const PAGE_ENTRIES = 200;
const COUNTED_ENTRIES = PAGE_ENTRIES_MAX;

/** Creates the backups of a store; see `Backups`. */
export function createBackups(deps: BackupDeps): Backups {
  let underWay = false;
  return {
    async begin(options) {
      if (underWay) return 'busy';
      underWay = true;
      await using opened = new AsyncDisposableStack();
      opened.defer(() => {
        underWay = false;
      });
      const signer = await signingKey(deps);
      const { revision } = opened.use(await pinRevision(deps.store, deps.clock, generateMarker(deps.random)));
      const header = {
        muster: 'backup',
        format: BACKUP_FORMAT,
        recordsFormat: FORMAT,
        revision,
        at: new Date(deps.clock.now()).toISOString(),
        backend: deps.store.backend,
        version: deps.version,
      } as const;
      const entries = options.counted ? await countAt(deps.store, revision) : undefined;
      await auditExport(deps, 'backup', options.origin, { revision, keyNumber: signer.number });
      const resources = opened.move();
      return {
        pieces: () => pieces(deps, signer, { ...header, ...(entries !== undefined && { entries }) }),
        [Symbol.asyncDispose]: () => resources.disposeAsync(),
      };
    },
  };
}

/** The active key, which every live replica has. @throws StoreUnavailable; ConfigurationFault */
async function signingKey({ store, keyRing }: BackupDeps): Promise<SigningKey> {
  const number = (await readActiveKey(store))?.record.number ?? keyRing.newest;
  const key = keyRing.key(number);
  if (!key) throw keyIsMissing(number);
  return { number, key, fingerprint: keyRing.fingerprint(number) ?? '' };
}

async function* pieces(
  { store, log }: BackupDeps,
  signer: SigningKey,
  snapshot: BackupSnapshot,
): AsyncGenerator<string, void> {
  const writer = new BackupWriter(signer);
  yield writer.header(snapshot);
  try {
    for await (const entries of pagesAt(store, snapshot.revision, { limit: PAGE_ENTRIES }))
      yield writer.entries(entries);
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    yield writer.failure(error instanceof Compacted ? error.message : 'the store is unavailable; try again later.');
    return;
  }
  yield writer.trailer();
  const told = { revision: snapshot.revision, keyNumber: signer.number };
  log.info(told, 'a backup was sent whole');
  await noteBackup(store, Date.parse(snapshot.at)).catch((error: unknown) => {
    log.warn({ err: error, ...told }, 'the metrics do not know of this backup: it could not be noted');
  });
}

/** The history was compacted in spite of the pin: by another user of that etcd, or after `PINNED_MS_MAX`. */
class Compacted extends StoreUnavailable {
  constructor() {
    super('failed', 'the history of the store was compacted meanwhile; run it again.');
  }
}

async function* pagesAt(
  store: Store,
  revision: number,
  how: { readonly limit: number; readonly keysOnly?: boolean },
): AsyncGenerator<readonly Entry[], void> {
  let after: string | undefined;
  do {
    const page: Page | 'compacted' = await store.listAt({ prefix: '', ...how, after }, revision);
    if (page === 'compacted') throw new Compacted();
    yield page.entries.filter(({ key }) => !isLeftOut(key));
    after = page.next;
  } while (after !== undefined);
}

async function countAt(store: Store, revision: number): Promise<number> {
  let count = 0;
  for await (const { length } of pagesAt(store, revision, { limit: COUNTED_ENTRIES, keysOnly: true })) {
    count += length;
    await nextTurn();
  }
  return count;
}
