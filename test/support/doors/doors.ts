import { ROUTES as DEVICE } from '../../../src/api/device/device-plane.ts';
import type { Operation } from '../../../src/api/contract/operation.ts';
import { OPAMP_ROUTE } from '../../../src/api/opamp/opamp-endpoint.ts';
import { APIS, type ApiName } from '../../../src/api/openapi/apis.ts';
import { OPERATIONS as OPERATOR, PROBES, PUBLIC } from '../../../src/api/operator/ops-server.ts';
import { REFERENCE_PATHS } from '../../../src/api/panel/pages/reference.ts';
import { OPERATIONS as PANEL } from '../../../src/api/panel/routes.ts';
import { ROUTES as V1 } from '../../../src/api/v1/gateway.ts';
import type { ListenerName } from '../../../src/config/listeners.ts';
import type { Method } from './send.ts';

/* The doors of the service: its listeners, with all that they serve, from the lists by which they serve it. */

/** Something that a listener serves. */
export interface Served {
  readonly listener: ListenerName;
  readonly method: Method;
  /** As Express spells it. */
  readonly path: string;
  /** Its name in the metrics. */
  readonly route: string;
  /** Its API and operation; absent for files, probes and another protocol. */
  readonly api?: ApiName;
  readonly operation?: Operation;
}

interface Pathed {
  readonly method: string;
  readonly path: string;
}

const upper = (method: string): Method => method.toUpperCase() as Method;

const plain = (listener: ListenerName, all: readonly Pathed[]): readonly Served[] =>
  all.map(({ method, path }) => ({ listener, method: upper(method), path, route: path }));

const operations = (listener: ListenerName, api: ApiName, all: readonly Operation[]): readonly Served[] =>
  all.map((operation) => {
    const { method, path } = operation;
    return { listener, api, method: upper(method), path, route: path, operation };
  });

/** Every operation, probe and file of every listener. */
export const EVERYTHING: readonly Served[] = [
  ...operations('api', 'v1', V1),
  ...operations('device', 'device', DEVICE),
  ...plain('device', [{ method: 'post', path: OPAMP_ROUTE }]),
  ...operations('ops', 'operator', OPERATOR),
  ...plain('ops', [...PROBES, ...PUBLIC]),
  ...operations('panel', 'panel', PANEL),
  ...plain('panel', [{ method: 'get', path: '/' }, ...REFERENCE_PATHS.map((path) => ({ method: 'get', path }))]),
];

/** How many operations the documents have: the walk must not have lost one. */
export const DOCUMENTED = Object.values(APIS).reduce((sum, { operations: all }) => sum + all.length, 0);
