import { describe, expect, test } from 'vitest';
import type { KubeApi, KubeObject } from '../../../../src/controller/kubernetes/client/kube-api.ts';
import { decideFleetApiKey } from '../../../../src/controller/kubernetes/resources/fleet-api-key-decide.ts';
import { holdsCurrentSecret } from '../../../../src/controller/kubernetes/resources/fleet-app-facts.ts';
import { createSecrets, type Secrets } from '../../../../src/controller/kubernetes/runtime/secrets.ts';
import { aReadyAccount } from '../../../support/kubernetes/an-account.ts';
import { asResource, reasonOf, stepOf } from '../../../support/kubernetes/decisions.ts';
import { foundAt } from '../../../support/store/snapshots.ts';

/* A resource takes over those restored Secrets that hold what is bound now (ADR 0064). */

const link = { kind: 'FleetApp', namespace: 'team', name: 'one', accountId: 'a', generation: 1 };

describe('the Secret of a key', () => {
  const key = { keyId: 'k'.repeat(12), hash: 'current', issuedAt: 1, secretName: 'box' };
  const decided = (
    digest: string | undefined,
    more: { orphan?: boolean; registered?: boolean; name?: string } = {},
  ) => {
    const { orphan = true, registered = true, name = 'box' } = more;
    return decideFleetApiKey(
      asResource('FleetApiKey', { accountRef: { name: 'acme' }, secretRef: { name, key: 'apiKey' } }, {}),
      {
        binding: foundAt(3, { ...link, kind: 'FleetApiKey', key }),
        account: aReadyAccount('a'),
        room: true,
        registered: { key: registered, previousKey: false },
        secret: { own: false, orphan, digest },
        isDressed: true,
        writers: [],
      },
      { at: 2, refused: [] },
    );
  };

  test('with the current key is taken over', () => {
    expect(stepOf(decided('current'))).toEqual({ do: 'takeSecret' });
  });

  test.each<[string | undefined, Parameters<typeof decided>[1], string]>([
    ['older', {}, 'an older key, or a foreign one'],
    [undefined, {}, 'no key'],
    ['current', { orphan: false }, 'another owner, or no label'],
    ['current', { registered: false }, 'a key that was revoked'],
    ['current', { name: 'other' }, 'a copy under another name'],
  ])('is not: %s %o (%s)', (digest, more, _what) => {
    expect(reasonOf(decided(digest, more))).toMatchObject({ status: 'False', reason: 'SecretNotOwned' });
  });
});

describe('the Secret of an app', () => {
  const bound = { ...link, appId: 'a'.repeat(20) };
  const code = { hash: 'code', expiresAt: 1 };
  const credential = { hash: 'credential', file: { digest: 'd', settings: 's' } };
  const address = { appId: 'A', serverUrl: 'U' };
  const app = (name: string) =>
    asResource(
      'FleetApp',
      {
        accountRef: { name: 'acme' },
        desiredState: 'Active',
        secretFormat: 'enrollment',
        deletionPolicy: 'Revoke',
        enrollment: { secretRef: { name }, issue: 'Once' },
      } as const,
      {},
    );
  const holds = (
    digests: Readonly<Record<string, string>>,
    more: object = { code, credential },
    { orphan = true, name = 'box' } = {},
  ) =>
    holdsCurrentSecret(app(name), {
      binding: foundAt(3, { ...bound, secretName: 'box', ...more }),
      account: aReadyAccount('a'),
      app: undefined,
      candidate: undefined,
      namespaceUid: undefined,
      seenAt: null,
      secret: { own: false, orphan, digests },
      isDressed: true,
      wanted: { ...address, settings: '' },
    });

  test.each<[Readonly<Record<string, string>>, string]>([
    [{ ...address, enrollCode: 'code' }, 'the code that was bound last'],
    [address, 'the id alone, of an app that is enrolled'],
    [{ ...address, credential: 'credential', 'supervisor.yaml': 'd' }, 'the credential of a supervisor'],
    [{ ...address, serverUrl: 'former' }, 'a former address'],
  ])('with %o is taken over (%s)', (digests, _what) => {
    expect(holds(digests)).toBe(true);
  });

  test.each<[Readonly<Record<string, string>>, object | undefined, string]>([
    [{ ...address, enrollCode: 'older' }, undefined, 'another code'],
    [{ ...address, enrollCode: 'code' }, {}, 'a code, and none is bound'],
    [{ ...address, appId: 'B', enrollCode: 'code' }, undefined, 'the id of another app'],
    [{ ...address, credential: 'older' }, undefined, 'another credential'],
    [{ ...address, credential: 'credential' }, {}, 'a credential, and none is bound'],
    [{ ...address, 'supervisor.yaml': 'd' }, undefined, 'a file, which holds some credential, alone'],
    [{}, undefined, 'nothing'],
  ])('with %o is not: %o (%s)', (digests, more, _what) => {
    expect(holds(digests, more)).toBe(false);
  });

  test('of another owner is not, whatever it holds', () => {
    expect(holds({ ...address, enrollCode: 'code' }, { code }, { orphan: false })).toBe(false);
  });

  test('of another name than the bound one is not, whatever it holds', () => {
    expect(holds({ ...address, enrollCode: 'code' }, { code }, { name: 'made-before' })).toBe(false);
  });
});

