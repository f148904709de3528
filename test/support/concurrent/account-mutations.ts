import { ask } from '../panel/panel-users.ts';
import { detection, decide, sendDetections } from '../records/detections.ts';
import { call, OPERATOR_TOKEN, type Answer, type Muster } from '../service/muster.ts';
import type { Scene } from './account-scene.ts';
import type { Mutation, Side } from './oracle.ts';
import { hexHashOf } from './tokens.ts';

type AccountMutation = Mutation<Scene>;

const mutation = (name: string, act: AccountMutation['act']): AccountMutation => ({ name, act });

const operator = (muster: Muster, { accountId }: Scene, method: string, path: string, body?: object): Promise<Answer> =>
  call(`${muster.ops}/operator/v1/accounts/${accountId}${path}`, {
    method,
    token: OPERATOR_TOKEN,
    ...(body && { body }),
  });

const owner = (muster: Muster, { apiKey }: Scene, method: string, path: string, body?: object): Promise<Answer> =>
  call(`${muster.api}/v1${path}`, { method, token: apiKey, ...(body && { body }) });

const panel = (
  muster: Muster,
  { accountId }: Scene,
  session: string,
  [method, path, body]: readonly [method: string, path: string, body?: object],
): Promise<Answer> =>
  ask({ muster }, { token: session }, `/accounts/${accountId}${path}`, { method, ...(body && { body }) });

/** How a daemon enrolls: the app, the code, and what is said of the credential. */
interface Enrollment {
  readonly appId: string;
  readonly enrollCode: string;
  readonly credential?: string;
  readonly proved?: boolean;
}

function enroll(muster: Muster, side: Side, { appId, enrollCode, credential, proved }: Enrollment): Promise<Answer> {
  const body = {
    appId,
    enrollCode,
    platform: `platform of ${side}`,
    agentVersion: '2.0.0',
    connection: 'cloud',
    ...(credential !== undefined && { credentialHash: hexHashOf(credential) }),
  };
  const token = proved === true ? credential : undefined;
  return call(`${muster.device}/device/v1/enroll`, { method: 'POST', body, token });
}

const OTHER_SIDE = { a: 'b', b: 'a' } as const;

/** The mutations that the bug was found by; they have names, since their pairs are tried more often than others. */
export const DISABLE = mutation('disables the account', (muster, scene) =>
  operator(muster, scene, 'PATCH', '', { disabled: true }),
);
export const DOWNGRADE = mutation('takes Enterprise away', (muster, scene) =>
  operator(muster, scene, 'PATCH', '', { entitlement: 'standard' }),
);
export const RENAME = mutation('renames the account', (muster, scene, side) =>
  operator(muster, scene, 'PATCH', '', { name: `name of ${side}` }),
);
export const CONSENT = mutation('lets a resource adopt the account', (muster, scene, side) =>
  operator(muster, scene, 'PATCH', '', { adoptableBy: `production/${side}` }),
);
export const ENROLL = mutation('enrolls the pending app by a hash', (muster, scene, side) =>
  enroll(muster, side, { appId: scene.pending, enrollCode: scene.pendingCode, credential: scene.made[side] }),
);

export const ENROLL_ANEW = mutation('enrolls the active app anew', (muster, scene, side) =>
  enroll(muster, side, { appId: scene.active, enrollCode: scene.activeCode }),
);
export const DELETE_ACTIVE = mutation('deletes the active app', (muster, scene) =>
  owner(muster, scene, 'DELETE', `/apps/${scene.active}`),
);

const BY_OPERATORS: readonly AccountMutation[] = [
  RENAME,
  DOWNGRADE,
  DISABLE,
  CONSENT,
  mutation('creates an API key', (muster, scene, side) =>
    operator(muster, scene, 'POST', '/api-keys', { name: `key of ${side}` }),
  ),
  mutation('revokes a spare API key', (muster, scene) =>
    operator(muster, scene, 'DELETE', `/api-keys/${scene.spareKeyId}`),
  ),
  mutation('revokes the API key of the owner', (muster, scene) =>
    operator(muster, scene, 'DELETE', `/api-keys/${scene.keyId}`),
  ),
  mutation('lets a resource adopt the pending app', (muster, scene, side) =>
    operator(muster, scene, 'PATCH', `/apps/${scene.pending}`, { adoptableBy: `production/${side}` }),
  ),
  mutation('lets a resource adopt the active app', (muster, scene, side) =>
    operator(muster, scene, 'PATCH', `/apps/${scene.active}`, { adoptableBy: `production/${side}` }),
  ),
  mutation('decides on a detection', (muster, scene, side) =>
    decide(muster, scene.accountId, scene.entryId, {
      status: side === 'a' ? 'confirmed' : 'dismissed',
      note: `note of ${side}`,
    }),
  ),
];

