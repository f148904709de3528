import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { expect, onTestFinished, vi } from 'vitest';
import { sendResponse } from '../../../src/api/http/response.ts';
import { openListener, type Listener, type ListenerOptions } from '../../../src/api/listener/listener.ts';

export const NOT_FOUND = '{"error":{"code":"not_found","message":"Not found."}}';
export const OVERLOADED = '{"error":{"code":"overloaded","message":"Retry later."}}';

export const OTHER_SCHEME = '{"error":{"code":"not_found","message":"Another scheme."}}';

/** One request as the handler got it. */
export interface Handled {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export interface TestListener extends AsyncDisposable {
  readonly listener: Listener;
  readonly port: number;
  readonly handled: readonly Handled[];
  /** The request of that number, counted from 0, once it has been handed over. */
  request(number: number): Promise<Handled>;
}

/** A listener whose requests a test can wait for. Without `handle`, each is answered with its method and target. */
export async function openTestListener(options: Partial<ListenerOptions> = {}): Promise<TestListener> {
  const handled: Handled[] = [];
  const arrivals = new EventTarget();
  const listener = await openListener({
    name: 'api',
    host: '127.0.0.1',
    port: 0,
    concurrencyMax: 1_000,
    keepAliveMs: 65_000,
    belowRouting: { status: 404, body: NOT_FOUND },
    otherScheme: { status: 404, body: OTHER_SCHEME },
    overloaded: { status: 503, body: OVERLOADED },
    ...options,
    handle(request, response) {
      handled.push({ request, response });
      (options.handle ?? echo)(request, response);
      arrivals.dispatchEvent(new Event('request'));
    },
  });
  return {
    listener,
    port: listener.port,
    handled,
    async request(number) {
      while (handled[number] === undefined) await once(arrivals, 'request');
      return handled[number];
    },
    [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose](),
  };
}

export function echo(request: IncomingMessage, response: ServerResponse): void {
  sendResponse(request, response, 200, ['Content-Type', 'text/plain'], `${request.method} ${request.url}`);
}

/**
 * Time of the service stands still to the end of the test, until that moves it; sockets and Node's own checks go on.
 */
export function ownTime(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
}

/** Heads have a minute until a test says otherwise, when what it sent has been read. */
export const PATIENT = { headerTimeoutMs: 60_000, headerCheckMs: 10 };

/** A head that is not complete by now does not come in time. Node reads the server's own field. */
export function endPatience({ socket }: IncomingMessage): void {
  const { server } = socket as typeof socket & { readonly server: Server };
  expect(server.headersTimeout).toBe(PATIENT.headerTimeoutMs);
  server.headersTimeout = 1;
}

/** A handler that leaves the request unanswered: the test answers it. */
export function hold(): void {}
