import { execFileSync } from 'node:child_process';
import { readFileSync, cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  at,
  CHART,
  describeWithHelm,
  environmentOf,
  listAt,
  ofKind,
  ON_ETCD,
  one,
  render,
  type KubeObject,
  type Values,
} from './support/render.ts';

/* TLS of the ops listener, with all that asks it, the certificates of cert-manager, and the notes. */

const podOf = (object: KubeObject): unknown => at(object, 'spec', 'template', 'spec');
const volume = (pod: unknown, name: string): unknown =>
  listAt(pod, 'volumes').find((volume) => at(volume, 'name') === name);
const names = (objects: readonly KubeObject[], kind: string): string[] =>
  ofKind(objects, kind).map(({ metadata }) => metadata.name);

describeWithHelm('TLS of the ops listener', () => {
  const tls = { ops: { existingSecret: 'ops' } };
  const monitored = async (kind: 'PodMonitor' | 'ServiceMonitor', values: Values, more = {}): Promise<unknown> => {
    const name = kind === 'PodMonitor' ? 'podMonitor' : 'serviceMonitor';
    const objects = await render({ values: { ...values, metrics: { ...more, [name]: { enabled: true } } } });
    return at(one(objects, kind, 'muster'), 'spec', kind === 'PodMonitor' ? 'podMetricsEndpoints' : 'endpoints', 0);
  };
  const ofTestPod = async (values: Values): Promise<(name: string) => unknown> => {
    const pod = one(await render({ values }), 'Pod', 'muster-test');
    const variables = listAt(pod, 'spec', 'containers', 0, 'env');
    return (name) =>
      at(
        variables.find((each) => at(each, 'name') === name),
        'value',
      );
  };

  test('goes to every pod, and the probes ask by it', async () => {
    const objects = await render({ values: { ...ON_ETCD, split: { enabled: true }, tls } });
    for (const each of ofKind(objects, 'Deployment')) {
      expect(environmentOf(each)).toMatchObject({
        MUSTER_OPS_TLS_CERT_FILE: '/etc/muster/tls-ops/tls.crt',
        MUSTER_OPS_TLS_KEY_FILE: '/etc/muster/tls-ops/tls.key',
      });
      expect(at(volume(podOf(each), 'tls-ops'), 'secret', 'secretName')).toBe('ops');
      for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
        const get = at(podOf(each), 'containers', 0, probe, 'httpGet');
        expect(get, `of the ${probe}`).toMatchObject({ port: 'ops', scheme: 'HTTPS' });
      }
    }
    expect(at(one(objects, 'Service', 'muster-ops'), 'spec', 'ports', 0, 'appProtocol')).toBe('https');
  });

  test('without it, nothing of it is there', async () => {
    const objects = await render({ values: { metrics: { podMonitor: { enabled: true } } } });
    const all = JSON.stringify(objects.filter(({ kind }) => kind !== 'CustomResourceDefinition'));
    expect(all).not.toMatch(/HTTPS|https:|tlsConfig|TLS_|tls-ops|CA_FILE/);
    expect((await ofTestPod({}))('MUSTER_CLIENT_OPS_URL')).toBe('http://muster-ops:8082');
  });

  test.each(['PodMonitor', 'ServiceMonitor'] as const)('a %s verifies by the authority of the Secret', async (kind) => {
    expect(await monitored(kind, { tls })).toMatchObject({
      scheme: 'https',
      tlsConfig: { serverName: 'muster-ops.fleet.svc', ca: { secret: { name: 'ops', key: 'ca.crt' } } },
    });
    const ofSystem = { ops: { existingSecret: 'ops', caKey: '', serverName: 'ops.example.com' } };
    expect(at(await monitored(kind, { tls: ofSystem }), 'tlsConfig')).toEqual({ serverName: 'ops.example.com' });
    expect(at(await monitored(kind, { tls }, { insecureSkipVerify: true }), 'tlsConfig')).toEqual({
      serverName: 'muster-ops.fleet.svc',
      insecureSkipVerify: true,
    });
  });

  test.each(['PodMonitor', 'ServiceMonitor'] as const)('a %s sends the token of its Secret', async (kind) => {
    const values = { config: { metricsAuth: 'token' } };
    expect(at(await monitored(kind, values, { token: { existingSecret: 'scrape' } }), 'authorization')).toEqual({
      type: 'Bearer',
      credentials: { name: 'scrape', key: 'metrics-token' },
    });
    expect(at(await monitored(kind, {}), 'authorization')).toBeUndefined();
  });

  test('helm test asks by the name of the certificate, and believes its authority', async () => {
    const told = await ofTestPod({ tls });
    expect(told('MUSTER_CLIENT_OPS_URL')).toBe('https://muster-ops.fleet.svc:8082');
    expect(told('MUSTER_CLIENT_CA_FILE')).toBe('/etc/muster/tls-ops-ca/ca.crt');
    const pod = one(await render({ values: { tls } }), 'Pod', 'muster-test');
    expect(at(volume(at(pod, 'spec'), 'tls-ops-ca'), 'secret')).toMatchObject({
      secretName: 'ops',
      items: [{ key: 'ca.crt', path: 'ca.crt' }],
    });
    expect(
      (await ofTestPod({ tls: { ops: { existingSecret: 'ops', caKey: '' } } }))('MUSTER_CLIENT_CA_FILE'),
    ).toBeUndefined();
  });

  test('the notes name the command that verifies it, and without it the one over HTTP', async () => {
    expect(await notes({ tls })).toContain(
      'curl -sS --cacert ops-ca.crt --resolve muster-ops.fleet.svc:8082:127.0.0.1 \\\n' +
        '     https://muster-ops.fleet.svc:8082/operator/v1/accounts',
    );
    expect(await notes({ tls })).toContain(
      "get secret ops \\\n     -o jsonpath='{.data.ca\\.crt}' | base64 -d > ops-ca.crt",
    );
    const plain = await notes({});
    expect(plain).toContain('curl -sS http://127.0.0.1:8082/operator/v1/accounts');
    expect(plain).not.toContain('ca.crt');
  });
});

