import { ConfigError } from '../../../config/files/config-error.ts';
import { addressOf, trustAuthority, type Address, type Plane } from '../../connection/address.ts';
import { ownerOf } from '../../connection/clients.ts';
import { fetchTo } from '../../connection/fetch-to.ts';
import { answerJson, answerText, scraped } from '../../connection/told.ts';
import { unreachable } from '../../connection/unreachable.ts';
import type { Column } from '../../output/columns.ts';
import { printOne } from '../../output/print.ts';
import { CommandFault, EXIT, wordsOf } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { samplesOf, type Sample } from '../../connection/exposition.ts';

/* `muster status`: one view of a service, from its probes, and its metrics where it tells them. */

interface Status {
  readonly state: 'ready' | 'not ready' | 'unreachable';
  /** Why it is not ready, or what is degraded. */
  readonly reason?: string;
  readonly opsUrl: string;
  readonly url?: string;
  readonly deviceUrl?: string;
  readonly version?: string;
  readonly node?: string;
  readonly roles?: readonly string[];
  /** A share of 1. */
  readonly storeFullness?: number;
  readonly accounts?: number;
  readonly apps?: number;
  /** The apps by status of the account whose API key is set. */
  readonly ownApps?: Readonly<Record<'pending' | 'active' | 'revoked', number>>;
}

const percent = (ratio: number | undefined) => (ratio === undefined ? undefined : `${(ratio * 100).toFixed(1)} %`);

const COLUMNS: readonly Column<Status>[] = [
  { head: 'STATE', field: 'state', tone: ({ state }) => (state === 'ready' ? 'good' : 'bad') },
  { head: 'REASON', field: 'reason', kind: 'text' },
  { head: 'VERSION', field: 'version' },
  { head: 'NODE', field: 'node' },
  { head: 'ROLES', of: ({ roles }) => roles?.join(', ') },
  { head: 'API', field: 'url' },
  { head: 'DEVICES', field: 'deviceUrl' },
  { head: 'OPS', field: 'opsUrl' },
  { head: 'STORE FULL', name: 'storeFullness', of: ({ storeFullness }) => percent(storeFullness) },
  { head: 'ACCOUNTS', field: 'accounts' },
  { head: 'APPS', field: 'apps' },
  { head: 'OWN PENDING', of: ({ ownApps }) => ownApps?.pending },
  { head: 'OWN ACTIVE', of: ({ ownApps }) => ownApps?.active },
  { head: 'OWN REVOKED', of: ({ ownApps }) => ownApps?.revoked },
];

const PROBE_MS = 5000;

/**
 * Prints the view in any case.
 * @throws CommandFault with exit code 1 where the service cannot be reached, and 3 where it is not ready; ConfigError
 */
export async function serviceStatus(call: Invocation): Promise<void> {
  const ops = addressOf('ops', call);
  trustAuthority(ops);
  const probed = await probe(call, ops);
  const isThere = probed.state !== 'unreachable';
  const status: Status = {
    ...probed,
    opsUrl: ops.url,
    ...addresses(call),
    ...(isThere && measured(await metricsOf(call, ops))),
    ...(probed.state === 'ready' && (await ownApps(call))),
  };
  await printOne(call, { columns: COLUMNS, item: status });
  const { state, reason = 'it does not say why' } = probed;
  if (state === 'unreachable') throw new CommandFault(reason);
  if (state === 'not ready') throw new CommandFault(`The service at ${ops.url} is not ready: ${reason}`, EXIT.bad);
}

/** A probe is no call of an API: it takes no secret, and is not sent again. */
const get = ({ globals }: Invocation, address: Address, path: string): Promise<Response> =>
  fetchTo(address)(`${address.url}${path}`, {
    redirect: 'error',
    headers: globals.requestId === undefined ? {} : { 'x-request-id': globals.requestId },
    signal: AbortSignal.timeout(globals.timeoutMs ?? PROBE_MS),
  });

async function probe(call: Invocation, ops: Address): Promise<Pick<Status, 'state' | 'reason'>> {
  let answer: Response;
  try {
    answer = await get(call, ops, '/readyz');
  } catch (error) {
    return { state: 'unreachable', reason: unreachable(ops, error) };
  }
  const body = await answerJson(answer);
  const { status, reason, degraded } = (body ?? {}) as Partial<Record<'status' | 'reason' | 'degraded', unknown>>;
  const why = status === 'ready' ? degraded : reason;
  if (status === 'ready' || status === 'not ready') {
    return { state: status, ...(typeof why === 'string' && { reason: why }) };
  }
  const words = `${ops.url} answers ${answer.status}, and not as Muster's ops listener does: check the address (from ${ops.from}).`;
  return { state: 'unreachable', reason: words };
}

/** With `--url` only that listener is known. */
function addresses(call: Invocation): Pick<Status, 'url' | 'deviceUrl'> {
  if (call.globals.url !== undefined) return {};
  const [api, device] = [found(call, 'api'), found(call, 'device')];
  return { ...(api !== undefined && { url: api }), ...(device !== undefined && { deviceUrl: device }) };
}

function found(call: Invocation, plane: Plane): string | undefined {
  try {
    return addressOf(plane, call).url;
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}

async function metricsOf(call: Invocation, ops: Address): Promise<readonly Sample[]> {
  try {
    const answer = await scraped(call, ops, call.globals.timeoutMs ?? PROBE_MS);
    return answer.ok ? samplesOf((await answerText(answer)) ?? '') : [];
  } catch {
    return [];
  }
}

function measured(samples: readonly Sample[]): Partial<Status> {
  const named = (name: string): readonly Sample[] => samples.filter((sample) => sample.name === name);
  const build = named('muster_build_info')[0]?.labels;
  const number = (name: string): number | undefined => {
    const value = named(name)[0]?.value;
    return value === undefined || Number.isNaN(value) ? undefined : value;
  };
  const roles = named('muster_role').flatMap(({ labels, value }) => (value === 1 ? [labels.get('role') ?? ''] : []));
  const told = {
    version: build?.get('version'),
    node: build?.get('node'),
    roles: build && roles,
    storeFullness: number('muster_store_fullness_ratio'),
    accounts: number('muster_accounts'),
    apps: number('muster_apps'),
  };
  return Object.fromEntries(Object.entries(told).filter(([, value]) => value !== undefined));
}

/** Counts the apps where an API key is set; where it is not taken, the rest of the view still is one. */
async function ownApps(call: Invocation): Promise<Pick<Status, 'ownApps'>> {
  if (call.globals.url !== undefined) return {};
  try {
    const owner = ownerOf(call);
    const { requestId, timeoutMs = PROBE_MS } = call.globals;
    const { apps } = await owner.listApps({ requestId, timeoutMs });
    const count = (status: string): number => apps.filter((app) => app.status === status).length;
    return { ownApps: { pending: count('pending'), active: count('active'), revoked: count('revoked') } };
  } catch (error) {
    if (!(error instanceof ConfigError)) call.say(`The apps of the account are not known: ${wordsOf(error)}`);
    return {};
  }
}
