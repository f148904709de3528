import type { IncomingMessage, ServerResponse } from 'node:http';
import type { MaybePromise } from '../../concurrency/maybe-promise.ts';
import * as config from '../contract/device/config.ts';
import { reportDetections as reportDetectionsOperation } from '../contract/device/detections.ts';
import { enrollDevice as enrollDeviceOperation } from '../contract/device/enrollment.ts';
import type { Operation } from '../contract/operation.ts';
import { Exchange } from '../http/exchange.ts';
import { acknowledgeConfig } from './acknowledge-config.ts';
import type { DeviceDeps } from './deps.ts';
import { enrollDevice } from './enroll.ts';
import { countRefusedPoll, pollConfig } from './poll-config.ts';
import { reportDetections } from './report-detections.ts';

interface DeviceRoute extends Operation {
  readonly handle: (exchange: Exchange, deps: DeviceDeps) => MaybePromise<void>;
  /** Called before the refusal is sent. */
  readonly refused?: (error: unknown, deps: DeviceDeps) => void;
}

/** The routes of the device plane. */
export const ROUTES: readonly DeviceRoute[] = [
  { ...config.pollConfig, handle: pollConfig, refused: countRefusedPoll },
  { ...config.acknowledgeConfig, handle: acknowledgeConfig },
  { ...reportDetectionsOperation, handle: reportDetections },
  { ...enrollDeviceOperation, handle: enrollDevice },
];

interface Plane {
  readonly route: DeviceRoute;
  /** As the request line spells it. */
  readonly method: string;
}
const BY_PATH: ReadonlyMap<string, Plane> = new Map(
  ROUTES.map((route) => [route.path, { route, method: route.method.toUpperCase() }]),
);

/** The device plane: four paths, looked up rather than matched, since a fleet's polls are most of all requests. */
export function createDevicePlane(deps: DeviceDeps): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    const exchange = new Exchange('device', request, response, deps);
    const path = pathOf(request.url ?? '');
    const found = BY_PATH.get(path);
    if (!found) return exchange.refuse('not_found');
    exchange.route = path;
    const { route, method } = found;
    if (request.method !== method && !(request.method === 'HEAD' && method === 'GET')) {
      return exchange.refuse('not_found', undefined, ['Allow', method === 'GET' ? 'GET, HEAD' : method]);
    }
    const fail = (error: unknown): void => {
      route.refused?.(error, deps);
      exchange.fail(error);
    };
    try {
      const handled = route.handle(exchange, deps);
      if (handled instanceof Promise) handled.catch(fail);
    } catch (error) {
      fail(error);
    }
  };
}

/** Tells whether a request is an enrollment, whose body comes before anything authenticates it. */
export const isEnrollment = ({ method, url = '' }: IncomingMessage): boolean =>
  method === 'POST' && pathOf(url) === '/device/v1/enroll';

/** The path of a target without its query, of an absolute-form one too (RFC 9112, 3.2.2). */
function pathOf(url: string): string {
  const query = url.indexOf('?');
  const target = query < 0 ? url : url.slice(0, query);
  if (target.startsWith('/')) return target;
  return /^https?:\/\/[^/]*(\/.*)$/i.exec(target)?.[1] ?? target;
}
