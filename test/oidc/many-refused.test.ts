import { expect, test } from 'vitest';
import { KEYS } from '../../src/domain/records/keys.ts';
import { refused, renewals, type RenewedPerson, type Renewals } from '../support/offboarding/renewals.ts';
import { rewrite } from '../support/panel/panel-users.ts';
import { onEachBackend } from '../support/store/backends.ts';

/*
 * A provider that was set up anew refuses everybody. That ends sessions, and no API key: where five are refused at once
 * while nobody who signed in before them is renewed, a person has to look.
 */

/** Signs so many people in, one a minute; the provider refuses each of them from then on. */
async function people(it: Renewals, count: number, { minutesAgo = 50, firstAgo = 300 } = {}) {
  const all: (RenewedPerson & { readonly sessionId: string; readonly token: string })[] = [];
  for (let n = 0; n < count; n += 1) {
    const subject = `person-${n}-${minutesAgo}`;
    const person = await it.person(subject, { minutesAgo });
    const sessionId = await person.session(subject, firstAgo - n);
    it.provider[subject] = refused;
    all.push({ ...person, sessionId, token: subject });
  }
  return {
    all,
    standing: async () => {
      const each = all.map(async ({ sessionId, accounts, record }) => [
        await it.isThere(sessionId),
        await accounts(),
        (await record()).refusedWithOthersAt !== undefined,
      ]);
      return await Promise.all(each);
    },
  };
}

const of = <T>(count: number, one: T): readonly T[] => Array.from({ length: count }, () => one);
const LEFT = [false, 0, false];
const KEPT = [false, 1, true];

onEachBackend('many refusals at once', (backend) => {
  test.each([
    [4, LEFT, 0],
    [5, KEPT, 1],
  ])('of %i people, of whom nobody is renewed: the sessions end, and what becomes of the rights', async (...row) => {
    const [count, standing, errors] = row;
    await using it = await renewals(backend);
    const { all, standing: standingOf } = await people(it, count);
    const works = await Promise.all(all.map((person) => person.madeKey()));
    await it.round();
    expect(await standingOf()).toEqual(of(count, standing));
    expect(await Promise.all(works.map((work) => work()))).toEqual(of(count, standing === KEPT));
    expect(it.errors).toHaveLength(errors);
    for (const line of it.errors) expect(line).toMatch(/refuses many people at once.*muster users list/);
  });

  test('are departures where somebody is renewed who signed in before them', async () => {
    await using it = await renewals(backend);
    const ann = await it.person('ann', { minutesAgo: 50 });
    await ann.session('first', 400);
    const { standing } = await people(it, 5);
    await it.round();
    expect(await standing()).toEqual(of(5, LEFT));
  });

  test('keep the keys also where somebody has signed in since, who is renewed', async () => {
    await using it = await renewals(backend);
    const ann = await it.person('ann', { minutesAgo: 50 });
    const session = await ann.session('first', 5);
    const { standing } = await people(it, 5);
    await it.round();
    expect(await standing()).toEqual(of(5, KEPT));
    expect([await it.isThere(session), await ann.accounts()]).toEqual([true, 1]);
  });

  test('are seen by those who come one by one: others are asked about before their time, and then all', async () => {
    await using it = await renewals(backend);
    const due = await people(it, 1);
    const others = await people(it, 11, { minutesAgo: 10, firstAgo: 200 });
    await it.round();
    expect([...(await due.standing()), ...(await others.standing())]).toEqual(of(12, KEPT));
  });

  test('are none where those who are asked about before their time are renewed', async () => {
    await using it = await renewals(backend);
    const due = await people(it, 1, { firstAgo: 100 });
    const others = await people(it, 5, { minutesAgo: 10, firstAgo: 200 });
    for (const { token } of others.all) delete it.provider[token];
    await it.round();
    expect(await due.standing()).toEqual([LEFT]);
    expect(await others.standing()).toEqual(of(5, [true, 1, false]));
    // Those of an open question are left in peace, since the provider may not have committed what it is a part of.
    expect(it.asked).toHaveLength(6);
  });

  test('count for whoever signed in before, and not for one who signed in later, until these sign in again', async () => {
    await using it = await renewals(backend);
    const first = await people(it, 5);
    await it.round();
    expect(await first.standing()).toEqual(of(5, KEPT));

    const late = await people(it, 1, { minutesAgo: 51, firstAgo: 200 });
    await it.round();
    expect(await late.standing()).toEqual([KEPT]);

    const ann = await it.person('ann', { minutesAgo: 52 });
    const session = await ann.session('first', -1);
    it.provider['first'] = refused;
    await it.round();
    expect([await it.isThere(session), await ann.accounts()]).toEqual([false, 0]);
  });

  test('wait for another replica, which asks about the others at this moment', async () => {
    await using it = await renewals(backend);
    const { all, standing } = await people(it, 5);
    for (const { sessionId } of all.slice(1)) await it.refreshTokens.claim(sessionId, it.core.clock.now(), 'muster');
    await it.round();
    expect(await standing()).toEqual(of(5, [true, 1, false]));
    // The other replica has found out, and the refusals that it has heard tell nothing here.
    const [mine, ...others] = all;
    const other = await it.person('other');
    await rewrite({ store: it.core.store }, KEYS.user(other.userId), (user) => ({
      ...user,
      refusedWithOthersAt: it.core.clock.now(),
    }));
    for (const { sessionId } of others) await it.claimIsOver(sessionId);
    await it.round();
    expect(await standing()).toEqual([KEPT, ...of(4, [true, 1, false])]);
    expect(await mine?.record()).toMatchObject({ refusedWithOthersAt: expect.any(Number) as number });
  });
});
