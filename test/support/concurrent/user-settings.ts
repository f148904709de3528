import { randomInt } from 'node:crypto';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { Entry } from '../../../src/store/port.ts';
import { ask, putUser, signedIn } from '../panel/panel-users.ts';
import { asOperator, tokenOf } from '../panel/visitor.ts';
import { tenant, type Answer, type Muster } from '../service/muster.ts';
import type { Answers, Mutation, Observation, Setting, Side } from './oracle.ts';
import type { Place } from './place.ts';
import { entriesUnder, replant } from './planting.ts';
import { auditGroups, spelledAnswer, spelledRecord, type Names } from './spelling.ts';
import { hashOf } from './tokens.ts';

/*
 * Two users of whom one must stay: the only operators of an installation, or the only owners of an account. Or one user
 * whom both sides change.
 */

interface Person {
  readonly userId: string;
  readonly session: string;
  /** The token of a link that resets the user. */
  readonly reset: string;
}

export interface TwoUsers extends Readonly<Record<Side, Person>> {
  /** The account that both own; empty for operators. */
  readonly accountId: string;
  /** What the audits have from then on may be of this scene; milliseconds since 1970. */
  readonly since: number;
}

/** Passwords are off, so that a link resets a user without one: whoever has used it cannot sign in any more. */
export const WITHOUT_PASSWORDS = { MUSTER_PANEL_PASSWORDS: 'off' } as const;

const OTHER_SIDE = { a: 'b', b: 'a' } as const;
/** A clock that goes back by less hides no entry. */
const SLACK_MS = 1000;

/** A user who can sign in by a passkey, and a browser in which he is. */
async function person({ one, store }: Place): Promise<Person> {
  const id = `passkey-${randomInt(2 ** 47)}`;
  const passkeys = [{ id, publicKey: '', name: 'key', createdAt: 1 }];
  const userId = await putUser(store, { record: { passkeys } });
  const { token: session } = await signedIn(store, userId);
  const made = await asOperator(one, `/users/${userId}/reset`, { method: 'POST' });
  return { userId, session, reset: tokenOf(made.body['url']) };
}

/**
 * Operators of a place. Rounds share it: they are made one after the other.
 * @param who both are its only operators, or only the second one is
 */
export function operatorsSetting(place: Place, who: 'both' | 'the second' = 'both'): Setting<TwoUsers> {
  return {
    place,
    async scene() {
      const since = Date.now() - SLACK_MS;
      const [a, b] = await Promise.all([person(place), person(place)]);
      await replant(place.store, KEYS.operators(), { members: [...(who === 'both' ? [a.userId] : []), b.userId] });
      return { a, b, accountId: '', since };
    },
    async observe(_asked, scene, answers) {
      const entries = await operatorAudit(place, scene);
      return await observed(place, scene, answers, { state: [], audit: auditGroups(namesOf(scene), entries) });
    },
  };
}

/** The only owners of an account. */
export function ownersSetting(place: Place): Setting<TwoUsers> {
  return {
    place,
    async scene() {
      const since = Date.now() - SLACK_MS;
      const { accountId } = await tenant(place.one);
      const [a, b] = await Promise.all([person(place), person(place)]);
      const members = [a, b].map(({ userId }) => ({ userId, role: 'owner', since }));
      await replant(place.store, KEYS.members(accountId), { members });
      return { a, b, accountId, since };
    },
    async observe(_asked, scene, answers) {
      const names = namesOf(scene);
      const entries = await entriesUnder(place.store, KEYS.audit.under(scene.accountId));
      // A deletion ends the memberships and then removes the user: what is done between is in order for the account.
      const told = auditGroups(names, await operatorAudit(place, scene)).flat();
      const ofMembers = entries.filter(({ value }) => value.includes('member.'));
      const audit = auditGroups(names, ofMembers);
      return await observed(place, scene, answers, { state: told, audit });
    },
  };
}

/**
 * A deletion by an operator reads more than once: whose right is taken away meanwhile may be refused for what he asks
 * rather than for his right. It has no effect either way.
 */
const refusedOr = (answer: string): string => (/^4\d\d /.test(answer) ? 'refused' : answer);

const namesOf = ({ a, b, accountId }: TwoUsers): Names =>
  new Map([
    [a.userId, 'user a'],
    [b.userId, 'user b'],
    [hashOf(a.session), 'session of a'],
    [hashOf(b.session), 'session of b'],
    ...(accountId === '' ? [] : [[accountId, 'account'] as const]),
  ]);

/** The entries of the operators' audit that tell of one of the users. */
async function operatorAudit({ store }: Place, { a, b, since }: TwoUsers): Promise<readonly Entry[]> {
  const page = await store.list({
    prefix: KEYS.audit.under('operator'),
    after: KEYS.audit('operator', since, ''),
    limit: 1000,
  });
  return page.entries.filter(({ value }) => {
    // The link is made before the round, and the session of whoever uses it after what is judged here.
    if (value.includes('"link.created"') || value.includes('"session.created"')) return false;
    return [a, b].some(({ userId }) => value.includes(userId));
  });
}

