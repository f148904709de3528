import type { IncomingMessage, RequestListener } from 'node:http';
import { andThen, catching, type MaybePromise } from '../../concurrency/maybe-promise.ts';
import { otherListener } from '../http/other-listener.ts';
import { Exchange } from '../http/exchange.ts';
import { acknowledgeConfig } from './acknowledge-config.ts';
import type { DeviceDeps } from './deps.ts';
import { enrollDevice } from './enroll.ts';
import { pollConfig } from './poll-config.ts';
import { reportDetections } from './report-detections.ts';
import type { DeviceRoute } from './route.ts';

/** A path of another protocol on the same listener: its handler sends the answer. */
export interface OtherRoute {
  readonly method: 'post';
  readonly path: string;
  /** Its name in the metrics. */
  readonly route: string;
  readonly handle: (exchange: Exchange, deps: DeviceDeps) => MaybePromise<void>;
  /** Called before the refusal is sent. */
  readonly refused?: DeviceRoute['refused'];
}

/** The routes of the device plane. */
export const ROUTES = [pollConfig, acknowledgeConfig, reportDetections, enrollDevice] as const;

interface Plane extends Pick<OtherRoute, 'handle' | 'refused'> {
  readonly route: string;
  /** As the request line spells it. */
  readonly method: string;
}

function planesOf(others: readonly OtherRoute[]): ReadonlyMap<string, Plane> {
  const own = ROUTES.map(({ handle, ...route }: DeviceRoute) => ({
    ...route,
    route: route.path,
    handle: (exchange: Exchange, deps: DeviceDeps) =>
      andThen(handle(exchange, deps), (answer) => exchange.reply(answer)),
  }));
  return new Map(
    [...own, ...others].map(({ path, route, method, handle, refused }) => [
      path,
      { handle, ...(refused && { refused }), route, method: method.toUpperCase() },
    ]),
  );
}

/**
 * The device plane: a few paths, looked up rather than matched, since a fleet's polls are most of all requests.
 * @param others what the listener serves beside the operations of the device plane
 */
export function createDevicePlane(deps: DeviceDeps, others: readonly OtherRoute[] = []): RequestListener {
  const byPath = planesOf(others);
  return (request, response) => {
    const exchange = new Exchange('device', request, response, deps);
    const found = byPath.get(pathOf(request.url ?? ''));
    if (!found) return exchange.refuse('not_found', otherListener('device', pathOf(request.url ?? '')));
    const { handle, refused, route, method } = found;
    exchange.route = route;
    if (request.method !== method && !(request.method === 'HEAD' && method === 'GET')) {
      return exchange.refuse('not_found', undefined, ['Allow', method === 'GET' ? 'GET, HEAD' : method]);
    }
    const failed = (error: unknown): void => {
      refused?.(error, deps);
      exchange.fail(error);
    };
    void catching(() => handle(exchange, deps), failed);
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
