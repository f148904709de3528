import { execFile } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { CHART, KUBE_VERSION, ROOT, type Helm } from '../../charts/support/render.ts';
import { commandsOf } from '../../support/repository/document-commands.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { describeOn, toolPath } from '../support/control-plane/tools.ts';

/*
 * The commands of docs/INSTALL.md that need no node, as they stand, by helm 3 and 4: ways to install and to upgrade.
 */

describeOn('helm', 'docs/INSTALL.md on an API server', () => {
  let plane: ControlPlane;
  beforeAll(async () => {
    plane = await ControlPlane.start();
  });
  afterAll(() => plane[Symbol.asyncDispose]());
  afterEach(async () => {
    await plane.kubectl(['delete', 'namespace', 'fleet', 'other', 'team-a', 'edge-north', '--ignore-not-found']);
    await plane.kubectl(['delete', 'crd,clusterrole,clusterrolebinding', '--selector=app.kubernetes.io/name=muster']);
  });

  describe.each([3, 4] as const)('with helm %i', (helm) => {
    let folder: string;
    beforeAll(() => {
      folder = preparedFolder(plane, helm);
    });
    /** Runs it in a shell that ends at the first command that fails. @returns what it printed */
    const paste = async (commands: string): Promise<string> => {
      const env = {
        ...process.env,
        KUBECONFIG: plane.kubeconfig,
        HELM_DATA_HOME: folder,
        PATH: `${folder}/bin:${process.env['PATH']}`,
      };
      return (await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', commands], { cwd: folder, env })).stdout;
    };
    const sectionRuns = (section: string): Promise<string> => paste(commandsOf('docs/INSTALL.md', section));
    const replicas = (): Promise<string> =>
      paste('kubectl -n fleet get deployment muster -o jsonpath={.spec.replicas}');

    test('a trial follows the namespace of a team', async () => {
      await sectionRuns('A trial');
      expect(await paste('kubectl -n team-a get role -o name')).toContain('muster-operator');
    });

    test('what is rendered is applied by the API server, without the pod of a test', async () => {
      expect(await sectionRuns('Without helm in the cluster')).toContain('deployment.apps/muster serverside-applied');
      expect(await paste('kubectl -n fleet get pod muster-test -o name --ignore-not-found')).toBe('');
    });

    test('an upgrade has all values of the installation in production, and is refused with a part of them', async () => {
      const values = {
        store: { etcd: { endpoints: ['https://etcd:2379'] } },
        metrics: { podMonitor: { enabled: false }, prometheusRule: { enabled: false } },
      };
      writeFileSync(join(folder, 'my-values.yaml'), JSON.stringify(values));
      await paste('kubectl create namespace edge-north');
      const files = '--values examples/external-etcd/values.yaml --values my-values.yaml';
      await paste(`helm install muster charts/muster --namespace fleet --create-namespace ${files}`);
      const refused = await paste('helm upgrade muster charts/muster --namespace fleet --values my-values.yaml').catch(
        String,
      );
      expect(refused).toContain('store.type: is sqlite');
      await sectionRuns('Upgrade');
      const history = 'helm history muster --namespace fleet --output json';
      expect(JSON.parse(await paste(history))).toMatchObject([{}, { status: 'deployed' }]);
      expect(await replicas()).toBe('3');
    });

    test('an upgrade from a chart that had less says what is missing, and takes the defaults by the other flag', async () => {
      await paste(`helm install muster former --namespace fleet --create-namespace ${ON_ETCD} --set replicas=3`);
      const refused = await paste('helm upgrade muster charts/muster --namespace fleet --reuse-values').catch(String);
      expect(refused).toContain('terminationGracePeriodSeconds, autoscaling, config, crds,');
      expect(refused).toContain('take --reset-then-reuse-values');
      await sectionRuns('With the values of the release');
      expect(await replicas()).toBe('3');
    });

    test('a number that somebody else has set is that of the values again', async () => {
      await paste(`helm install muster charts/muster --namespace fleet --create-namespace ${ON_ETCD} --set replicas=3`);
      const scale = (count: number): Promise<string> =>
        paste(`kubectl -n fleet scale deployment -l ${OF_RELEASE} --replicas=${count}`);
      const upgrade = 'helm upgrade muster charts/muster --namespace fleet --reset-then-reuse-values';
      await scale(5);
      const said = await paste(`${upgrade} --set config.logLevel=debug`).catch(String);
      if (helm === 4) {
        expect(said).toContain('.spec.replicas');
        expect(await replicas()).toBe('5');
        await sectionRuns('What others have changed');
      }
      expect(await replicas()).toBe('3');
      // After a restore: none, and then the number of the values.
      await scale(0);
      await scale(3);
      await paste(`${upgrade} --set config.logLevel=warn`);
      expect(await replicas()).toBe('3');
    });

    test('definitions that another release has left are taken over where that is said', async () => {
      await paste('helm install other charts/muster --namespace other --create-namespace');
      await paste('helm uninstall other --namespace other');
      const refused = await paste('helm install muster charts/muster --namespace fleet --create-namespace').catch(
        String,
      );
      expect(refused).toContain('invalid ownership metadata');
      await sectionRuns('Objects of another release');
      expect(await paste('helm list --all-namespaces --short')).toBe('muster\n');
    });
  });
});

const ON_ETCD = `--set store.type=etcd --set 'store.etcd.endpoints={https://etcd:2379}'`;
const OF_RELEASE = 'app.kubernetes.io/instance=muster';

/** The chart, one of the same name that had fewer values, and the programs. */
function preparedFolder(plane: ControlPlane, helm: Helm): string {
  const folder = mkdtempSync(join(plane.directory, 'install-'));
  cpSync(CHART, join(folder, 'charts/muster'), { recursive: true });
  cpSync(join(ROOT, 'examples'), join(folder, 'examples'), { recursive: true });
  mkdirSync(join(folder, 'former/templates'), { recursive: true });
  writeFileSync(join(folder, 'former/Chart.yaml'), 'apiVersion: v2\nname: muster\nversion: 0.0.1\n');
  writeFileSync(join(folder, 'former/values.yaml'), JSON.stringify({ replicas: 1 }));
  writeFileSync(join(folder, 'former/templates/NOTES.txt'), 'Installed.\n');
  mkdirSync(join(folder, 'bin'));
  symlinkSync(toolPath('kubectl'), join(folder, 'bin/kubectl'));
  writeFileSync(join(folder, 'bin/helm'), wrapper(toolPath(`helm${helm}`)));
  chmodSync(join(folder, 'bin/helm'), 0o755);
  return folder;
}

/** No node runs pods here: nothing is waited for, and no test is run. This build of helm renders for an old version. */
const wrapper = (path: string): string => `#!/usr/bin/env bash
[ "$1" = test ] && exit
arguments=()
for argument; do [ "$argument" = --wait ] || arguments+=("$argument"); done
[ "$1" = template ] && arguments+=(--kube-version ${KUBE_VERSION})
exec ${path} "\${arguments[@]}"
`;
