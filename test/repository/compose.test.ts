import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { loadYaml } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { CLIENT, CLIENT_VARIABLES } from '../../src/config/client-variables.ts';
import { readConfig } from '../../src/config/config.ts';
import { VARIABLES } from '../../src/config/environment.ts';
import { VERSION } from '../../src/version.ts';
import { findPrometheus } from '../support/monitoring/prometheus-binary.ts';
import { KEY_FILE_TEXT, OPERATOR_TOKEN } from '../support/service/muster.ts';

/* deploy/compose.yaml, as far as it can be told without pulling an image. */

const DEPLOY = resolve(import.meta.dirname, '../../deploy');
const textOf = (path: string): string => readFileSync(join(DEPLOY, path), 'utf8');

const service = z.looseObject({
  image: z.string(),
  build: z.object({ context: z.string(), dockerfile: z.string() }).optional(),
  environment: z.record(z.string(), z.string()).default({}),
  volumes: z.array(z.string()).default([]),
  ports: z.array(z.string()).default([]),
  secrets: z.array(z.string()).default([]),
  depends_on: z.array(z.string()).default([]),
});
const composeSchema = z.looseObject({
  services: z.record(z.string(), service),
  volumes: z.record(z.string(), z.null()),
  secrets: z.record(z.string(), z.strictObject({ file: z.string() })),
});

/** With what `<<` merges in: compose does so, this parser leaves it to us. */
function merged(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => merged(item));
  if (typeof value !== 'object' || value === null) return value;
  const own = Object.entries(value).filter(([key]) => key !== '<<');
  const from = '<<' in value ? (merged(value['<<']) as object) : {};
  return { ...from, ...Object.fromEntries(own.map(([key, item]) => [key, merged(item)])) };
}

const compose = composeSchema.parse(merged(loadYaml(textOf('compose.yaml'))));
const services = Object.entries(compose.services).map(([name, its]) => ({ name, ...its }));
const named = (prefix: string): typeof services => services.filter(({ name }) => name.startsWith(prefix));

test('three etcd, two replicas, Prometheus and Grafana', () => {
  expect(services.map(({ name }) => name).toSorted()).toEqual([
    'etcd-1',
    'etcd-2',
    'etcd-3',
    'grafana',
    'muster-1',
    'muster-2',
    'prometheus',
  ]);
});

test.each(services)('$name: its image has a version, and can be another one', ({ image }) => {
  expect(image).toMatch(/^\$\{[A-Z]+_IMAGE:-[a-z0-9./-]+:v?\d+\.\d+\.\d+\}$/);
});

test.each(services)('$name: what is mounted is there', ({ volumes, secrets }) => {
  for (const volume of volumes) {
    const [source = '', target = '', mode] = volume.split(':');
    expect(target).toMatch(/^\//);
    if (!source.startsWith('.')) expect(Object.keys(compose.volumes)).toContain(source);
    else {
      expect(existsSync(join(DEPLOY, source))).toBe(true);
      expect(mode).toBe('ro');
    }
  }
  for (const secret of secrets) expect(Object.keys(compose.secrets)).toContain(secret);
});

test('ports are bound to this machine, each once', () => {
  const ports = services.flatMap(({ ports }) => ports);
  expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
  const outside = ports.map((port) => port.split(':')[1]);
  expect(new Set(outside).size).toBe(outside.length);
});

test('every service that another one waits for exists', () => {
  const waitedFor = services.flatMap(({ depends_on }) => depends_on);
  expect(waitedFor.filter((name) => !(name in compose.services))).toEqual([]);
});

describe('Muster', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'muster-compose-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test.each(named('muster'))(
    '$name: the service takes its configuration',
    ({ environment, secrets, ports, depends_on }) => {
      for (const variable of Object.keys(environment)) expect([...VARIABLES, ...CLIENT_VARIABLES]).toContain(variable);
      // Secrets lie elsewhere here.
      const env = Object.fromEntries(
        Object.entries(environment).map(([name, value]) => [name, value.replace('/run/secrets', folder)]),
      );
      const contents: Record<string, string> = {
        'operator-token': OPERATOR_TOKEN,
        keys: KEY_FILE_TEXT,
        'panel-cert': 'certificate',
        'panel-key': 'key',
      };
      for (const secret of secrets) execFileSync('tee', [join(folder, secret)], { input: contents[secret] ?? '' });
      const config = readConfig(env);
      expect(config.store).toMatchObject({
        kind: 'etcd',
        endpoints: depends_on.map((name) => `http://${name}:2379`),
      });
      expect(config.operatorTokens).toEqual([{ name: undefined, role: 'operator', token: OPERATOR_TOKEN }]);
      expect(env[CLIENT.operatorTokenFile]).toBe(env['MUSTER_OPERATOR_TOKEN_FILE']);
      const inside = Object.values(config.listen).flatMap((address) => (address ? [String(address.port)] : []));
      expect(ports.map((port) => port.split(':')[2])).toEqual(inside);
    },
  );

  test('its image is built from deploy/Dockerfile, under the version of this program', () => {
    for (const { build, image } of named('muster')) {
      expect(build).toEqual({ context: '..', dockerfile: 'deploy/Dockerfile' });
      expect(image).toContain(`muster:${VERSION}`);
    }
  });

  test('its secrets are made by the manual, and are not for git', () => {
    const manual = textOf('../docs/COMPOSE.md');
    for (const { file } of Object.values(compose.secrets)) {
      expect(manual).toContain(`deploy/compose/secrets/${basename(file)}`);
      expect(file).toMatch(/^\.\/compose\/secrets\//);
    }
    expect(textOf('../.gitignore').split('\n')).toContain('secrets/');
  });
});

