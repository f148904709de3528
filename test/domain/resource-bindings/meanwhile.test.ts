import { expect, test } from 'vitest';
import { ACCOUNT, operated, outcomes, owner, type Operated } from '../../support/kubernetes/bound-core.ts';
import { onEachBackend, type Backend } from '../../support/store/backends.ts';
import { DuringReads } from '../../support/store/during-reads.ts';
import { until } from '../../support/time/until.ts';

/*
 * A change of an account that waits for a read of the store while another change of the account is committed, and
 * reaches memory. Whichever read it is, both are there in the end.
 */

const APP = 'a'.repeat(20);

/** A change that is made for a custom resource, or by the operator. */
interface Change {
  readonly name: string;
  /** Makes the account ready for the change. */
  prepare?(it: Operated): Promise<void>;
  make(it: Operated): Promise<unknown>;
  /** The fields of the account after it. */
  readonly effect: object;
  /** How it ends where the account is disabled meanwhile. */
  readonly whenDisabled: string;
}

const preconditionOf = async (it: Operated, uid = owner.uid) =>
  it.bindings.precondition(uid, await it.bindings.get(uid), undefined);

const CHANGES: readonly Change[] = [
  {
    name: 'the release of an account, which disables it',
    make: async (it) => await it.boundAccounts.release(it.origin(), ACCOUNT, owner, true, await preconditionOf(it)),
    effect: { disabled: true },
    whenDisabled: 'done',
  },
  {
    name: 'the adoption of an account',
    prepare: async (it) => {
      await it.accounts.change(it.origin(), ACCOUNT, { adoptableBy: 'team/heir' });
    },
    make: async (it) => {
      const heir = { uid: 'uid-heir', namespace: 'team', name: 'heir', namespaceUid: 'ns-1' };
      await it.boundAccounts.adopt(it.origin(), ACCOUNT, heir, await preconditionOf(it, heir.uid));
    },
    effect: { managedBy: expect.objectContaining({ uid: 'uid-heir' }) as object },
    whenDisabled: 'done',
  },
  {
    name: 'the removal of the binding of a resource that is gone',
    make: async (it) => {
      const binding = await it.bindings.get(owner.uid);
      if (!binding) throw new Error('there is no binding');
      await it.gone.forget(it.origin(), it.bindings, { uid: owner.uid, ...binding });
    },
    effect: { managedBy: undefined },
    whenDisabled: 'done',
  },
  {
    name: 'a disabling by the operator',
    make: async (it) => await it.accounts.change(it.origin(), ACCOUNT, { disabled: true }),
    effect: { disabled: true },
    whenDisabled: 'done',
  },
  {
    name: 'the enrollment of an app by the operator of custom resources',
    prepare: async (it) => await it.boundApps.create(await it.caller('uid-app', undefined, undefined), APP, 'edge'),
    make: async (it) =>
      await it.enrollBound(await it.caller('uid-app', undefined, undefined), APP, {
        hash: 'h'.repeat(43),
        before: { status: 'pending', credential: undefined },
      }),
    effect: {},
    whenDisabled: 'account_disabled',
  },
];

const fieldsOf = async (it: Operated): Promise<object> => ({ managedBy: undefined, ...(await it.account())?.record });

/** More reads than any of the changes makes. */
const READS_MAX = 20;

/** Makes the change again and again, on a store of its own, with the other one after its first read, its second, … */
async function afterEachRead(
  backend: Backend,
  change: Change,
  other: (it: Operated) => Promise<unknown>,
  judge: (it: Operated, outcome: string | undefined) => Promise<void>,
): Promise<number> {
  for (let read = 1; read <= READS_MAX; read += 1) {
    const reads = new DuringReads();
    await using it = await operated(backend, { wrapStore: reads.wrapStore });
    await change.prepare?.(it);
    reads.at(read, async () => {
      await other(it);
      const revision = (await it.account())?.revision ?? 0;
      await until(() => it.core.fleet.memory.account(ACCOUNT)?.revision === revision);
    });
    const [outcome] = await outcomes([change.make(it)]);
    if (!reads.end()) return read - 1;
    await judge(it, outcome);
  }
  throw new Error('The change reads more often than this test expects.');
}

onEachBackend('a change of an account that another change overtakes', (backend) => {
  test.each(CHANGES)('keeps a new name: $name', async (change) => {
    const rename = async (it: Operated) => await it.accounts.change(it.origin(), ACCOUNT, { name: 'renamed' });
    const reads = await afterEachRead(backend, change, rename, async (it, outcome) => {
      expect(outcome).toBe('done');
      expect(await fieldsOf(it)).toMatchObject({ name: 'renamed', ...change.effect });
    });
    expect(reads).toBeGreaterThan(0);
  });

  test.each(CHANGES)('keeps a disabling, and is judged by it: $name', async (change) => {
    const disable = async (it: Operated) => await it.accounts.change(it.origin(), ACCOUNT, { disabled: true });
    await afterEachRead(backend, change, disable, async (it, outcome) => {
      expect(outcome).toBe(change.whenDisabled);
      expect(await fieldsOf(it)).toMatchObject({ ...change.effect, disabled: true });
    });
  });
});
