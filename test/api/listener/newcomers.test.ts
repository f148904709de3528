import { expect, test } from 'vitest';
import { AUTHENTICATED } from '../../../src/api/http/exchange-events.ts';
import { connectRaw, type RawConnection } from '../../support/http/raw-http.ts';
import { echo, openTestListener, type TestListener } from '../../support/http/test-listener.ts';

/* Clients that have connected and not asked yet, beside those that have authenticated and keep their connections. */

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
const CONNECTIONS_MAX = 20;

/** A path is the name of the account that the request proves; `/` proves none. */
const open = (): Promise<TestListener> =>
  openTestListener({
    connectionsMax: CONNECTIONS_MAX,
    handle(request, response) {
      if (request.url !== '/') response.emit(AUTHENTICATED, request.url);
      echo(request, response);
    },
  });

async function ask(connection: RawConnection, path: string): Promise<string> {
  await connection.send(get(path));
  return (await connection.answer()).body;
}

/** Connections that have authenticated as the account, in their order. */
async function hold(service: TestListener, account: string, count: number): Promise<AsyncDisposableStack & RawStack> {
  const stack = new AsyncDisposableStack();
  const connections: RawConnection[] = [];
  for (let number = 0; number < count; number += 1) {
    const connection = stack.use(await connectRaw(service.port));
    await ask(connection, account);
    connections.push(connection);
  }
  return Object.assign(stack, { connections });
}

interface RawStack {
  readonly connections: readonly RawConnection[];
}

test('where one account holds all connections, it gives way, and newcomers have their time to ask', async () => {
  await using service = await open();
  await using greedy = await hold(service, '/greedy', CONNECTIONS_MAX);
  await using newcomer = await connectRaw(service.port);
  // The greedy one goes on: it uses what it has, and connects again.
  for (const connection of greedy.connections.slice(1)) await ask(connection, '/greedy');
  await using again = await hold(service, '/greedy', 3);
  expect(await ask(newcomer, '/honest')).toBe('GET /honest');
  for (const { socket } of again.connections) expect(socket.destroyed).toBe(false);
  for (const connection of greedy.connections.slice(0, 4)) expect(await connection.rest()).toBe('');
  for (const connection of greedy.connections.slice(4)) expect(await ask(connection, '/greedy')).toBe('GET /greedy');
});

test('the account with the most idle connections gives way, however long those of others have been idle', async () => {
  await using service = await open();
  await using modest = await hold(service, '/modest', 2);
  await using greedy = await hold(service, '/greedy', CONNECTIONS_MAX - 2);
  await using newcomer = await connectRaw(service.port);
  expect(await greedy.connections[0]?.rest()).toBe('');
  for (const connection of modest.connections) expect(await ask(connection, '/modest')).toBe('GET /modest');
  expect(await ask(newcomer, '/')).toBe('GET /');
});

test('a flood of newcomers takes a quarter of the connections at most from those that have authenticated', async () => {
  await using service = await open();
  await using known = await hold(service, '/known', CONNECTIONS_MAX);
  await using flood = new AsyncDisposableStack();
  const strangers: RawConnection[] = [];
  for (let number = 0; number < CONNECTIONS_MAX; number += 1) {
    strangers.push(flood.use(await connectRaw(service.port)));
    // Answered, so that it has been seated before the next one.
    expect(await ask(strangers[number] as RawConnection, '/')).toBe('GET /');
  }
  const quarter = CONNECTIONS_MAX / 4;
  for (const connection of known.connections.slice(0, quarter)) expect(await connection.rest()).toBe('');
  for (const connection of known.connections.slice(quarter)) expect(await ask(connection, '/known')).toBe('GET /known');
  for (const stranger of strangers.slice(0, -quarter)) expect(await stranger.rest()).toBe('');
  for (const stranger of strangers.slice(-quarter)) expect(await ask(stranger, '/')).toBe('GET /');
});