export const BY_MEMBERS: readonly AccountMutation[] = [
  mutation('makes an invitation', (muster, scene, side) =>
    panel(muster, scene, scene.ownerSession, ['POST', '/invitations', { role: side === 'a' ? 'viewer' : 'owner' }]),
  ),
  mutation('withdraws the invitation', (muster, scene) =>
    panel(muster, scene, scene.coOwnerSession, ['DELETE', `/invitations/${scene.linkId}`]),
  ),
  mutation('accepts the invitation', (muster, scene) =>
    ask({ muster }, { token: scene.strangerSession }, '/links/accept', {
      method: 'POST',
      body: { token: scene.linkToken },
      headers: { 'x-forwarded-for': addressOf(scene) },
    }),
  ),
  mutation('makes the viewer an owner', (muster, scene) =>
    panel(muster, scene, scene.ownerSession, ['PATCH', `/members/${scene.viewer}`, { role: 'owner' }]),
  ),
  mutation('removes the viewer', (muster, scene) =>
    panel(muster, scene, scene.coOwnerSession, ['DELETE', `/members/${scene.viewer}`]),
  ),
  mutation('has the owner remove the co-owner', (muster, scene) =>
    panel(muster, scene, scene.ownerSession, ['DELETE', `/members/${scene.coOwner}`]),
  ),
  mutation('has the co-owner remove the owner', (muster, scene) =>
    panel(muster, scene, scene.coOwnerSession, ['DELETE', `/members/${scene.owner}`]),
  ),
  mutation('has the co-owner become a viewer', (muster, scene) =>
    panel(muster, scene, scene.coOwnerSession, ['PATCH', `/members/${scene.coOwner}`, { role: 'viewer' }]),
  ),
];

const BY_OWNERS: readonly AccountMutation[] = [
  mutation('creates an app', (muster, scene, side) =>
    owner(muster, scene, 'POST', '/apps', { name: `new app of ${side}` }),
  ),
  mutation('issues a code for the pending app', (muster, scene) =>
    owner(muster, scene, 'POST', `/apps/${scene.pending}/enroll-code`),
  ),
  mutation('issues a code for the active app', (muster, scene) =>
    owner(muster, scene, 'POST', `/apps/${scene.active}/enroll-code`),
  ),
  mutation('revokes the pending app', (muster, scene) => owner(muster, scene, 'POST', `/apps/${scene.pending}/revoke`)),
  mutation('revokes the active app', (muster, scene) => owner(muster, scene, 'POST', `/apps/${scene.active}/revoke`)),
  mutation('deletes the pending app', (muster, scene) => owner(muster, scene, 'DELETE', `/apps/${scene.pending}`)),
  DELETE_ACTIVE,
  mutation('stores a configuration', (muster, scene, side) =>
    owner(muster, scene, 'PUT', '/otel-config', { enabled: true, endpoint: `https://${side}.example.com` }),
  ),
  mutation('stores a configuration with a header', (muster, scene, side) =>
    owner(muster, scene, 'PUT', '/otel-config', {
      enabled: true,
      endpoint: `https://with-header-${side}.example.com`,
      authHeader: `Bearer ${side}`,
      evidenceLevel: 'full',
    }),
  ),
  mutation('purges the configuration', (muster, scene) => owner(muster, scene, 'DELETE', '/otel-config')),
];

const BY_DAEMONS: readonly AccountMutation[] = [
  ENROLL,
  mutation('enrolls the pending app by a credential that it proves', (muster, scene, side) =>
    enroll(muster, side, {
      appId: scene.pending,
      enrollCode: scene.pendingCode,
      credential: scene.made[side],
      proved: true,
    }),
  ),
  mutation('enrolls the pending app by a credential of the service', (muster, scene, side) =>
    enroll(muster, side, { appId: scene.pending, enrollCode: scene.pendingCode }),
  ),
  ENROLL_ANEW,
  mutation('enrolls the active app by the credential of the other side', (muster, scene, side) =>
    enroll(muster, side, {
      appId: scene.active,
      enrollCode: scene.activeCode,
      credential: scene.made[OTHER_SIDE[side]],
      proved: true,
    }),
  ),
  mutation('acknowledges the configuration', (muster, { credential }, side) =>
    call(`${muster.device}/device/v1/config/ack`, {
      method: 'POST',
      token: credential,
      body: { revision: 1, status: side === 'a' ? 'applied' : 'failed' },
    }),
  ),
  mutation('reports a detection', (muster, { credential }, side) =>
    sendDetections(muster, credential, [
      detection({ id: `event of ${side}`, evidence: { hash: `sha256:${side}`, redacted: side, full: side } }),
    ]),
  ),
];

export const MUTATIONS: readonly AccountMutation[] = [...BY_OPERATORS, ...BY_MEMBERS, ...BY_OWNERS, ...BY_DAEMONS];

/** An address that no other scene has, so that each has a rate of sign-ins of its own. */
function addressOf({ stranger }: Scene): string {
  const [a = 0, b = 0, c = 0] = Buffer.from(stranger.slice(0, 3));
  const [d = 0, e = 0, f = 0] = Buffer.from(stranger.slice(3, 6));
  return `10.${(a * 7 + d) % 256}.${(b * 7 + e) % 256}.${(c * 7 + f) % 256}`;
}
