import { seeded, whole, type Random } from '../random.ts';
import { ModelCalls } from './calls.ts';

const pick = <T>(random: Random, all: readonly T[]): T | undefined => all[whole(random, all.length)];

/** A valid history of so many random requests, of two accounts, on apps, codes and credentials that exist. */
export function validHistory(seed: number, requests: number): ModelCalls {
  const random = seeded(seed);
  const model = new ModelCalls(random);
  model.lostShare = seed % 3 === 0 ? 0 : 0.15;
  const owners = [model.owner(), model.owner()];
  const enrolled: Parameters<ModelCalls['poll']>[] = [];
  for (let n = 0; n < requests; n += 1) {
    const owner = pick(random, owners) ?? model.owner();
    const [app = '', stored] = pick(random, [...model.apps]) ?? [];
    const code = pick(random, stored?.openCodes ?? []) ?? 'code';
    const whose = stored ? { ...owner, account: stored.account } : owner;
    const bound = pick(random, enrolled);
    const steps: readonly (() => unknown)[] = [
      () => model.create(owner),
      () => model.create(owner),
      () => model.issue(owner, app),
      () => model.read(owner, app),
      () => model.list(owner),
      () => enrolled.push([whose, app, model.enroll(whose, app, code, model.id('credential')).asked.credential ?? '']),
      () => bound && model.poll(...bound),
      () => bound && model.poll(...bound),
      () => model.revoke(owner, app),
      () => model.remove(owner, app),
      () => model.store(owner, n % 7 === 0 ? undefined : `https://${n}`),
      () => model.disable(owner, random() < 0.3),
      () => model.change(owner, 'name', `name ${n}`),
      () => model.change(owner, 'entitlement', n % 2 === 0 ? 'standard' : 'enterprise'),
      () => model.change(owner, 'adoptableBy', `team/heir-${n}`),
      () => model.revokeKey(owner, model.addKey(owner).told.target ?? ''),
      () => model.addKey(owner),
      () => {
        const ann = model.newPerson();
        const bearer = model.makeToken(ann, owner).told.target ?? '';
        model.writeBy({ ...ann, bearer }, owner);
        if (random() < 0.5) model.revokeToken(ann, owner, bearer);
        else model.endPerson(ann, random() < 0.5 ? 'person.disable' : 'role.take');
        model.writeBy({ ...ann, bearer }, owner);
        model.readBy(ann, owner);
      },
      () => {
        const key = model.addKey(owner).told.target ?? '';
        model.narrowKey(owner, key);
        model.create({ ...owner, key });
        model.list({ ...owner, key });
        model.rotateKey(owner, key);
        model.create({ ...owner, key: `${key}+1` });
        model.list({ ...owner, key });
      },
    ];
    pick(random, steps)?.();
  }
  return model;
}
