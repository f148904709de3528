import { runLoop } from '../controller/loop.ts';
import { FailedAttempts } from '../domain/access-audit/failed-attempts.ts';
import { createDeviceRate } from '../domain/devices/device-rate-limit.ts';
import { createLimitedAccounts } from '../domain/limited-accounts/service.ts';
import { LIMITS } from '../domain/limits.ts';
import { createWindowKeeper, readKeptWindows } from '../domain/rate-window/kept-windows.ts';
import { createLocalRateWindow, type RateWindowService } from '../domain/rate-window/local-window.ts';
import { createSharedRateWindow } from '../domain/rate-window/shared/shared-window.ts';
import { isFull } from '../store/port.ts';
import type { Core } from './domain-services.ts';

/*
 * The part of the composition root by which requests are let in: the rate window, and what this replica notes of those
 * whom it keeps out. What it notes is published with its announcement.
 */

/** Publishes from now on the failed secrets that this replica counts. */
export function createFailedAttempts({ clock, replicas }: Pick<Core, 'clock' | 'replicas'>): FailedAttempts {
  const attempts = new FailedAttempts(clock);
  replicas.publish(() => attempts.published());
  return attempts;
}

/** The guards of an account against a user of its own who asks without pause. */
export const createPanelRates = ({ clock }: Pick<Core, 'clock'>) => ({
  changes: createDeviceRate(LIMITS.panelRequestsPerMinute, clock),
  batches: createDeviceRate(LIMITS.panelBatchesPerMinute, clock),
  reads: createDeviceRate(LIMITS.panelReadsPerMinute, clock),
});

/** Count what each address tries and asks for on the panel's listener without a session. */
export const createAddressRates = (
  { clock }: Pick<Core, 'clock'>,
  { signInsPerAddress }: { readonly signInsPerAddress: number },
) => ({
  attempts: createDeviceRate(signInsPerAddress, clock),
  asks: createDeviceRate(LIMITS.signInAsksPerAddressPerMinute, clock),
});

/** The rate window, and who is limited by it. @throws StoreUnavailable as `createRateWindow` */
export async function createRateServices(core: Core) {
  const rateWindow = await createRateWindow(core);
  return {
    rateWindow,
    limitedAccounts: createLimitedAccounts({ ...core, fills: () => rateWindow.window.fills() }),
  };
}

/**
 * H13: one process counts exactly, in memory; on a store that replicas share they may share the window, too. An
 * embedded store keeps the windows through a crash.
 * @throws StoreUnavailable when the windows that were kept cannot be read, or written anew for another reason than room
 */
async function createRateWindow(core: Core): Promise<RateWindowService> {
  const { config, store, clock, log } = core;
  if (store.backend !== 'sqlite' && config.rateWindow === 'shared') {
    const shared = createSharedRateWindow(core);
    return { window: shared, run: (signal) => shared.run(signal), finish: () => shared.finish() };
  }
  const isKept = store.backend === 'sqlite';
  const window = createLocalRateWindow(clock, isKept ? createWindowKeeper(core) : undefined);
  if (isKept) {
    window.restore(await readKeptWindows(core));
    // Units that a crash left open are settled once, whatever ends this process. A full disk does not take it: the next
    // start then counts them as spent anew.
    await window.save().catch((error: unknown) => {
      if (!isFull(error)) throw error;
    });
  }
  const forgetting = { name: 'rate-windows', everyMs: LIMITS.rateWindowMs, reconcile: () => window.forget() } as const;
  return {
    window,
    run: (signal) => runLoop(core, forgetting, signal),
    // A disk that is full must not keep the process from ending.
    finish: () =>
      window.save().catch((error: unknown) => {
        log.warn({ err: error }, 'the rate windows could not be saved: the next start counts more than was spent');
      }),
  };
}