test('the members of etcd know one another', () => {
  const members = named('etcd');
  const cluster = members.map(
    ({ environment }) => `${environment['ETCD_NAME']}=${environment['ETCD_INITIAL_ADVERTISE_PEER_URLS']}`,
  );
  for (const { name, environment } of members) {
    expect(environment['ETCD_NAME']).toBe(name);
    expect(environment['ETCD_INITIAL_CLUSTER']).toBe(cluster.join(','));
  }
});

test('Prometheus scrapes both replicas, and Grafana asks that Prometheus', () => {
  const config = z
    .looseObject({
      scrape_configs: z.array(
        z.object({ job_name: z.string(), static_configs: z.array(z.object({ targets: z.array(z.string()) })) }),
      ),
    })
    .parse(loadYaml(textOf('compose/prometheus.yml')));
  const targets = config.scrape_configs.flatMap(({ static_configs }) =>
    static_configs.flatMap((group) => group.targets),
  );
  expect(targets).toEqual(expect.arrayContaining(['muster-1:8082', 'muster-2:8082']));
  expect(targets.filter((target) => !((target.split(':')[0] as string) in compose.services))).toEqual([]);
  const { datasources } = z
    .looseObject({ datasources: z.array(z.looseObject({ url: z.string() })) })
    .parse(loadYaml(textOf('compose/grafana/datasources.yaml')));
  expect(datasources.map(({ url }) => url)).toEqual(['http://prometheus:9090']);
});

test('the boards are where Grafana looks for them', () => {
  const { providers } = z
    .looseObject({ providers: z.array(z.looseObject({ options: z.object({ path: z.string() }) })) })
    .parse(loadYaml(textOf('compose/grafana/dashboards.yaml')));
  const mounted =
    compose.services['grafana']?.volumes.map((volume) => volume.split(':').slice(0, 2).join(' to ')) ?? [];
  expect(mounted).toContain(`../charts/muster/files/dashboards to ${providers[0]?.options.path}`);
});

describe.skipIf(!findPrometheus())('promtool', () => {
  test('takes the configuration of Prometheus with the rules where they are mounted', () => {
    const folder = mkdtempSync(join(tmpdir(), 'muster-compose-'));
    for (const volume of compose.services['prometheus']?.volumes ?? []) {
      const [source = '', target = ''] = volume.split(':');
      if (!source.startsWith('.')) continue;
      mkdirSync(join(folder, 'etc/prometheus'), { recursive: true });
      cpSync(join(DEPLOY, source), join(folder, target), { recursive: true });
    }
    const told = execFileSync(
      findPrometheus()?.promtool ?? '',
      ['check', 'config', join(folder, 'etc/prometheus/prometheus.yml')],
      {
        encoding: 'utf8',
      },
    );
    rmSync(folder, { recursive: true });
    expect(told).toMatch(/SUCCESS: [6-9]\d* rule files found|SUCCESS: .*prometheus\.yml is valid/);
    expect(told.match(/SUCCESS: \d+ rules found/g)?.length).toBeGreaterThanOrEqual(6);
  });
});