describe('a Secret of the namespace', () => {
  const LABELLED = { 'app.kubernetes.io/managed-by': 'muster' };
  const reference = (more: object = {}): object => ({
    apiVersion: 'muster.dev/v1beta1',
    kind: 'FleetApiKey',
    name: 'ci',
    uid: 'former',
    ...more,
  });
  const secret = (ownerReferences: readonly object[], labels: object = LABELLED): KubeObject => ({
    metadata: {
      name: 'box',
      namespace: 'team',
      uid: 'u',
      resourceVersion: '1',
      generation: 0,
      finalizers: [],
      labels,
      ownerReferences,
    },
  });
  const patched: unknown[] = [];
  function secretsOf(object: KubeObject): Secrets {
    const never = (): Promise<never> => Promise.reject(new Error('it is patched, and nothing else'));
    const api: KubeApi = {
      list: never,
      watch: () => {
        throw new Error('nothing is watched');
      },
      get: never,
      create: never,
      patch: async (_type, read, { merge }) => {
        patched.push(merge);
        return read;
      },
      remove: never,
      isLeaving: never,
      namespaceUid: never,
    };
    const owned = { get: () => object, written: () => undefined };
    const owner = { kind: 'FleetApiKey', name: 'ci', uid: 'new' } as const;
    const { signal } = new AbortController();
    const none = { get: () => undefined };
    return createSecrets({ api, owned, headers: none, namespace: 'team', owner, template: {}, signal });
  }

  test.each<[KubeObject, boolean, string]>([
    [secret([]), true, 'no owner, as Velero restores it'],
    [secret([reference()]), true, 'the resource under its former UID'],
    [secret([], {}), false, 'no label of Muster'],
    [secret([reference({ name: 'other' })]), false, 'another resource'],
    [secret([reference({ kind: 'FleetApp' })]), false, 'a resource of another kind'],
    [secret([reference(), reference({ apiVersion: 'apps/v1', kind: 'Deployment' })]), false, 'somebody else as well'],
    [secret([reference({ uid: 'new' })]), false, 'this resource already'],
  ])('%# is free to be taken: %j → %s (%s)', async (object, orphan, _whose) => {
    patched.length = 0;
    const secrets = secretsOf(object);
    expect(secrets.known('box')?.orphan).toBe(orphan && true);
    await secrets.takeOver('box');
    const own = reference({ uid: 'new', controller: true });
    expect(patched).toEqual(orphan ? [{ metadata: { ownerReferences: [own] } }] : []);
  });
});
