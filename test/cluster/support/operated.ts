import { resolve } from 'node:path';
import process from 'node:process';
import type { MusterOptions } from '../../support/service/muster.ts';
import { call, OPERATOR_TOKEN, type Answer, type Muster } from '../../support/service/muster.ts';
import type { ApiAccess, KubeAnswer } from './api-access.ts';
import { eventually } from './control-plane/program.ts';

/* The common parts of the operator's tests: a control plane with the kinds, and helpers for resources. */

const CRDS = resolve(import.meta.dirname, '../../../charts/muster/files/crds');

export const DEVICE_URL = 'https://devices.example.com';

/** A control plane that knows the four kinds. */
export async function installCrds(plane: ApiAccess): Promise<void> {
  await plane.kubectl(['apply', '--filename', CRDS]);
  await plane.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s']);
}

/** Variables of a Muster whose operator follows these namespaces. */
export const operating = (kubeconfig: string, ...namespaces: readonly string[]): NonNullable<MusterOptions['env']> => ({
  MUSTER_ROLES: 'api,device,controller,kubernetes',
  MUSTER_KUBERNETES_NAMESPACES: namespaces.join(','),
  MUSTER_KUBERNETES_DEVICE_URL: DEVICE_URL,
  // A release of its own: one gives up the Leases that it holds in namespaces which it does not follow.
  MUSTER_KUBERNETES_RELEASE: `fleet/${namespaces[0] ?? 'muster'}`,
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

/** The path of the objects of a kind in the API, by the names that kubectl takes. */
const PLACES: Readonly<Record<string, readonly [group: string, plural: string]>> = {
  facct: ['apis/muster.dev/v1beta1', 'fleetaccounts'],
  fkey: ['apis/muster.dev/v1beta1', 'fleetapikeys'],
  fapp: ['apis/muster.dev/v1beta1', 'fleetapps'],
  fotel: ['apis/muster.dev/v1beta1', 'fleetotelconfigs'],
  secret: ['api/v1', 'secrets'],
  role: ['apis/rbac.authorization.k8s.io/v1', 'roles'],
  rolebinding: ['apis/rbac.authorization.k8s.io/v1', 'rolebindings'],
  event: ['apis/events.k8s.io/v1', 'events'],
  lease: ['apis/coordination.k8s.io/v1', 'leases'],
};
const KINDS: Readonly<Record<string, string>> = {
  FleetAccount: 'facct',
  FleetApiKey: 'fkey',
  FleetApp: 'fapp',
  FleetOtelConfig: 'fotel',
};

type Listed = Told & { readonly metadata: { readonly name: string } };

interface NamespaceOptions {
  /** Called before each check of the awaited condition, for a clock that moves only then. */
  readonly looking?: () => void;
  /** Its whole name; by default one that is no other one's. */
  readonly name?: string;
}

/** A check is one request of a few milliseconds. */
const LOOK_MS = 30;

let namespaces = 0;

/** The resources of one namespace, as the administrator has them. */
export class Namespace {
  readonly name: string;
  readonly #plane: ApiAccess;
  readonly #looking: () => void;

  private constructor(plane: ApiAccess, name: string, { looking = () => undefined }: NamespaceOptions) {
    this.#plane = plane;
    this.name = name;
    this.#looking = looking;
  }

  /** @param what the name begins with it, and is no other one's */
  static async create(plane: ApiAccess, what: string, options: NamespaceOptions = {}): Promise<Namespace> {
    const name = options.name ?? `${what}-${process.pid}-${(namespaces += 1)}`;
    checked(await plane.ask('POST', '/api/v1/namespaces', { metadata: { name } }));
    return new Namespace(plane, name, options);
  }

  kubectl(args: readonly string[], input?: string): Promise<string> {
    return this.#plane.kubectl([...args, '--namespace', this.name], input);
  }

  /** @throws Error with the API server's words where it refuses */
  async apply(kind: string, name: string, spec: object): Promise<void> {
    const object = { apiVersion: 'muster.dev/v1beta1', kind, metadata: { name }, spec };
    const query = 'fieldManager=owner&force=true&fieldValidation=Strict';
    const path = `${this.#pathOf(KINDS[kind] ?? kind, name)}?${query}`;
    checked(await this.#plane.ask('PATCH', path, object, 'application/apply-patch+yaml'));
  }

  /** One after the other, in their order. */
  async applyAll(wishes: readonly { kind: string; name: string; spec: object }[]): Promise<void> {
    for (const { kind, name, spec } of wishes) await this.apply(kind, name, spec);
  }

  /** @param manager the field manager, where it matters who has written */
  async patch(kind: string, name: string, patch: object, manager?: string): Promise<void> {
    const query = manager === undefined ? '' : `?fieldManager=${manager}`;
    const path = `${this.#pathOf(kind, name)}${query}`;
    checked(await this.#plane.ask('PATCH', path, patch, 'application/merge-patch+json'));
  }

  /** An API key of a FleetAccount, which is made where this spec is given. */
  async issuedKey(name: string, account: string, spec?: object): Promise<string | undefined> {
    if (spec) await this.apply('FleetAccount', account, spec);
    await this.apply('FleetApiKey', name, { accountRef: { name: account }, secretRef: { name } });
    await this.ready('fkey', name, 'Issued');
    return await this.secret(name, 'apiKey');
  }

  async get(kind: string, name: string): Promise<Told | undefined> {
    const answer = await this.#plane.ask('GET', this.#pathOf(kind, name));
    if (answer.status === 404) return undefined;
    return toldOf(checked(answer) as Partial<Told>);
  }

  async all(kind: string): Promise<readonly Listed[]> {
    const { items } = checked(await this.#plane.ask('GET', this.#pathOf(kind))) as { items: Partial<Listed>[] };
    return items.map((item) => toldOf(item) as Listed);
  }

  /** Resolves once the resource's Ready says this of its newest generation. */
  async ready(kind: string, name: string, reason: string): Promise<Told> {
    let told: Told | undefined;
    let said: Condition | undefined;
    await this.eventually(`${kind} ${name} to be ${reason}`, async () => {
      told = await this.get(kind, name);
      said = told?.status.conditions?.find(({ type }) => type === 'Ready');
      return said?.reason === reason && said.observedGeneration === told?.metadata.generation;
    });
    if (!told) throw new Error(`there is no ${kind} ${name}`);
    return told;
  }

  /** Resolves once it holds. */
  async eventually(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
    const look = (): boolean | Promise<boolean> => {
      this.#looking();
      return holds();
    };
    await eventually(what, look, { lookMs: LOOK_MS });
  }

  /** Deletes it, and waits until it is gone. */
  async delete(kind: string, name: string): Promise<void> {
    checked(await this.#plane.ask('DELETE', this.#pathOf(kind, name)));
    await this.eventually(`${kind} ${name} to be gone`, async () => (await this.get(kind, name)) === undefined);
  }

  /** A value of a Secret. */
  async secret(name: string, key: string): Promise<string | undefined> {
    const value = (await this.get('secret', name))?.data?.[key];
    return value === undefined ? undefined : Buffer.from(value, 'base64').toString();
  }

  /** Resolves once the resource has an event of that reason: it is posted beside the work that it tells of. */
  async told(name: string, reason: string): Promise<void> {
    await this.eventually(`the event ${reason} of ${name}`, async () => (await this.events(name)).includes(reason));
  }

  /** The reasons of the events about a resource, in no order. */
  async events(name: string): Promise<readonly string[]> {
    const { items } = checked(await this.#plane.ask('GET', this.#pathOf('event'))) as {
      items: { regarding: { name: string }; reason: string }[];
    };
    return items.filter(({ regarding }) => regarding.name === name).map(({ reason }) => reason);
  }

  #pathOf(kind: string, name?: string): string {
    const place = PLACES[kind] ?? Object.values(PLACES).find(([, plural]) => plural === kind);
    if (!place) throw new Error(`where ${kind} lies is not known here`);
    const [group, plural] = place;
    return `/${group}/namespaces/${this.name}/${plural}${name === undefined ? '' : `/${name}`}`;
  }
}

/** @throws Error with the API server's words where it has refused */
function checked({ status, body }: KubeAnswer): unknown {
  if (status < 300) return body;
  throw new Error(`${status}: ${String((body as { message?: unknown } | undefined)?.message)}`);
}

const toldOf = ({ metadata, spec, status, data }: Partial<Told>): Told => {
  if (!metadata) throw new Error('an object without metadata');
  return { metadata, spec: spec ?? {}, status: status ?? {}, ...(data && { data }) };
};

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

interface StoredKey {
  readonly keyId: string;
  readonly formerExpiresAt: string | null;
}
const storedKeys = async (muster: Pick<Muster, 'ops'>, accountId: unknown): Promise<readonly StoredKey[]> => {
  const { body } = await operatorApi(muster, `accounts/${String(accountId)}/api-keys`);
  return body['apiKeys'] as StoredKey[];
};

export const apiKeysOf = async (muster: Pick<Muster, 'ops'>, accountId: unknown): Promise<readonly string[]> =>
  (await storedKeys(muster, accountId)).map(({ keyId }) => keyId);

/** Ends the former secret that a key has. */
export async function endOverlap(muster: Pick<Muster, 'ops'>, accountId: unknown, keyId: string): Promise<Answer> {
  const key = (await storedKeys(muster, accountId)).find((one) => one.keyId === keyId);
  const path = `accounts/${String(accountId)}/api-keys/${keyId}/former-secret`;
  return await operatorApi(muster, `${path}?formerExpiresAt=${key?.formerExpiresAt}`, 'DELETE');
}
