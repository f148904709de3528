import { existsSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TcpProxy } from '../support/etcd/tcp-proxy.ts';
import { ControlPlane } from './support/control-plane/control-plane.ts';
import { eventually } from './support/control-plane/program.ts';
import { describeOn } from './support/control-plane/tools.ts';

/* The tests on Kubernetes rely on an API server that refuses what a real one refuses, and that comes back. */

describeOn('control plane', 'a control plane', () => {
  let plane: ControlPlane;
  beforeAll(async () => {
    plane = await ControlPlane.start();
  });
  afterAll(() => plane[Symbol.asyncDispose]());

  test('its controllers make the pods of a Deployment', async () => {
    await plane.kubectl(['create', 'deployment', 'web', '--image=web', '--replicas=2']);
    await eventually('two pods', async () => {
      const pods = await plane.kubectl(['get', 'pods', '--selector=app=web', '--output=name']);
      return pods.trim().split('\n').length === 2;
    });
    await plane.kubectl(['delete', 'deployment', 'web']);
  });

  test('a service account may do what its role says, and nothing else', async () => {
    await plane.kubectl(['create', 'serviceaccount', 'reader']);
    await plane.kubectl(['create', 'role', 'reader', '--verb=list', '--resource=configmaps']);
    await plane.kubectl(['create', 'rolebinding', 'reader', '--role=reader', '--serviceaccount=default:reader']);
    const kubectl = plane.kubectlWith(await plane.serviceAccount('default', 'reader'));
    await eventually('the role counts', async () => {
      const allowed = kubectl(['get', 'configmaps', '--output=name']);
      return await allowed.then(
        (names) => names.includes('kube-root-ca.crt'),
        () => false,
      );
    });
    await expect(kubectl(['get', 'secrets'])).rejects.toThrow('cannot list resource "secrets"');
  });

  test('Pod Security refuses a pod that may run as root', async () => {
    await plane.kubectl(['create', 'namespace', 'careful']);
    await plane.kubectl(['label', 'namespace', 'careful', 'pod-security.kubernetes.io/enforce=restricted']);
    const run = ['run', 'pod', '--image=web', '--namespace=careful'];
    await eventually('the namespace has its service account', async () => {
      const names = await plane.kubectl(['get', 'serviceaccounts', '--namespace=careful', '--output=name']);
      return names.includes('default');
    });
    await expect(plane.kubectl(run)).rejects.toThrow('violates PodSecurity "restricted:latest"');
    const careful = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } };
    const container = { name: 'pod', image: 'web' };
    const limits = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };
    const spec = { securityContext: careful, containers: [{ ...container, securityContext: limits }] };
    await plane.kubectl([...run, `--overrides=${JSON.stringify({ spec })}`]);
  });

  test('a restarted API server still has its objects', async () => {
    await plane.kubectl(['create', 'configmap', 'kept', '--from-literal=a=b']);
    await plane.stopApiServer();
    await expect(plane.kubectl(['get', 'configmap', 'kept'])).rejects.toThrow('refused');
    await plane.startApiServer();
    expect(await plane.kubectl(['get', 'configmap', 'kept', '--output=jsonpath={.data.a}'])).toBe('b');
  });

  test('a proxy may stand before it', async () => {
    await using proxy = await TcpProxy.before(Number(new URL(plane.server).port));
    const kubectl = plane.kubectlWith(plane.administrator('proxied', proxy.url.replace('http:', 'https:')));
    expect(await kubectl(['get', 'namespaces', '--output=name'])).toContain('namespace/default');
    await proxy.refuse();
    await expect(kubectl(['get', 'namespaces'])).rejects.toThrow('refused');
  });

  test('when it has ended, nothing of it is left', async () => {
    const { directory, apiServer } = plane;
    expect([existsSync(directory), existsSync(`/proc/${apiServer.pid}`)]).toEqual([true, true]);
    await plane[Symbol.asyncDispose]();
    expect([existsSync(directory), existsSync(`/proc/${apiServer.pid}`)]).toEqual([false, false]);
  });
});
