import type { Entry } from '../../../src/store/port.ts';
import { detection, listReviews, sendDetections } from '../records/detections.ts';
import { ask, putUser, signedIn, type Browser } from '../panel/panel-users.ts';
import { tokenOf } from '../panel/visitor.ts';
import { call, createApp, enroll, OPERATOR_TOKEN, tenant, type Answer } from '../service/muster.ts';
import type { Side } from './oracle.ts';
import type { Place } from './place.ts';
import { entriesUnder, plant } from './planting.ts';
import { checkedToken, hashOf, newId, plainToken } from './tokens.ts';
import { rawKey } from '../store/raw-key.ts';

/*
 * A scene is an account in which any two mutations of the list can be made. The first one of a place is made through
 * the front door; its records, with other ids and secrets, are the later ones: that costs one commit instead of 15
 * requests.
 */

/** What tells one scene from another: everything here is in no other scene. */
export interface Scene {
  readonly accountId: string;
  /** The owner's API key, and a second one that nobody uses. */
  readonly keyId: string;
  readonly apiKey: string;
  readonly spareKeyId: string;
  /** An app that waits for its daemon, with its open code. */
  readonly pending: string;
  readonly pendingCode: string;
  /** An app with a daemon and a further open code. */
  readonly active: string;
  readonly activeCode: string;
  readonly credential: string;
  readonly entryId: string;
  readonly owner: string;
  readonly ownerSession: string;
  readonly coOwner: string;
  readonly coOwnerSession: string;
  readonly viewer: string;
  /** A user who is no member, and is signed in. */
  readonly stranger: string;
  readonly strangerSession: string;
  readonly linkId: string;
  readonly linkToken: string;
  /** Credentials that daemons have made for each side. */
  readonly made: Readonly<Record<Side, string>>;
}

const madeCredentials = (): Scene['made'] => ({ a: checkedToken('mst_dev_'), b: checkedToken('mst_dev_') });

async function ok(answer: Promise<Answer>): Promise<Answer> {
  const { status, text, body, headers } = await answer;
  if (status >= 300) throw new Error(`A scene cannot be made: ${status} ${text}`);
  return { status, text, body, headers };
}

/** Makes a scene through the front door. */
async function staged(place: Place): Promise<Scene> {
  const { one, store } = place;
  const { accountId, keyId, apiKey } = await tenant(one);
  const keys = `${one.ops}/operator/v1/accounts/${accountId}/api-keys`;
  const spare = await ok(call(keys, { method: 'POST', token: OPERATOR_TOKEN, body: { name: 'spare' } }));
  const config = { enabled: true, endpoint: 'https://otel.example.com', evidenceLevel: 'redacted' };
  await ok(call(`${one.api}/v1/otel-config`, { method: 'PUT', token: apiKey, body: config }));
  const pending = await createApp(one, apiKey, 'pending');
  const active = await createApp(one, apiKey, 'active');
  const credential = await enroll(one, active);
  const code = await ok(call(`${one.api}/v1/apps/${active.appId}/enroll-code`, { method: 'POST', token: apiKey }));
  await ok(sendDetections(one, credential, [detection({})]));
  const [entry] = await listReviews(one, accountId);
  const member = (name: string, role: 'owner' | 'viewer') => putUser(store, { name, accounts: [{ accountId, role }] });
  const owner = await signedIn(store, await member('owner', 'owner'));
  const coOwner = await signedIn(store, await member('co-owner', 'owner'));
  const viewer = await member('viewer', 'viewer');
  const stranger = await signedIn(store, { name: 'stranger' });
  const invitation = await ok(
    ask({ muster: one }, owner, `/accounts/${accountId}/invitations`, { method: 'POST', body: { role: 'viewer' } }),
  );
  return {
    accountId,
    keyId,
    apiKey,
    spareKeyId: String(spare.body['keyId']),
    pending: pending.appId,
    pendingCode: pending.enrollCode,
    active: active.appId,
    activeCode: String(code.body['enrollCode']),
    credential,
    entryId: entry?.entryId ?? '',
    ...usersOf({ owner, coOwner, stranger }),
    viewer,
    linkId: String(invitation.body['linkId']),
    linkToken: tokenOf(invitation.body['url']),
    made: madeCredentials(),
  };
}