describeWithHelm('the notes', () => {
  test('leave the authority of etcd, which may lie beside, and the name of a token out', async () => {
    const told = await notes({ tls: { ops: { existingSecret: 'ops' } } });
    expect(told).not.toMatch(/ ca\.crt/);
    const [, pipe = ''] = /base64 -d (\| grep .*)\)"/.exec(told) ?? [];
    const token = (lines: string): string => execFileSync('sh', ['-c', `cat ${pipe}`], { input: lines }).toString();
    expect(token('ann:new\nold\n')).toBe('new\n');
    expect(token('prom:metrics:other\nann:operator:new\n')).toBe('new\n');
    expect(token('plain\n')).toBe('plain\n');
  });

  const monitored = { podMonitor: { enabled: true } };
  const says = 'name that in networkPolicy.monitoringNamespace';

  test.each<[string, Values, boolean]>([
    ['a monitor, and nobody is let in', { metrics: monitored }, true],
    ['a namespace is named', { metrics: monitored, networkPolicy: { monitoringNamespace: 'monitoring' } }, false],
    ['other peers are', { metrics: monitored, networkPolicy: { opsFrom: [{ podSelector: {} }] } }, false],
    ['there is no policy', { metrics: monitored, networkPolicy: { enabled: false } }, false],
    ['there is no monitor', {}, false],
  ])('%s', async (_what, values, warns) => {
    expect((await notes(values)).includes(says)).toBe(warns);
  });
});

/** The notes as helm would print them: `helm template` leaves them out. */
async function notes(values: Values): Promise<string> {
  const chart = mkdtempSync(join(tmpdir(), 'muster-chart-'));
  try {
    cpSync(CHART, chart, { recursive: true });
    const text = readFileSync(join(CHART, 'templates/NOTES.txt'), 'utf8');
    const object =
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: notes}\ndata: {notes: {{ include "told" . | quote }}}';
    writeFileSync(join(chart, 'templates/told.yaml'), `{{- define "told" }}${text}{{ end -}}\n${object}\n`);
    return String(at(one(await render({ chart, values }), 'ConfigMap', 'notes'), 'data', 'notes'));
  } finally {
    rmSync(chart, { recursive: true });
  }
}

describeWithHelm('certificates of cert-manager', () => {
  const issuerRef = { name: 'internal', kind: 'ClusterIssuer' };
  const namesOf = (objects: readonly KubeObject[], name: string): unknown[] =>
    listAt(one(objects, 'Certificate', name), 'spec', 'dnsNames');

  test('are rendered for each listener without a Secret of its own, and the pods mount what comes of them', async () => {
    const tls = {
      device: { existingSecret: 'mine' },
      certManager: { enabled: true, issuerRef, dnsNames: { api: ['muster.example.com'] } },
    };
    const objects = await render({ values: { tls } });
    expect(names(objects, 'Certificate')).toEqual(['muster-api-tls', 'muster-ops-tls']);
    expect(at(one(objects, 'Certificate', 'muster-api-tls'), 'spec')).toMatchObject({
      secretName: 'muster-api-tls',
      dnsNames: ['muster-api.fleet.svc', 'muster-api.fleet', 'muster-api', 'muster.example.com'],
      issuerRef: { ...issuerRef, group: 'cert-manager.io' },
    });
    expect(namesOf(objects, 'muster-ops-tls')).toContain('muster-ops.fleet.svc');
    const pod = podOf(one(objects, 'Deployment', 'muster'));
    const mounted = ['api', 'device', 'ops'].map((name) => at(volume(pod, `tls-${name}`), 'secret', 'secretName'));
    expect(mounted).toEqual(['muster-api-tls', 'mine', 'muster-ops-tls']);
    // No template makes a secret.
    expect(names(objects, 'Secret')).toEqual([]);
  });

  test('are for the listeners that are named, and for none by default', async () => {
    const objects = await render({
      values: { tls: { certManager: { enabled: true, issuerRef, listeners: ['ops'] } } },
    });
    expect(names(objects, 'Certificate')).toEqual(['muster-ops-tls']);
    expect(volume(podOf(one(objects, 'Deployment', 'muster')), 'tls-api')).toBeUndefined();
    expect(names(await render(), 'Certificate')).toEqual([]);
  });

  test('of the ops listener is for the name by which it is asked', async () => {
    const tls = { ops: { serverName: 'ops.example.com' }, certManager: { enabled: true, issuerRef } };
    expect(namesOf(await render({ values: { tls } }), 'muster-ops-tls')[0]).toBe('ops.example.com');
  });
});
