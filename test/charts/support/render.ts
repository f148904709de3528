import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { loadAllYaml } from '@kubernetes/client-node';
import { describe } from 'vitest';
import { command } from '../../cluster/support/control-plane/command.ts';
import { toolPath, VERSIONS } from '../../cluster/support/control-plane/tools.ts';

export const ROOT = resolve(import.meta.dirname, '../../..');
export const CHART = join(ROOT, 'charts/muster');
export type Helm = 3 | 4;

export const KUBE_VERSION = VERSIONS.get('kubernetes') ?? '';

/** Values as a person would write them. */
export type Values = Readonly<Record<string, unknown>>;

/** The values that etcd needs, for renderings that are not about the store. */
export const ON_ETCD: Values = { store: { type: 'etcd', etcd: { endpoints: ['https://etcd:2379'] } } };

export interface RenderOptions {
  readonly values?: Values;
  readonly file?: string;
  readonly chart?: string;
  readonly namespace?: string;
  readonly release?: string;
  readonly kubeVersion?: string;
  readonly helm?: Helm;
  /** The APIs of the cluster beside Kubernetes' own, as `security.openshift.io/v1`. */
  readonly apiVersions?: readonly string[];
}

/** An object of Kubernetes, as far as all of them are alike; what lies deeper is read by `at`. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

/** `helm template`, without a cluster, as GitOps tools call it. @throws CommandError with helm's words */
export function template(options: RenderOptions = {}): Promise<string> {
  const { values = {}, file, chart = CHART, namespace = 'fleet', helm = 3, apiVersions = [] } = options;
  const { release = 'muster', kubeVersion = KUBE_VERSION } = options;
  const args = ['template', release, chart, '--namespace', namespace, '--kube-version', kubeVersion];
  if (file !== undefined) args.push('--values', file);
  for (const name of apiVersions) args.push('--api-versions', name);
  return command(toolPath(`helm${helm}`), [...args, '--values', '-'], { input: JSON.stringify(values) });
}

export async function render(options: RenderOptions = {}): Promise<KubeObject[]> {
  return parse(await template(options));
}

/**
 * The client knows Kubernetes' own kinds, drops what they do not have and renames fields: a slip of the chart would
 * vanish. A kind that it does not know stays as it is written.
 */
export function parse(text: string): KubeObject[] {
  const objects = loadAllYaml(text.replaceAll(/^kind: /gm, 'kind: Written')) as (KubeObject | null | undefined)[];
  const there = objects.filter((object): object is KubeObject => Boolean(object));
  return there.map((object) => ({ ...object, kind: object.kind.slice('Written'.length) }));
}

export const ofKind = (objects: readonly KubeObject[], kind: string): KubeObject[] =>
  objects.filter((object) => object.kind === kind);

/** The value at a path of fields and numbers; undefined where it ends early. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  let here = value;
  for (const step of path) {
    if (typeof here !== 'object' || here === null) return undefined;
    here = (here as Record<string | number, unknown>)[step];
  }
  return here;
}

export const listAt = (value: unknown, ...path: readonly (string | number)[]): unknown[] => {
  const list = at(value, ...path);
  return Array.isArray(list) ? list : [];
};

/** The templates of all pods that the objects make, by the name of who makes them. */
export function podsOf(
  objects: readonly KubeObject[],
): { readonly of: string; readonly spec: unknown; readonly metadata: unknown }[] {
  return objects.flatMap((object) => {
    const of = `${object.kind} ${object.metadata.name}`;
    if (object.kind === 'Pod') return [{ of, spec: at(object, 'spec'), metadata: object.metadata }];
    const template = at(object, 'spec', 'template');
    return template === undefined ? [] : [{ of, spec: at(template, 'spec'), metadata: at(template, 'metadata') }];
  });
}

/** The one object of that kind and name. */
export function one(objects: readonly KubeObject[], kind: string, name: string): KubeObject {
  const found = objects.filter((object) => object.kind === kind && object.metadata.name === name);
  if (found.length !== 1 || !found[0]) throw new Error(`${found.length} of ${kind} ${name}`);
  return found[0];
}

/** Name and value of a container's variables; of those from a Secret, its name and key. */
export function environmentOf(deployment: KubeObject): Record<string, string> {
  const variables = listAt(deployment, 'spec', 'template', 'spec', 'containers', 0, 'env');
  return Object.fromEntries(
    variables.map((variable) => {
      const from = at(variable, 'valueFrom', 'secretKeyRef');
      const value =
        from === undefined ? at(variable, 'value') : `${String(at(from, 'name'))}/${String(at(from, 'key'))}`;
      return [String(at(variable, 'name')), String(value)];
    }),
  );
}

/** Tests that only need helm: skipped with the reason where it is missing; in CI that is a failure. */
export function describeWithHelm(title: string, suite: () => void): void {
  const missing = (['helm3', 'helm4'] as const).filter((tool) => !existsSync(toolPath(tool)));
  const reason = `no ${missing.join(', ')}: run .ci/kubernetes/build.sh helm3 helm4, with Go on the PATH`;
  if (missing.length > 0 && process.env['CI']) throw new Error(`CI needs helm: ${reason}`);
  describe.skipIf(missing.length > 0)(missing.length > 0 ? `${title} (${reason})` : title, () => {
    suite();
  });
}
