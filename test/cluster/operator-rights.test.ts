import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Muster } from '../support/service/muster.ts';
import type { ApiAccess } from './support/api-access.ts';
import { eventually } from './support/control-plane/program.ts';
import { sharedPlane } from './support/control-plane/shared-plane.ts';
import { describeOn } from './support/control-plane/tools.ts';
import { Namespace, operating, works } from './support/operated.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** The examples of docs/KUBERNETES.md, as one file. */
const examples = (): string =>
  [...readFileSync(resolve(ROOT, 'docs/KUBERNETES.md'), 'utf8').matchAll(/```yaml\n(.*?)```/gs)]
    .map(([, text = '']) => text)
    .join('---\n');

/* The rights that the chart gives, and the examples of the manual: each is enough for the other. */

describeOn('helm', 'the operator with the rights that the chart gives it', () => {
  let plane: ApiAccess;
  let muster: Muster;
  let team: Namespace;
  let beside: Namespace;
  beforeAll(async () => {
    plane = await sharedPlane();
    team = await Namespace.create(plane, 'team');
    beside = await Namespace.create(plane, 'beside');
    await team.kubectl(['create', 'serviceaccount', 'muster']);
    const values = ['operator.watchReleaseNamespace=true', 'serviceAccount.create=false', 'serviceAccount.name=muster'];
    const template = [
      'template',
      team.name,
      resolve(ROOT, 'charts/muster'),
      `--namespace=${team.name}`,
      '--kube-version=1.36.3',
    ];
    const sets = [...values, 'store.type=sqlite'].map((value) => `--set=${value}`);
    const rbac = await plane.helm(3, [...template, ...sets, '--show-only=templates/rbac.yaml']);
    await plane.kubectl(['apply', '--filename=-'], rbac);
    const kubeconfig = await plane.serviceAccount(team.name, 'muster');
    muster = await Muster.start({ env: operating(kubeconfig, team.name) });
  });
  afterAll(async () => {
    await muster?.[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });

  test('carries out the examples of the manual', async () => {
    await team.kubectl(['apply', '--validate=strict', '--filename=-'], examples());
    await team.ready('facct', 'acme', 'Synced');
    await team.ready('fkey', 'ci', 'Issued');
    await team.ready('fapp', 'edge-collector', 'Active');
    expect(await team.secret('edge-collector', 'supervisor.yaml')).toContain('executable: "/otelcol-contrib"');
    expect(await works(muster, await team.secret('muster-api-key', 'apiKey'))).toBe(true);
    await eventually('the events', async () => (await team.events('ci')).includes('KeyIssued'));
  });

  test('cleans up after them', async () => {
    await team.kubectl(['delete', '--filename=-', '--wait=false'], examples());
    await eventually('all to be gone', async () => {
      const left = await team.kubectl(['get', 'facct,fkey', '--output=name']);
      return left === '';
    });
  });

  test('was refused nothing by the API server', async () => {
    const metrics = await (await fetch(`${muster.ops}/metrics`)).text();
    expect(metrics).toContain('muster_kubernetes_requests_total');
    expect(metrics).not.toMatch(/muster_kubernetes_requests_total\{[^}]*answer="4xx"[^}]*\} [1-9]/);
  });

  test('sees no Secret of another namespace', async () => {
    const kubectl = plane.kubectlWith(await plane.serviceAccount(team.name, 'muster'));
    await expect(kubectl(['get', 'secrets', `--namespace=${beside.name}`])).rejects.toThrow(
      'cannot list resource "secrets"',
    );
    await expect(kubectl(['create', 'configmap', 'one', `--namespace=${team.name}`])).rejects.toThrow(
      'cannot create resource',
    );
  });
});
