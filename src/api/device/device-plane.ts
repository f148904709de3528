import type { IncomingMessage, ServerResponse } from 'node:http';
import type { EnrollmentDeps } from '../../domain/devices/enrollment.ts';
import type { DeviceConfigs } from '../../domain/otel-config/delivered-config.ts';
import type { ChangeWaits, Reported } from '../../domain/devices/device-plane.ts';
import type { DeviceRate } from '../../domain/devices/device-rate-limit.ts';
import type { FoundApp } from '../../domain/fleet/reader.ts';
import type { Gate } from '../../concurrency/semaphore.ts';
import type { Heartbeats } from '../../domain/devices/heartbeats.ts';
import type { Origin } from '../../domain/mutation/mutation.ts';
import type { RefusedLately } from '../../domain/devices/recently-refused.ts';
import type { MaybePromise } from '../../concurrency/maybe-promise.ts';
import type { ControllerMetrics } from '../../metrics/controller-metrics.ts';
import type { Metrics } from '../../metrics/service-metrics.ts';
import type { TurnQueue } from '../../concurrency/turn-queue.ts';
import { Exchange, type ExchangeDeps } from '../http/exchange.ts';
import { acknowledgeConfig } from './acknowledge-config.ts';
import { countRefusedPoll, pollConfig } from './poll-config.ts';
import { reportDetections } from './report-detections.ts';
import { enrollDevice } from './enroll.ts';

export interface DeviceDeps extends Omit<EnrollmentDeps, 'metrics'>, Omit<ExchangeDeps, 'metrics'> {
  readonly metrics: EnrollmentDeps['metrics'] &
    ExchangeDeps['metrics'] &
    Pick<Metrics, 'pollEnded'> &
    Pick<ControllerMetrics, 'revisionReceived' | 'detectionsDropped'>;
  readonly configs: DeviceConfigs;
  readonly heartbeats: Heartbeats;
  readonly rate: DeviceRate;
  readonly waits: ChangeWaits;
  readonly refusedLately: RefusedLately;
  /** Bounds who is authenticated by the store itself. */
  readonly storeReads: Gate;
  /** For what many requests wait for together. */
  readonly turns: TurnQueue;
  readonly reportVersion: (found: FoundApp, reported: Reported, origin: Origin) => void;
  /** Aborts when the process is asked to end: held polls are then answered. */
  readonly stopping: AbortSignal;
}

interface DeviceRoute {
  readonly method: 'GET' | 'POST';
  readonly handle: (exchange: Exchange, deps: DeviceDeps) => MaybePromise<void>;
  /** Called before the refusal is told. */
  readonly refused?: (error: unknown, deps: DeviceDeps) => void;
}

const ROUTES: ReadonlyMap<string, DeviceRoute> = new Map<string, DeviceRoute>([
  ['/device/v1/config', { method: 'GET', handle: pollConfig, refused: countRefusedPoll }],
  ['/device/v1/config/ack', { method: 'POST', handle: acknowledgeConfig }],
  ['/device/v1/detections', { method: 'POST', handle: reportDetections }],
  ['/device/v1/enroll', { method: 'POST', handle: enrollDevice }],
]);

/** The device plane: four paths, looked up rather than matched, since a fleet's polls are most of all requests. */
export function createDevicePlane(deps: DeviceDeps): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    const exchange = new Exchange('device', request, response, deps);
    const path = pathOf(request.url ?? '');
    const route = ROUTES.get(path);
    if (!route) return exchange.refuse('not_found');
    exchange.route = path;
    const { method } = request;
    if (method !== route.method && !(method === 'HEAD' && route.method === 'GET')) {
      return exchange.refuse('not_found', undefined, ['Allow', route.method === 'GET' ? 'GET, HEAD' : route.method]);
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

/** Without the query; of an absolute-form target (RFC 9112, 3.2.2) the path. */
function pathOf(url: string): string {
  const query = url.indexOf('?');
  const target = query < 0 ? url : url.slice(0, query);
  if (target.startsWith('/')) return target;
  return /^https?:\/\/[^/]*(\/.*)$/i.exec(target)?.[1] ?? target;
}
