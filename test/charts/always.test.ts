import { expect, test } from 'vitest';
import { at, describeWithHelm, listAt, ofKind, podsOf, type KubeObject } from './support/render.ts';
import { variant, VARIANTS } from './support/variants.ts';

/* The rules that hold for every rendering, whatever the values. */

const ALL = Object.keys(VARIANTS);

describeWithHelm('every pod', () => {
  test.each(ALL)('of %s has no right that it does not need', async (name) => {
    const pods = podsOf(await variant(name));
    expect(pods.length).toBeGreaterThan(1);
    for (const { of, spec } of pods) {
      const what = `${name}: ${of}`;
      expect(at(spec, 'securityContext', 'runAsNonRoot'), `in ${what}`).toBe(true);
      expect(at(spec, 'securityContext', 'seccompProfile', 'type'), `in ${what}`).toBe('RuntimeDefault');
      expect(at(spec, 'securityContext', 'runAsUser'), `in ${what}`).toBeUndefined();
      for (const container of listAt(spec, 'containers')) {
        const context = at(container, 'securityContext');
        expect(context, `in ${what}`).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        expect(at(container, 'resources', 'requests'), `in ${what}`).toBeDefined();
      }
    }
  });

  test.each(ALL)('of %s leaves its last lines in the status of a container that has failed', async (name) => {
    for (const { of, spec } of podsOf(await variant(name))) {
      for (const container of listAt(spec, 'containers')) {
        expect(at(container, 'terminationMessagePolicy'), `in ${of}`).toBe('FallbackToLogsOnError');
      }
    }
  });

  test.each(ALL)(
    'of %s mounts only what it has, and nothing by a subPath, which never shows a renewal',
    async (name) => {
      for (const { of, spec } of podsOf(await variant(name))) {
        const volumes = new Set(listAt(spec, 'volumes').map((volume) => at(volume, 'name')));
        const mounts = listAt(spec, 'containers', 0, 'volumeMounts');
        for (const mount of mounts) {
          expect(volumes, `in ${of}`).toContain(at(mount, 'name'));
          expect(at(mount, 'subPath'), `in ${of}`).toBeUndefined();
        }
        expect(mounts.length, `in ${of}`).toBe(volumes.size);
      }
    },
  );

  test.each(ALL)('of %s has a token of the API only where it speaks to it', async (name) => {
    for (const { of, spec } of podsOf(await variant(name))) {
      const roles = listAt(spec, 'containers', 0, 'env').find((variable) => at(variable, 'name') === 'MUSTER_ROLES');
      const isJob = of.startsWith('Job ');
      const operates = String(at(roles, 'value')).includes('kubernetes') && of.startsWith('Deployment ');
      expect(at(spec, 'automountServiceAccountToken'), `in ${of}`).toBe(isJob || operates);
    }
  });

  test.each(ALL)('of %s has no empty text, which the API server leaves out: a diff would show it', async (name) => {
    for (const { of, spec } of podsOf(await variant(name))) {
      for (const container of listAt(spec, 'containers')) {
        for (const variable of listAt(container, 'env')) {
          expect(at(variable, 'value'), `${String(at(variable, 'name'))} of ${of}`).not.toBe('');
        }
      }
    }
  });

  test.each(ALL)('of %s has no secret in its spec', async (name) => {
    for (const { of, spec } of podsOf(await variant(name))) {
      for (const variable of listAt(spec, 'containers', 0, 'env')) {
        const value = at(variable, 'value');
        if (value !== undefined) expect(String(at(variable, 'name')), `in ${of}`).not.toMatch(/TOKEN$|PASSWORD$/);
      }
    }
  });
});

describeWithHelm('the rights', () => {
  const rulesOf = (role: KubeObject): unknown[] => listAt(role, 'rules');

  test.each(ALL)('of %s have no star, and Secrets only in named namespaces', async (name) => {
    const objects = await variant(name);
    for (const role of [...ofKind(objects, 'Role'), ...ofKind(objects, 'ClusterRole')]) {
      expect(JSON.stringify(rulesOf(role)), `in ${role.metadata.name}`).not.toContain('*');
      if (role.kind !== 'ClusterRole') continue;
      for (const rule of rulesOf(role)) {
        if (!listAt(rule, 'apiGroups').includes('')) continue;
        const ofNamespaces = { resources: ['namespaces'], verbs: ['get', 'list', 'watch'] };
        expect(rule, `in ${role.metadata.name}`).toMatchObject(ofNamespaces);
      }
    }
  });

  test.each(ALL)('of %s on Leases in the whole cluster are on those of the operator alone', async (name) => {
    for (const role of ofKind(await variant(name), 'ClusterRole')) {
      for (const rule of rulesOf(role)) {
        if (!listAt(rule, 'resources').includes('leases')) continue;
        expect(listAt(rule, 'resourceNames'), `in ${role.metadata.name}`).toEqual(['muster-operator']);
        expect(listAt(rule, 'verbs')).not.toContain('create');
      }
    }
  });

  test.each(ALL)('of %s are bound to accounts that are there', async (name) => {
    const objects = await variant(name);
    const accounts = new Set(ofKind(objects, 'ServiceAccount').map(({ metadata }) => metadata.name));
    for (const binding of [...ofKind(objects, 'RoleBinding'), ...ofKind(objects, 'ClusterRoleBinding')]) {
      for (const subject of listAt(binding, 'subjects')) expect(accounts).toContain(at(subject, 'name'));
      const role = objects.find(
        ({ kind, metadata }) =>
          kind === at(binding, 'roleRef', 'kind') &&
          metadata.name === at(binding, 'roleRef', 'name') &&
          metadata.namespace === (kind === 'Role' ? binding.metadata.namespace : undefined),
      );
      expect(role, `in ${binding.metadata.name}`).toBeDefined();
    }
  });
});

describeWithHelm('the objects', () => {
  test.each(ALL)(
    'of %s have names of their own, a namespace where they lie in one, and the labels of the release',
    async (name) => {
      const objects = await variant(name);
      const names = objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`);
      expect(new Set(names).size).toBe(names.length);
      const ofCluster = new Set(['ClusterRole', 'ClusterRoleBinding', 'CustomResourceDefinition']);
      for (const { kind, metadata } of objects) {
        expect(metadata.namespace !== undefined, `${kind} ${metadata.name}`).toBe(!ofCluster.has(kind));
        if (kind === 'Certificate') continue;
        expect(metadata.labels, `${kind} ${metadata.name}`).toMatchObject({
          'app.kubernetes.io/name': 'muster',
          'app.kubernetes.io/instance': 'muster',
          'app.kubernetes.io/managed-by': 'Helm',
        });
        expect(metadata.name.length).toBeLessThanOrEqual(63);
      }
    },
  );

  test.each(ALL)('of %s: each Service finds the pods that serve it, and none of a Job', async (name) => {
    const objects = await variant(name);
    const pods = podsOf(objects);
    for (const service of ofKind(objects, 'Service')) {
      const selector = Object.entries(at(service, 'spec', 'selector') as Record<string, string>);
      const found = pods.filter(({ metadata }) =>
        selector.every(([key, value]) => at(metadata, 'labels', key) === value),
      );
      expect(found.length, `in ${service.metadata.name}`).toBeGreaterThan(0);
      const port = at(service, 'spec', 'ports', 0, 'targetPort');
      for (const { of, spec } of found) {
        expect(of).toMatch(/^Deployment /);
        const ports = listAt(spec, 'containers', 0, 'ports').map((each) => at(each, 'name'));
        expect(ports, `${service.metadata.name} of ${of}`).toContain(port);
      }
    }
  });
});
