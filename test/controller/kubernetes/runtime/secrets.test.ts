import { describe, expect, test } from 'vitest';
import type { KubeApi, KubeObject } from '../../../../src/controller/kubernetes/client/kube-api.ts';
import { createSecrets, withoutValues, type Secrets } from '../../../../src/controller/kubernetes/runtime/secrets.ts';

/* Which Secrets are read: as a collector's header, for the FleetOtelConfig `export`, and as an own one. */

const never = (): Promise<never> => Promise.reject(new Error('a Secret is read, and nothing else'));

/** The Secrets of the FleetOtelConfig `export`, where the API server has this one. */
function secretsOf(object: KubeObject | undefined, owned?: KubeObject): Secrets {
  const api: KubeApi = {
    list: never,
    watch: () => {
      throw new Error('nothing is watched');
    },
    get: () => Promise.resolve(object),
    create: never,
    patch: never,
    remove: never,
    isLeaving: never,
    namespaceUid: never,
  };
  return createSecrets({
    api,
    owned: { get: () => owned, written: () => undefined },
    headers: { get: () => undefined },
    namespace: 'team',
    owner: { kind: 'FleetOtelConfig', name: 'export', uid: 'o' },
    template: {},
    signal: new AbortController().signal,
  });
}

/** The answer to a read of the header of a Secret with these labels and annotations. */
async function headerOf(
  endpoint: string,
  annotations: Readonly<Record<string, unknown>> | undefined,
  labels: Readonly<Record<string, unknown>> = { 'muster.dev/auth-header': 'true' },
): Promise<string> {
  const metadata = {
    name: 'collector',
    namespace: 'team',
    uid: 'u',
    resourceVersion: '1',
    generation: 0,
    finalizers: [],
  };
  const object: KubeObject = {
    metadata: { ...metadata, labels, ...(annotations && { annotations }) },
    data: { header: Buffer.from('Bearer x').toString('base64') },
  };
  const secrets = secretsOf(object);
  const value = await secrets.header('collector', 'header', endpoint);
  return typeof value === 'string' ? value : Buffer.from(value).toString();
}

const to = (name: string, endpoint: string): Record<string, string> => ({
  'muster.dev/auth-header-for': name,
  'muster.dev/auth-header-endpoint': endpoint,
});
const ENDPOINT = 'https://otel.example.com/v1/logs';
const ORIGIN = 'https://otel.example.com';

test.each([
  [ENDPOINT, to('export', ORIGIN), 'the resource and the origin'],
  [ENDPOINT, to('export', `${ORIGIN}/`), 'a slash at the end of the origin'],
  [ENDPOINT, to('export', 'HTTPS://OTEL.example.com:443'), 'the same origin in another spelling'],
  [ENDPOINT, to('one,export', `https://a.example.com, ${ORIGIN}`), 'one of several'],
  ['http://[0:0::1]:4318', to('export', 'http://[::1]:4318'), 'an IPv6 address in another spelling'],
  ['HTTPS://otel.example.com:443/', to('export', ORIGIN), 'another spelling in the resource'],
])('the header for %s is read with %j (%s)', async (endpoint, annotations, _what) => {
  expect(await headerOf(endpoint, annotations)).toBe('Bearer x');
});

test.each([
  [ENDPOINT, undefined, 'no annotations, as before them'],
  [ENDPOINT, {}, 'neither'],
  [ENDPOINT, { 'muster.dev/auth-header-for': 'export' }, 'no origin'],
  [ENDPOINT, { 'muster.dev/auth-header-endpoint': ORIGIN }, 'no resource'],
  [ENDPOINT, to('', ORIGIN), 'an empty list of resources'],
  [ENDPOINT, to('*', '*'), 'a star, which stands for nothing'],
  [ENDPOINT, to('export-eu', ORIGIN), 'another resource'],
  [ENDPOINT, to('EXPORT', ORIGIN), 'the name in capitals'],
  [ENDPOINT, to('export', 'https://example.com'), 'a parent domain'],
  ['https://otel.example.com.thief.example', to('export', ORIGIN), 'an origin that begins with it'],
  ['http://otel.example.com', to('export', ORIGIN), 'another scheme'],
  ['https://otel.example.com:8443', to('export', ORIGIN), 'another port'],
  [ENDPOINT, to('export', ENDPOINT), 'a path, which would bind nothing'],
  [ENDPOINT, to('export', 'https://thief@otel.example.com'), 'a user in the origin'],
  [ENDPOINT, to('export', 'otel.example.com'), 'no scheme'],
  ['', to('export', ''), 'no endpoint'],
  ['ftp://otel.example.com', to('export', 'ftp://otel.example.com'), 'another protocol'],
])(
  'the header for %s is not read with %j (%s)',
  async (endpoint, annotations: Record<string, string> | undefined, _what) => {
    const isNamed = annotations?.['muster.dev/auth-header-for'] === 'export';
    expect(await headerOf(endpoint, annotations)).toBe(isNamed ? 'NotForEndpoint' : 'NotForResource');
  },
);

test('nor is it without the label', async () => {
  expect(await headerOf(ENDPOINT, to('export', ORIGIN), {})).toBe('NotLabelled');
  expect(await headerOf(ENDPOINT, to('export', ORIGIN), { 'muster.dev/auth-header': 'yes' })).toBe('NotLabelled');
});

describe('a value of an own Secret', () => {
  const ownedBy = (uid: string): KubeObject => ({
    metadata: {
      name: 'box',
      namespace: 'team',
      uid: 'u',
      resourceVersion: '1',
      generation: 0,
      finalizers: [],
      ownerReferences: [{ apiVersion: 'muster.dev/v1beta1', kind: 'FleetOtelConfig', name: 'export', uid }],
    },
    data: { credential: Buffer.from('word').toString('base64') },
  });

  test('is read as a Secret, which nothing prints', async () => {
    const value = await secretsOf(ownedBy('o')).value('box', 'credential');
    expect(value?.reveal()).toBe('word');
    expect(String(value)).toBe('[redacted]');
    expect(await secretsOf(ownedBy('o')).value('box', 'other')).toBeUndefined();
  });

  test('is not read where the Secret has another owner', async () => {
    expect(await secretsOf(ownedBy('another')).value('box', 'credential')).toBeUndefined();
  });

  test('of a Secret that is gone is none, and memory does not say otherwise from then on', async () => {
    const secrets = secretsOf(undefined, withoutValues(ownedBy('o')));
    expect(secrets.known('box')?.own).toBe(true);
    expect(await secrets.value('box', 'credential')).toBeUndefined();
    expect(secrets.known('box')).toBeUndefined();
  });
});