async function observed(
  { store }: Place,
  scene: TwoUsers,
  answers: Answers,
  { state, audit }: Pick<Observation, 'state' | 'audit'>,
): Promise<Observation> {
  const names = namesOf(scene);
  const { a, b, accountId } = scene;
  const keys = [
    accountId === '' ? KEYS.operators() : KEYS.members(accountId),
    ...[a, b].flatMap(({ userId, session }) => [KEYS.user(userId), KEYS.session(hashOf(session))]),
  ];
  const entries = await Promise.all(keys.map(async (key) => await store.get(key)));
  const records = entries
    .filter((entry) => entry !== undefined)
    .map(({ key, value }) => spelledRecord(names, key, value));
  return {
    answers: { a: refusedOr(spelledAnswer(answers.a)), b: refusedOr(spelledAnswer(answers.b)) },
    state: [...state, ...records].sort(),
    audit,
  };
}

const mutation = (name: string, act: Mutation<TwoUsers>['act']): Mutation<TwoUsers> => ({ name, act });

type Change = readonly [method: string, body?: object];
const DELETE: Change = ['DELETE'];
const DISABLE: Change = ['PATCH', { disabled: true }];
const DEMOTE: Change = ['PATCH', { operator: false }];

/** The operator's token changes the user of the side. */
const byToken =
  ([method, body]: Change): Mutation<TwoUsers>['act'] =>
  (muster, scene, side) =>
    asOperator(muster, `/users/${scene[side].userId}`, { method, ...(body && { body }) });

/** Each of both operators changes the other one. */
const byTheOther =
  ([method, body]: Change): Mutation<TwoUsers>['act'] =>
  (muster, scene, side) =>
    inPanel(muster, scene[OTHER_SIDE[side]], method, `/users/${scene[side].userId}`, body);

const inPanel = (muster: Muster, { session }: Person, method: string, path: string, body?: object): Promise<Answer> =>
  ask({ muster }, { token: session }, path, {
    method,
    ...(body && { body }),
    // Each request is of a visitor of its own, since an address has a rate of sign-ins.
    headers: { 'x-forwarded-for': `10.${randomInt(256)}.${randomInt(256)}.${randomInt(256)}` },
  });

export const DELETES = mutation('deletes one of two operators', byToken(DELETE));
export const DISABLES = mutation('disables one of two operators', byToken(DISABLE));
export const DEMOTES = mutation('demotes one of two operators', byToken(DEMOTE));

export const OF_OPERATORS: readonly Mutation<TwoUsers>[] = [
  DELETES,
  DISABLES,
  DEMOTES,
  mutation('resets one of two operators, who can then sign in no more', (muster, scene, side) =>
    inPanel(muster, scene[side], 'POST', '/links/accept', { token: scene[side].reset }),
  ),
  mutation('has one operator delete the other', byTheOther(DELETE)),
  mutation('has one operator disable the other', byTheOther(DISABLE)),
  mutation('has one operator demote the other', byTheOther(DEMOTE)),
];

/** Both sides change the first user, who is no operator. */
const ofFirst = (name: string, bodyOf: (side: Side) => object): Mutation<TwoUsers> =>
  mutation(name, (muster, { a }, side) =>
    asOperator(muster, `/users/${a.userId}`, { method: 'PATCH', body: bodyOf(side) }),
  );

export const OF_ONE_USER: readonly Mutation<TwoUsers>[] = [
  ofFirst('renames a user', (side) => ({ name: `by side ${side}` })),
  ofFirst('disables a user', () => ({ disabled: true })),
  ofFirst('makes a user an operator', () => ({ operator: true })),
];

/** A member of the account is changed by the other one, or by himself. */
const ofMember =
  ([method, body]: Change, by: 'himself' | 'the other'): Mutation<TwoUsers>['act'] =>
  (muster, scene, side) => {
    const actor = scene[by === 'himself' ? side : OTHER_SIDE[side]];
    return inPanel(muster, actor, method, `/accounts/${scene.accountId}/members/${scene[side].userId}`, body);
  };

export const OF_OWNERS: readonly Mutation<TwoUsers>[] = [
  mutation('resets one of two owners, who can then sign in no more', (muster, scene, side) =>
    inPanel(muster, scene[side], 'POST', '/links/accept', { token: scene[side].reset }),
  ),
  mutation('deletes the user of one of two owners', byToken(DELETE)),
  mutation('disables the user of one of two owners', byToken(DISABLE)),
  mutation('has one owner remove the other', ofMember(DELETE, 'the other')),
  mutation('has one owner make the other a viewer', ofMember(['PATCH', { role: 'viewer' }], 'the other')),
  mutation('has one of two owners leave', ofMember(DELETE, 'himself')),
  mutation('has one of two owners become a viewer', ofMember(['PATCH', { role: 'viewer' }], 'himself')),
];
