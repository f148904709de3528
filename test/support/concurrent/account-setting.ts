import { KEYS } from '../../../src/domain/records/keys.ts';
import type { Entry } from '../../../src/store/port.ts';
import { call, OPERATOR_TOKEN, poll, type Muster } from '../service/muster.ts';
import { identities, openStage, type Scene } from './account-scene.ts';
import type { Answers, Observation, Setting } from './oracle.ts';
import type { Place } from './place.ts';
import { entriesUnder } from './planting.ts';
import { auditGroups, spelledAnswer, spelledObject, spelledRecord } from './spelling.ts';
import { hashOf } from './tokens.ts';

/** Accounts with all that belongs to them, each made for one round. */
export async function accountSetting(place: Place): Promise<Setting<Scene>> {
  const stage = await openStage(place);
  return { place, scene: () => stage.scene(), observe: (asked, made, answers) => observe(place, asked, made, answers) };
}

async function observe(place: Place, asked: Muster, scene: Scene, answers: Answers): Promise<Observation> {
  const names = new Map(identities(scene).map(([name, id]) => [id, name]));
  const credentials = credentialsOf(scene, answers);
  for (const [name, token] of credentials) names.set(hashOf(token), name);
  // The records are read before the polls: the first request of a daemon proves its credential, which is a change.
  const [records, audit] = await Promise.all([
    recordsOf(place, scene, credentials),
    entriesUnder(place.store, KEYS.audit.under(scene.accountId)),
  ]);
  const account = await call(`${asked.ops}/operator/v1/accounts/${scene.accountId}`, { token: OPERATOR_TOKEN });
  const polls = await Promise.all(credentials.map(async ([name, token]) => await polled(asked, name, token)));
  return {
    answers: { a: spelledAnswer(answers.a), b: spelledAnswer(answers.b) },
    state: [
      `the operator reads ${spelledObject(names, account.text)}`,
      ...records.map(({ key, value }) => spelledRecord(names, key, value)),
      ...polls,
    ].sort(),
    audit: auditGroups(names, audit),
  };
}

/** Every credential that a daemon may have after the round. */
function credentialsOf(scene: Scene, answers: Answers): readonly (readonly [name: string, token: string])[] {
  const given = (['a', 'b'] as const).flatMap((side) => {
    const credential = answers[side]?.body['credential'];
    return typeof credential === 'string' ? [[`credential given to ${side}`, credential] as const] : [];
  });
  return [
    ['credential of the active app', scene.credential],
    ['credential of a', scene.made.a],
    ['credential of b', scene.made.b],
    ...given,
  ];
}

async function polled(asked: Muster, name: string, token: string): Promise<string> {
  return `a poll with the ${name} is ${spelledAnswer(await poll(asked, token))}`;
}

async function recordsOf(
  { store }: Place,
  scene: Scene,
  credentials: ReturnType<typeof credentialsOf>,
): Promise<readonly Entry[]> {
  const { accountId } = scene;
  const keys = [
    ...credentials.map(([, token]) => KEYS.credential(hashOf(token))),
    ...[scene.owner, scene.coOwner, scene.viewer, scene.stranger].map(KEYS.user),
    ...[scene.ownerSession, scene.coOwnerSession, scene.strangerSession].map((token) => KEYS.session(hashOf(token))),
    KEYS.ack(accountId, scene.active),
    KEYS.reviewIndex(accountId, scene.active),
  ];
  const prefixes = [
    KEYS.account(accountId),
    KEYS.review.under(accountId),
    KEYS.link.under(accountId),
    KEYS.pastCredential.under(scene.pending),
    KEYS.pastCredential.under(scene.active),
  ];
  const [single, listed] = await Promise.all([
    Promise.all(keys.map(async (key) => await store.get(key))),
    Promise.all(prefixes.map(async (prefix) => await entriesUnder(store, prefix))),
  ]);
  // The last contacts are written by the clock.
  const all = [...single.filter((entry) => entry !== undefined), ...listed.flat()];
  return all.filter(({ key }) => key !== KEYS.lastSeen(accountId));
}
