import { CoordinationV1Api, CoreV1Api, CustomObjectsApi, type V1ObjectMeta } from '@kubernetes/client-node';
import { LEASE_NAME, LEASE_SELECTOR } from '../../../controller/kubernetes/namespaces/claim.ts';
import { systemClock } from '../../../time/clock.ts';
import { CommandFault } from '../../terminal/exit.ts';
import { confirmed } from '../../terminal/confirmation.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { cluster, refusedBy, secretRefusedBy, statusOf } from './cluster.ts';

export interface TeardownOptions {
  /** Seconds that the finalizers have. */
  readonly timeout?: number;
  /** Tells whether the custom resources are deleted. */
  readonly resources: boolean;
  /** A Secret to delete in the end, with its namespace. */
  readonly secret?: string;
  readonly namespace: string;
  /** The release, as NAMESPACE/NAME, whose Leases are deleted: another release may then follow its namespaces. */
  readonly release?: string;
}

const GROUP = { group: 'muster.dev', version: 'v1beta1' } as const;
/** Resources that belong to an account are deleted before it. */
const STAGES = [['fleetapps', 'fleetapikeys', 'fleetotelconfigs'], ['fleetaccounts']] as const;
const TIMEOUT_SECONDS = 240;
const POLL_EVERY_MS = 2_000;
const PAGE = 500;
const NAMED_MAX = 5;

type Say = Invocation['say'];

interface Resource {
  readonly plural: string;
  readonly namespace: string;
  readonly name: string;
  readonly leaving: boolean;
}

/**
 * `muster kubernetes teardown`: once a person has agreed, deletes every custom resource and waits until its finalizer
 * has run, while the operator that runs them is still there. To be called before an uninstall that removes the
 * definitions, too.
 * @throws CommandFault, also when the time is over
 */
export async function teardown({ env, say, globals, terminal }: Invocation, options: TeardownOptions): Promise<void> {
  const config = await cluster({ env });
  const things = removed(options);
  const what = `Remove from the cluster ${config.getCurrentCluster()?.server ?? ''}: ${things.join(', ')}`;
  await confirmed({ what, count: things.length, yes: globals.yes }, terminal);
  const api = config.makeApiClient(CustomObjectsApi);
  const until = systemClock.monotonic() + (options.timeout ?? TIMEOUT_SECONDS) * 1000;
  if (options.resources) {
    for (const plurals of STAGES) await removeAll(api, plurals, until, say);
    say('No custom resource is left.');
  }
  if (options.release !== undefined) await releaseAll(config.makeApiClient(CoordinationV1Api), options.release, say);
  if (options.secret !== undefined) {
    await removeSecret(config.makeApiClient(CoreV1Api), options.namespace, options.secret, say);
  }
}

/** The things that a teardown removes, in words. */
const removed = ({ resources, release, secret, namespace }: TeardownOptions): string[] => [
  ...(resources ? ['every custom resource, with what its deletionPolicy says'] : []),
  ...(release === undefined ? [] : [`the hold of the release ${release} on its namespaces`]),
  ...(secret === undefined ? [] : [`the Secret ${namespace}/${secret}`]),
];

async function removeAll(api: CustomObjectsApi, plurals: readonly string[], until: number, say: Say): Promise<void> {
  for (;;) {
    const left: Resource[] = [];
    for (const plural of plurals) left.push(...(await list(api, plural)));
    if (left.length === 0) return;
    for (const resource of left) if (!resource.leaving) await remove(api, resource, say);
    if (systemClock.monotonic() >= until) throw new CommandFault(stuck(left));
    await systemClock.sleep(POLL_EVERY_MS);
  }
}

function stuck(left: readonly Resource[]): string {
  const named = left.slice(0, NAMED_MAX).map(({ plural, namespace, name }) => `${plural} ${namespace}/${name}`);
  return (
    `${left.length} custom resources are still there: ${named.join(', ')}${left.length > NAMED_MAX ? ', …' : ''}. ` +
    'Their conditions and the log of the controller say what holds them up; the operator must run for them to go.'
  );
}

async function list(api: CustomObjectsApi, plural: string): Promise<Resource[]> {
  const found: Resource[] = [];
  let next: string | undefined;
  try {
    do {
      const page = (await api.listCustomObjectForAllNamespaces({
        ...GROUP,
        resourcePlural: plural,
        limit: PAGE,
        ...(next !== undefined && { _continue: next }),
      })) as Page;
      for (const { metadata } of page.items) {
        const { name, namespace, deletionTimestamp } = metadata;
        found.push({ plural, namespace, name, leaving: deletionTimestamp !== undefined });
      }
      next = page.metadata.continue || undefined;
    } while (next !== undefined);
  } catch (error) {
    // Without its definition no resource is there.
    if (statusOf(error) !== 404) throw refusedBy(error, `${plural} cannot be listed`);
  }
  return found;
}

interface Page {
  readonly metadata: { readonly continue?: string };
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly namespace: string; readonly deletionTimestamp?: string };
  }[];
}

async function remove(api: CustomObjectsApi, { plural, namespace, name }: Resource, say: Say): Promise<void> {
  try {
    await api.deleteNamespacedCustomObject({ ...GROUP, plural, namespace, name });
    say(`${plural} ${namespace}/${name} is being deleted.`);
  } catch (error) {
    if (statusOf(error) !== 404) throw refusedBy(error, `${plural} ${namespace}/${name} cannot be deleted`);
  }
}

/** Deletes the Leases that the release holds; their operator leaves them alone for half a minute. */
async function releaseAll(api: CoordinationV1Api, release: string, say: Say): Promise<void> {
  let released = 0;
  try {
    // One for each namespace at most.
    const { items } = await api.listLeaseForAllNamespaces({ fieldSelector: LEASE_SELECTOR });
    for (const { metadata, spec } of items) {
      if (spec?.holderIdentity !== release) continue;
      if (await releaseOne(api, metadata)) released += 1;
    }
  } catch (error) {
    throw refusedBy(error, 'The namespaces cannot be released');
  }
  say(`Namespaces that ${release} gave up: ${released}.`);
}

/** @returns whether it was there as it was read: one that is gone, or somebody else's by now, keeps no other one */
async function releaseOne(api: CoordinationV1Api, metadata: V1ObjectMeta | undefined): Promise<boolean> {
  const { namespace = '', uid = '', resourceVersion = '' } = metadata ?? {};
  try {
    await api.deleteNamespacedLease({ name: LEASE_NAME, namespace, body: { preconditions: { uid, resourceVersion } } });
    return true;
  } catch (error) {
    const status = statusOf(error);
    if (status === 404 || status === 409) return false;
    throw error;
  }
}

async function removeSecret(api: CoreV1Api, namespace: string, name: string, say: Say): Promise<void> {
  try {
    await api.deleteNamespacedSecret({ namespace, name });
    say(`The Secret ${namespace}/${name} is deleted.`);
  } catch (error) {
    if (statusOf(error) !== 404) throw secretRefusedBy(error, `The Secret ${namespace}/${name} cannot be deleted`);
  }
}
