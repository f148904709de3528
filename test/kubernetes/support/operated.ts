import type { MusterOptions } from '../../support/muster.ts';
import { OPERATOR_TOKEN, call, type Answer, type Muster } from '../../support/muster.ts';
import type { ControlPlane } from './control-plane.ts';
import { eventually } from './program.ts';
import { join, resolve } from 'node:path';

/* What the tests of the operator have in common: a control plane with the kinds, and words to speak of resources. */

const CRDS = resolve(import.meta.dirname, '../../../charts/muster/files/crds');

export const DEVICE_URL = 'https://devices.example.com';

/** A control plane that knows the four kinds. */
export async function installCrds(plane: ControlPlane): Promise<void> {
  await plane.kubectl(['apply', '--filename', CRDS]);
  await plane.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s']);
}

/** Variables of a Muster whose operator follows these namespaces. */
export const operating = (kubeconfig: string, ...namespaces: readonly string[]): NonNullable<MusterOptions['env']> => ({
  MUSTER_ROLES: 'api,device,controller,kubernetes',
  MUSTER_KUBERNETES_NAMESPACES: namespaces.join(','),
  MUSTER_KUBERNETES_DEVICE_URL: DEVICE_URL,
  KUBECONFIG: kubeconfig,
});

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration: number;
}

export interface Told {
  readonly metadata: {
    readonly uid: string;
    readonly generation: number;
    readonly resourceVersion: string;
    readonly finalizers?: readonly string[];
  };
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status: Readonly<Record<string, unknown>> & { readonly conditions?: readonly Condition[] };
  readonly data?: Readonly<Record<string, string>>;
}

/** The resources of one namespace, as a user of kubectl has them. */
export class Namespace {
  readonly name: string;
  readonly #plane: ControlPlane;

  private constructor(plane: ControlPlane, name: string) {
    this.#plane = plane;
    this.name = name;
  }

  static async create(plane: ControlPlane, name: string): Promise<Namespace> {
    await plane.kubectl(['create', 'namespace', name]);
    return new Namespace(plane, name);
  }

  kubectl(args: readonly string[], input?: string): Promise<string> {
    return this.#plane.kubectl([...args, '--namespace', this.name], input);
  }

  /** @throws CommandError with the API server's words where it refuses */
  async apply(kind: string, name: string, spec: object): Promise<void> {
    await this.applyAll([{ kind, name, spec }]);
  }

  async applyAll(wishes: readonly { kind: string; name: string; spec: object }[]): Promise<void> {
    const items = wishes.map(({ kind, name, spec }) => ({
      apiVersion: 'muster.dev/v1beta1',
      kind,
      metadata: { name },
      spec,
    }));
    await this.kubectl(['apply', '--filename=-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  }

  async patch(kind: string, name: string, patch: object): Promise<void> {
    await this.kubectl(['patch', kind, name, '--type=merge', `--patch=${JSON.stringify(patch)}`]);
  }

  async get(kind: string, name: string): Promise<Told | undefined> {
    const text = await this.kubectl(['get', kind, name, '--ignore-not-found', '--output=json']);
    if (text.trim() === '') return undefined;
    const { metadata, spec, status, data } = JSON.parse(text) as Pick<Told, 'metadata' | 'data'> & Partial<Told>;
    return { metadata, spec: spec ?? {}, status: status ?? {}, ...(data && { data }) };
  }

  async all(kind: string): Promise<readonly (Told & { readonly metadata: { readonly name: string } })[]> {
    const { items } = JSON.parse(await this.kubectl(['get', kind, '--output=json'])) as {
      items: (Told & { metadata: { name: string } })[];
    };
    return items;
  }

  /** Resolves once the resource's Ready says this of its newest generation. */
  async ready(kind: string, name: string, reason: string): Promise<Told> {
    let told: Told | undefined;
    let said: Condition | undefined;
    await eventually(`${kind} ${name} to be ${reason}`, async () => {
      told = await this.get(kind, name);
      said = told?.status.conditions?.find(({ type }) => type === 'Ready');
      return said?.reason === reason && said.observedGeneration === told?.metadata.generation;
    });
    if (!told) throw new Error(`there is no ${kind} ${name}`);
    return told;
  }

  /** Deletes it, and waits until it is gone. */
  async delete(kind: string, name: string): Promise<void> {
    await this.kubectl(['delete', kind, name, '--timeout=120s']);
  }

  /** A value of a Secret. */
  async secret(name: string, key: string): Promise<string | undefined> {
    const value = (await this.get('secret', name))?.data?.[key];
    return value === undefined ? undefined : Buffer.from(value, 'base64').toString();
  }

  /** The reasons of the events about a resource, in no order. */
  async events(name: string): Promise<readonly string[]> {
    const { items } = JSON.parse(await this.kubectl(['get', 'events.events.k8s.io', '--output=json'])) as {
      items: { regarding: { name: string }; reason: string }[];
    };
    return items.filter(({ regarding }) => regarding.name === name).map(({ reason }) => reason);
  }
}

export const operatorApi = (
  muster: Pick<Muster, 'ops'>,
  path: string,
  method = 'GET',
  body?: object,
): Promise<Answer> =>
  call(`${muster.ops}/operator/v1/${path}`, { method, token: OPERATOR_TOKEN, ...(body && { body }) });

/** Whether the key opens `/v1`. */
export const works = async (muster: Pick<Muster, 'api'>, apiKey: string | undefined): Promise<boolean> =>
  (await call(`${muster.api}/v1/apps`, { token: apiKey })).status === 200;

export const apiKeysOf = async (muster: Pick<Muster, 'ops'>, accountId: unknown): Promise<readonly string[]> => {
  const { body } = await operatorApi(muster, `accounts/${String(accountId)}/api-keys`);
  return (body['apiKeys'] as { keyId: string }[]).map(({ keyId }) => keyId);
};

export const kubeconfigOf = (plane: ControlPlane): string => join(plane.directory, 'admin.kubeconfig');
