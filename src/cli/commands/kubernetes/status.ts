import { CustomObjectsApi } from '@kubernetes/client-node';
import type { Column } from '../../output/columns.ts';
import { printList } from '../../output/print.ts';
import { CommandFault, EXIT } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { cluster, refusedBy, statusOf } from './cluster.ts';
import { KINDS, REQUEST_MS, resourceListing, type Listed } from './resource-listing.ts';
import { standingOf, type Standing } from './standing.ts';

/* `muster kubernetes status`: the custom resources of the cluster, and what keeps them from being ready. */

export interface StatusOptions {
  /** Empty for all of them. */
  readonly namespace: readonly string[];
  /** Leaves out what is ready. */
  readonly notReady?: true;
}

const COLUMNS: readonly Column<Standing>[] = [
  { head: 'NAMESPACE', field: 'namespace' },
  { head: 'KIND', field: 'kind' },
  { head: 'NAME', field: 'name' },
  { head: 'READY', field: 'ready', tone: ({ ready }) => (ready ? 'good' : 'bad') },
  { head: 'REASON', field: 'reason' },
  { head: 'MESSAGE', field: 'message', kind: 'text' },
  { head: 'AGE', field: 'createdAt', kind: 'time', minor: true },
];

/**
 * Prints every resource that may be listed, those that are not ready first.
 * @throws CommandFault with exit code 3 where one is not ready, 5 where some may not be listed, and 1 where the API
 * server cannot be asked, or lacks a definition
 */
export async function kubernetesStatus(call: Invocation, { namespace, notReady }: StatusOptions): Promise<void> {
  const config = await cluster(call);
  const list = resourceListing(config.makeApiClient(CustomObjectsApi), call.globals.timeoutMs ?? REQUEST_MS);
  const found = await everything(namespace, list);
  const standings = found.resources.toSorted(byUrgency);
  const unready = standings.filter(({ ready }) => !ready).length;
  const shown = notReady ? standings.slice(0, unready) : standings;
  const seen = found.faults.length === 0 ? 'custom resource of Muster' : 'custom resource that could be listed';
  await printList(call, {
    columns: COLUMNS,
    items: shown,
    id: ({ namespace, kind, name }) => `${namespace}/${kind}/${name}`,
    none: standings.length === 0 ? `There is no ${seen}.` : `Every ${seen} is ready.`,
  });
  if (found.faults.length > 0) throw new CommandFault(found.faults.join(' '), found.exitCode);
  if (unready > 0) throw new CommandFault(`${unready} of ${standings.length} resources are not ready.`, EXIT.bad);
}

interface Found {
  readonly resources: readonly Standing[];
  /** Each sentence names resources that could not be seen, and says why. */
  readonly faults: readonly string[];
  readonly exitCode: number;
}

async function everything(
  namespaces: readonly string[],
  list: (plural: string, namespace: string | undefined) => Promise<Listed[]>,
): Promise<Found> {
  const resources: Standing[] = [];
  const [forbidden, undefinedKinds]: [string[], string[]] = [[], []];
  for (const { kind, plural } of KINDS) {
    for (const namespace of namespaces.length === 0 ? [undefined] : new Set(namespaces)) {
      const where = namespace === undefined ? 'in all namespaces' : `in the namespace ${namespace}`;
      try {
        for (const resource of await list(plural, namespace)) resources.push(standingOf(kind, resource));
      } catch (error) {
        const status = statusOf(error);
        if (status === 403) forbidden.push(`${plural} ${where}`);
        else if (status === 404) undefinedKinds.push(plural);
        else if (status === 401)
          throw new CommandFault('The API server does not take the credential of the kubeconfig.', EXIT.notAuthorised);
        else throw error instanceof CommandFault ? error : refusedBy(error, `${plural} cannot be listed`);
        if (status === 404) break;
      }
    }
  }
  if (undefinedKinds.length === KINDS.length) throw new CommandFault(NO_DEFINITIONS);
  const faults = [
    ...undefinedKinds.map((plural) => `The cluster has no definition of ${plural}: upgrade the release.`),
    ...(forbidden.length === 0 ? [] : [mayNot(forbidden, namespaces.length === 0)]),
  ];
  return { resources, faults, exitCode: forbidden.length > 0 ? EXIT.notAuthorised : EXIT.failed };
}

const NO_DEFINITIONS =
  'The cluster has no definitions of Muster: install the chart with crds.install=true, or choose another cluster by KUBECONFIG.';

const mayNot = (forbidden: readonly string[], everywhere: boolean): string =>
  `This user may not list ${forbidden.join(', ')}${everywhere ? ': name the namespaces that it may see by --namespace' : ''}.`;

/** Resources that are not ready come first. */
const byUrgency = (a: Standing, b: Standing): number =>
  Number(a.ready) - Number(b.ready) ||
  compare(a.namespace, b.namespace) ||
  compare(a.kind, b.kind) ||
  compare(a.name, b.name);

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