const usersOf = ({ owner, coOwner, stranger }: Readonly<Record<'owner' | 'coOwner' | 'stranger', Browser>>) => ({
  owner: owner.userId,
  ownerSession: owner.token,
  coOwner: coOwner.userId,
  coOwnerSession: coOwner.token,
  stranger: stranger.userId,
  strangerSession: stranger.token,
});

/** What is kept by the clock rather than by a mutation, or stands for the whole store. */
const LEFT_OUT = /^(?:audit|seal|chain|rate|idem|attempted|used|session-uses|login)\/|\/seen$/;

/** Makes the first scene of a place. @returns what makes further ones */
export async function openStage(place: Place): Promise<{ scene(): Promise<Scene> }> {
  const first = await staged(place);
  const ids = identities(first);
  const concerns = (text: string): boolean => ids.some(([, id]) => text.includes(id));
  const records = (await entriesUnder(place.store, '')).filter(
    ({ key, value }) => !LEFT_OUT.test(key) && (concerns(key) || concerns(value)),
  );
  return { scene: () => copied(place, first, records) };
}

/** Plants a copy of a scene under ids and secrets of its own. */
async function copied({ store }: Place, first: Scene, records: readonly Entry[]): Promise<Scene> {
  const accountId = newId(16);
  const keyId = newId(12);
  const active = newId(20);
  const scene: Scene = {
    accountId,
    keyId,
    apiKey: checkedToken(`mst_live_${keyId}_`),
    spareKeyId: newId(12),
    pending: newId(20),
    pendingCode: checkedToken('mst_code_'),
    active,
    activeCode: checkedToken('mst_code_'),
    credential: checkedToken('mst_dev_'),
    entryId: first.entryId.replace(first.active, active),
    owner: newId(16),
    ownerSession: plainToken('mst_session_'),
    coOwner: newId(16),
    coOwnerSession: plainToken('mst_session_'),
    viewer: newId(16),
    stranger: newId(16),
    strangerSession: plainToken('mst_session_'),
    linkId: newId(12),
    linkToken: plainToken(`mst_link_${accountId}_`),
    made: madeCredentials(),
  };
  const now = new Map(identities(scene));
  const changes = identities(first).map(([name, id]) => [id, now.get(name) ?? ''] as const);
  const renamed = (text: string): string => changes.reduce((changed, [from, to]) => changed.replaceAll(from, to), text);
  await plant(
    store,
    records.map(({ key, value }) => ({ key: rawKey(renamed(key)), value: renamed(value) })),
  );
  return scene;
}

/** Every id and every hash by which records are found, with a name that all scenes share. */
export function identities(scene: Scene): readonly (readonly [name: string, id: string])[] {
  return [
    ['account', scene.accountId],
    ['key', scene.keyId],
    ['spare key', scene.spareKeyId],
    ['pending app', scene.pending],
    ['active app', scene.active],
    ['owner', scene.owner],
    ['co-owner', scene.coOwner],
    ['viewer', scene.viewer],
    ['stranger', scene.stranger],
    ['invitation', scene.linkId],
    ['hash of the key', hashOf(scene.apiKey)],
    ['code of the pending app', hashOf(scene.pendingCode)],
    ['code of the active app', hashOf(scene.activeCode)],
    ['credential of the active app', hashOf(scene.credential)],
    ['session of the owner', hashOf(scene.ownerSession)],
    ['session of the co-owner', hashOf(scene.coOwnerSession)],
    ['session of the stranger', hashOf(scene.strangerSession)],
    ['token of the invitation', hashOf(scene.linkToken)],
    ['credential of a', hashOf(scene.made.a)],
    ['credential of b', hashOf(scene.made.b)],
  ];
}
