import { seeded, whole, type Random } from '../random.ts';
import { IdealCalls } from './calls.ts';

const pick = <T>(random: Random, all: readonly T[]): T | undefined => all[whole(random, all.length)];

/** So many requests by chance, of two accounts, on apps, codes and credentials that were heard of. */
export function validHistory(seed: number, requests: number): IdealCalls {
  const random = seeded(seed);
  const ideal = new IdealCalls(random);
  ideal.lostShare = seed % 3 === 0 ? 0 : 0.15;
  const owners = [ideal.owner(), ideal.owner()];
  const enrolled: Parameters<IdealCalls['poll']>[] = [];
  for (let n = 0; n < requests; n += 1) {
    const owner = pick(random, owners) ?? ideal.owner();
    const [app = '', stored] = pick(random, [...ideal.apps]) ?? [];
    const code = pick(random, stored?.openCodes ?? []) ?? 'code';
    const whose = stored ? { ...owner, account: stored.account } : owner;
    const bound = pick(random, enrolled);
    const steps: readonly (() => unknown)[] = [
      () => ideal.create(owner),
      () => ideal.create(owner),
      () => ideal.issue(owner, app),
      () => ideal.read(owner, app),
      () => ideal.list(owner),
      () => enrolled.push([whose, app, ideal.enroll(whose, app, code, ideal.id('credential')).asked.credential ?? '']),
      () => bound && ideal.poll(...bound),
      () => bound && ideal.poll(...bound),
      () => ideal.revoke(owner, app),
      () => ideal.remove(owner, app),
      () => ideal.store(owner, n % 7 === 0 ? undefined : `https://${n}`),
      () => ideal.disable(owner, random() < 0.3),
      () => ideal.revokeKey(owner, ideal.addKey(owner).told.target ?? ''),
      () => ideal.addKey(owner),
    ];
    pick(random, steps)?.();
  }
  return ideal;
}
