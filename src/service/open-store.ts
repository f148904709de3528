import { dirname } from 'node:path';
import type { Config } from '../config/config.ts';
import type { EtcdAccess } from '../config/etcd.ts';
import { DEADLINES, type Deadlines } from '../domain/limits.ts';
import type { Log } from '../log.ts';
import type { StoreMark } from '../store/mark.ts';
import type { EtcdOptions } from '../store/etcd/etcd-store.ts';
import { StoreUnavailable, type Store } from '../store/port.ts';
import { openSqliteStore } from '../store/sqlite/sqlite-store.ts';
import type { Clock } from '../time/clock.ts';
import { faultOfAddresses } from './etcd-address.ts';
import { makeDirectories } from './files/directories.ts';

/** The store to open; this file is the only one that names the back-ends. */
export type StoreChoice =
  | { readonly kind: 'sqlite'; readonly path: string; readonly checked?: boolean }
  | ({ readonly kind: 'etcd' } & EtcdOptions);

/** The surroundings of the wait for a store. */
interface RetryDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Aborts when the process is asked to end. */
  readonly signal?: AbortSignal | undefined;
  /** Is told why the store cannot be opened yet. */
  readonly waiting?: (cause: Error) => void;
}

/**
 * A store that is started together with the service answers within this time; after it a supervisor restarts the
 * process.
 */
const RETRY_FOR_MS = 30_000;
const PAUSE_MS = 1000;

/**
 * Opens a store. What speaks to etcd is loaded with the first etcd that is opened: gRPC and protobuf would be a sixth
 * of the processor time of an embedded start.
 * @throws StoreUnavailable, or Error in words when the store is there but cannot be used
 */
export async function openStore(choice: StoreChoice): Promise<Store> {
  if (choice.kind === 'sqlite') return await openSqliteStore(choice.path, choice);
  const { openEtcdStore } = await import('../store/etcd/etcd-store.ts');
  return await openEtcdStore(choice);
}

interface HowToOpen extends Partial<Pick<Deadlines, 'storeMs'>> {
  /** Tells the store from another one, for a process that goes on while the store might be lost. */
  readonly mark?: StoreMark;
  /** Checks the file of an embedded store however large it is. */
  readonly checked?: boolean;
  /** The access to etcd at present; by default the one that the files had at the start. */
  readonly access?: () => EtcdAccess | undefined;
  /** Is handed what renews the access to etcd while the store is open. */
  readonly renewable?: EtcdOptions['renewable'];
}

/**
 * Opens the store that the configuration names; an embedded one is created where there is none.
 * @param warn is called with each sentence about a fault that the service can live with
 * @throws StoreUnavailable, which tells what is wrong with the address of etcd where that can be found out; Error in
 * words when the store is there but cannot be used
 */
export async function openConfiguredStore(
  { store }: Pick<Config, 'store'>,
  warn: (message: string) => void,
  { storeMs = DEADLINES.storeMs, mark, checked = false, access = () => undefined, renewable }: HowToOpen = {},
): Promise<Store> {
  if (store.kind === 'sqlite') {
    makeDirectories(dirname(store.path));
    return await openStore({ ...store, checked });
  }
  const { endpoints, prefix, quotaBytes } = store;
  const { tls, auth } = access() ?? store;
  try {
    return await openStore({
      kind: 'etcd',
      endpoints,
      prefix,
      quotaBytes,
      warn,
      deadlineMs: storeMs,
      ...(mark && { mark }),
      ...(tls && { tls }),
      ...(auth && { auth }),
      ...(renewable && { renewable }),
    });
  } catch (error) {
    throw (isSilent(error) ? await faultOfAddresses(endpoints, tls) : refusal(error)) ?? error;
  }
}

/**
 * Opens the store of a service that starts, and tries again for at most 30 s while it does not answer.
 * @throws StoreUnavailable when the time is over, or the store refuses; any other error of `open` at once
 */
export async function openWithRetry(open: () => Promise<Store>, deps: RetryDeps): Promise<Store> {
  const { clock, log, signal, waiting } = deps;
  const end = clock.monotonic() + RETRY_FOR_MS;
  for (let tries = 1; ; tries += 1) {
    try {
      return await open();
    } catch (error) {
      if (!isSilent(error) || signal?.aborted === true || clock.monotonic() + PAUSE_MS > end) throw error;
      waiting?.(error);
      if (tries === 1) log.warn({ err: error, retryForMs: RETRY_FOR_MS }, 'the store does not answer yet, will retry');
      await clock.sleep(PAUSE_MS, signal);
    }
  }
}

const isSilent = (error: unknown): error is StoreUnavailable =>
  error instanceof StoreUnavailable && (error.reason === 'unreachable' || error.reason === 'timeout');

/** The refusal of a user by etcd, with what to do. */
function refusal(error: unknown): StoreUnavailable | undefined {
  if (!(error instanceof StoreUnavailable && error.reason === 'refused')) return undefined;
  const mend =
    'correct MUSTER_ETCD_USERNAME and MUSTER_ETCD_PASSWORD_FILE, or let the user read and write under MUSTER_ETCD_PREFIX';
  return new StoreUnavailable('refused', `${error.message}: ${mend}`, { cause: error });
}
