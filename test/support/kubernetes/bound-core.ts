import type { Caller } from '../../../src/domain/apps/own-app.ts';
import { enrollBound, type GeneratedCredential } from '../../../src/domain/devices/bound-enrollment.ts';
import type { Origin } from '../../../src/domain/mutation/step.ts';
import { Refusal } from '../../../src/domain/refusal.ts';
import type { Owner } from '../../../src/domain/resource-bindings/adoption.ts';
import { createAppConsents } from '../../../src/domain/resource-bindings/app-consents.ts';
import { createBindings, type Binding } from '../../../src/domain/resource-bindings/bindings.ts';
import type { BindingRecord } from '../../../src/domain/records/binding-records.ts';
import { createBoundAccounts } from '../../../src/domain/resource-bindings/bound-accounts.ts';
import { createBoundApps } from '../../../src/domain/resource-bindings/bound-apps.ts';
import { createBoundKeys } from '../../../src/domain/resource-bindings/bound-keys.ts';
import { createGoneResources } from '../../../src/domain/resource-bindings/gone-resources.ts';
import { createOfferedNamespaces } from '../../../src/domain/resource-bindings/offered-namespaces.ts';
import type { CoreOptions } from '../../../src/service/core.ts';
import { openedCore } from '../service/opened-core.ts';
import type { Backend } from '../store/backends.ts';
import { PATIENT } from '../time/patience.ts';

export const ACCOUNT = 'a'.repeat(16);
export const OTHER = 'b'.repeat(16);
export const owner: Owner = { uid: 'uid-1', namespace: 'team', name: 'acme' };
export const wish = { name: 'acme', entitlement: 'standard', managedBy: owner } as const;

/** The tools of an operator, and an account with its binding. */
export async function operated(backend: Backend, { wrapStore }: Pick<CoreOptions, 'wrapStore'> = {}) {
  const opened = await openedCore(backend, { deadlines: PATIENT, ...(wrapStore && { wrapStore }) });
  const { core, domain } = opened;
  const { store, clock, clockWatch } = core;
  const origin = (): Origin => ({
    actor: 'kubernetes:team/FleetAccount/acme',
    requestId: 'request',
    at: clock.now(),
    deadline: clock.monotonic() + 60_000,
  });
  const bindings = createBindings(store, []);
  const accounts = createBoundAccounts({ ...domain.mutations, clockWatch });
  await accounts.create(origin(), ACCOUNT, wish, bindings.precondition(owner.uid, undefined, bindingTo(ACCOUNT)));
  const account = async (accountId = ACCOUNT) => await (await core.fleet.current()).account(accountId);
  return {
    ...domain,
    core,
    store,
    bindings,
    origin,
    account,
    boundAccounts: accounts,
    keys: createBoundKeys(domain.mutations),
    boundApps: createBoundApps({ ...domain.mutations, clockWatch, queues: domain.queues }),
    enrollBound: (caller: Caller, appId: string, credential: GeneratedCredential): Promise<void> =>
      enrollBound({ ...domain.mutations, clockWatch, metrics: core.metrics }, caller, appId, credential),
    consents: createAppConsents(domain.mutations),
    offered: createOfferedNamespaces(domain.mutations),
    gone: createGoneResources(domain.mutations),
    /** The caller of a commit after which the resource with this UID has the binding `after`. */
    caller: async (uid: string, before: Binding | undefined, after: BindingRecord | undefined): Promise<Caller> => ({
      accountId: ACCOUNT,
      authority: { precondition: bindings.precondition(uid, before, after) },
      reader: await core.fleet.current(),
      origin: origin(),
    }),
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}
export type Operated = Awaited<ReturnType<typeof operated>>;

/** A binding to the account. */
export const bindingTo = (accountId: string, more: Partial<BindingRecord> = {}): BindingRecord => ({
  kind: 'FleetApiKey',
  namespace: 'team',
  name: 'ci',
  accountId,
  generation: 1,
  ...more,
});

/** How each ended: `done`, the code of the refusal, or the name of the error. */
export const outcomes = async (work: readonly Promise<unknown>[]): Promise<string[]> =>
  (await Promise.allSettled(work)).map((settled) => {
    if (settled.status === 'fulfilled') return 'done';
    const reason: unknown = settled.reason;
    return reason instanceof Refusal ? reason.code : reason instanceof Error ? reason.name : 'thrown';
  });
