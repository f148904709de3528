import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadYaml } from '@kubernetes/client-node';
import { describe, expect, test } from 'vitest';
import { serviceHere } from '../../src/cli/connection/service-here.ts';
import { CLIENT_VARIABLES } from '../../src/config/client-variables.ts';
import { documentedValues } from '../../scripts/chart-values.ts';
import { VARIABLES } from '../../src/config/environment.ts';
import { at, CHART, describeWithHelm, environmentOf, one, render, type Values } from './support/render.ts';

/* README.md, values.yaml and values.schema.json of the chart say the same, and all that the product can is there. */

const text = readFileSync(join(CHART, 'values.yaml'), 'utf8');
const values = loadYaml<Values>(text);
const { rows, undocumented } = documentedValues(text);
const schema = JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8')) as unknown;

describe('values.yaml', () => {
  test('has words above every value', () => {
    expect(rows.length).toBeGreaterThan(150);
    expect(undocumented).toEqual([]);
  });

  test('stands in README.md, which a terminal shows: a line for each value, few bytes and no long line', () => {
    const readme = readFileSync(join(CHART, 'README.md'), 'utf8');
    expect(Buffer.byteLength(readme)).toBeLessThanOrEqual(30 * 1024);
    expect(readme.split('\n').filter((line) => line.length > 120)).toEqual([]);
    const [, ...sections] = readme.slice(readme.indexOf('\n## Values\n')).split(/^### /m);
    const told = sections.flatMap((section) => {
      const [title = ''] = section.split('\n');
      const paths = [...section.matchAll(/^- `([^`]+)`/gm)].flatMap(([, path = '']) => spelledOut(path));
      return paths.map((path) => (title === 'At the top' ? path : `${title}.${path}`));
    });
    expect(told.toSorted()).toEqual(rows.map(({ path }) => path).toSorted());
  });
});

describe('values.schema.json', () => {
  test('knows every value of values.yaml', () => {
    expect(leaves(values).filter((path) => !knows(schema, path))).toEqual([]);
  });

  test('knows no other', () => {
    const there = new Set(
      leaves(values).flatMap((path) => path.split('.').map((_, i, all) => all.slice(0, i + 1).join('.'))),
    );
    expect(properties(schema).filter((path) => !there.has(path) && !/^(?:split\.\w+|global)\./.test(path))).toEqual([]);
  });

  test('is closed at every level that it names, but what is shared with other charts', () => {
    expect(openLevels(schema)).toEqual(['global']);
  });
});

describeWithHelm('the product', () => {
  const everything: Values = {
    store: {
      type: 'etcd',
      etcd: { endpoints: ['https://etcd:2379'], tls: { existingSecret: 'tls' }, auth: { existingSecret: 'user' } },
    },
    tls: {
      api: { existingSecret: 'api' },
      device: { existingSecret: 'device' },
      ops: { existingSecret: 'ops' },
      panel: { existingSecret: 'panel' },
    },
    operator: {
      namespaces: ['team-a'],
      namespaceSelector: 'team',
      secretTemplate: { labels: { team: 'a' } },
    },
    config: {
      trustedProxies: ['10.0.0.0/8'],
      egressProxy: 'http://proxy.example:3128',
      egressAllow: ['10.20.0.0/16', 'fd12::/16'],
      auditLog: 'stdout',
      apiIdleSeconds: 70,
      deviceIdleSeconds: 140,
      opsIdleSeconds: 70,
    },
    opamp: {
      template: 'a: $(MUSTER_ENDPOINT)\nb: $(MUSTER_HEADERS)\n',
      bootstrap: 'on',
      url: 'https://devices.example.com/v1/opamp',
      ca: '-----BEGIN CERTIFICATE-----\n',
    },
    panel: {
      enabled: true,
      url: 'https://muster.example.com',
      publicApiUrl: 'https://api.example.com',
      publicDeviceUrl: 'https://devices.example.com/fleet',
      idleSeconds: 70,
      oidc: {
        issuer: 'https://id.example.com',
        clientId: 'muster',
        existingSecret: 'oidc',
        groups: ['operator platform'],
        secondFactor: 'mfa hwk',
      },
    },
  };

  test('has no variable that the chart does not set', async () => {
    const set = [{}, everything].map(async (values) => {
      return Object.keys(environmentOf(one(await render({ values }), 'Deployment', 'muster')));
    });
    const names = new Set((await Promise.all(set)).flat());
    // In a file, not in the variable: what stands in a pod's spec is read by many.
    const asFiles = new Set(['MUSTER_OPERATOR_TOKEN', 'MUSTER_ETCD_PASSWORD']);
    expect(VARIABLES.filter((name) => !names.has(name) && !asFiles.has(name))).toEqual([]);
    const known = new Set<string>([...VARIABLES, ...CLIENT_VARIABLES]);
    expect([...names].filter((name) => !known.has(name))).toEqual([]);
  });

  test.each([
    ['the trial', {}, undefined],
    ['IPv6 alone', { config: { listenHost: '[::]' } }, undefined],
    [
      'one role a pod',
      { split: { enabled: true }, store: { type: 'etcd', etcd: { endpoints: ['http://etcd:2379'] } } },
      undefined,
    ],
    ['TLS on the API alone', { tls: { api: { existingSecret: 'api' } } }, '/etc/muster/tls-api/tls.crt'],
    ['every value', everything, ['api', 'device', 'ops'].map((name) => `/etc/muster/tls-${name}/tls.crt`).join(':')],
  ])('leads a command beside it to the service of its own pod: %s', async (_what, values, ca) => {
    const documents = await render({ values });
    const pods = documents.filter((document) => at(document, 'kind') === 'Deployment');
    expect(pods.length).toBeGreaterThan(0);
    for (const pod of pods) {
      const env = environmentOf(pod);
      const own = Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith('MUSTER_CLIENT_')));
      const { variables } = serviceHere({ MUSTER_DATA_DIR: '/not/in/the/pod', ...env });
      const roles = env['MUSTER_ROLES']?.split(',') ?? [];
      const { MUSTER_CLIENT_URL, MUSTER_CLIENT_DEVICE_URL, ...others } = variables;
      expect(own).toEqual({
        ...others,
        ...(roles.includes('api') && { MUSTER_CLIENT_URL }),
        ...(roles.includes('device') && { MUSTER_CLIENT_DEVICE_URL }),
      });
      // test/service/ops-tls.test.ts asks a service by what is translated so.
      expect(own['MUSTER_CLIENT_CA_FILE']).toBe(ca);
    }
  });
});

/** `{a,b}.c` is `a.c` and `b.c`. */
function spelledOut(path: string): string[] {
  const [, names, rest] = /^\{(.*)\}(.*)$/.exec(path) ?? [];
  return names === undefined ? [path] : names.split(',').map((name) => `${name}${rest}`);
}

/** The paths of all values that are no map, or an empty one. */
function leaves(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [path];
  const entries = Object.entries(value);
  if (entries.length === 0) return [path];
  return entries.flatMap(([key, inner]) => leaves(inner, path === '' ? key : `${path}.${key}`));
}

function resolved(node: unknown): unknown {
  const reference = at(node, '$ref');
  return typeof reference === 'string' ? at(schema, ...reference.slice(2).split('/')) : node;
}

/** Whether the schema names the value, or leaves its inner structure to Kubernetes. */
function knows(node: unknown, path: string): boolean {
  const [first = '', ...rest] = path.split('.');
  const here = resolved(node);
  if (at(here, 'properties') === undefined) return true;
  const next = at(here, 'properties', first);
  return next !== undefined && (rest.length === 0 || knows(next, rest.join('.')));
}

function properties(node: unknown, path = ''): string[] {
  const own = at(resolved(node), 'properties');
  if (typeof own !== 'object' || own === null) return path === '' ? [] : [path];
  return Object.entries(own).flatMap(([key, inner]) => properties(inner, path === '' ? key : `${path}.${key}`));
}

function openLevels(node: unknown, path = ''): string[] {
  const here = resolved(node);
  const own = at(here, 'properties');
  if (typeof own !== 'object' || own === null) return [];
  const inner = Object.entries(own).flatMap(([key, next]) => openLevels(next, path === '' ? key : `${path}.${key}`));
  return at(here, 'additionalProperties') === false ? inner : [path, ...inner];
}
