import { DEADLINES } from '../../../src/domain/limits.ts';
import type { Store } from '../../../src/store/port.ts';
import { Ledger } from '../metering/ledger.ts';
import { faultyStore, type FaultyStore } from '../store/faulty-store.ts';
import { until } from '../time/until.ts';
import { call, Muster, tenant, type MusterOptions } from './muster.ts';

interface Running extends AsyncDisposable {
  readonly muster: Muster;
  readonly store: FaultyStore;
}

/** A service with the deadlines of production, and its store. */
export async function started(options: MusterOptions): Promise<Running> {
  let store: FaultyStore | undefined;
  const muster = await Muster.start({
    deadlines: DEADLINES,
    ...options,
    wrapStore: (opened: Store) => (store = faultyStore(opened)),
  });
  if (!store) throw new Error('the store was not wrapped');
  return { muster, store, [Symbol.asyncDispose]: () => muster[Symbol.asyncDispose]() };
}

export const readiness = async (muster: Muster): Promise<number> => (await call(`${muster.ops}/readyz`)).status;

/** Load on several accounts, from before the trouble until after it. */
export async function load(muster: Muster): Promise<{ ledger: Ledger; stop: () => Promise<void> }> {
  const ledger = new Ledger();
  const stopping = new AbortController();
  const accounts = await Promise.all(Array.from({ length: 4 }, () => tenant(muster)));
  const addresses = { api: muster.api, device: muster.device, ops: muster.ops, panel: muster.panel };
  const work = accounts.flatMap((account) =>
    Array.from({ length: 3 }, () => ledger.work(addresses, account, stopping.signal)),
  );
  return {
    ledger,
    stop: async () => {
      stopping.abort();
      await Promise.all(work);
    },
  };
}

/** Resolves when the service has acknowledged more. */
export async function acknowledgesMore(ledger: Ledger): Promise<void> {
  const enough = ledger.acknowledgements + 100;
  await until(() => ledger.acknowledgements >= enough);
}
