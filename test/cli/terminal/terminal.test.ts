import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { EXIT, exitCodeOfStatus } from '../../../src/cli/terminal/exit.ts';
import { hasColours, screenOf, type Environment } from '../../../src/cli/terminal/terminal.ts';

test.each<[boolean, Environment, boolean, string]>([
  [true, {}, true, 'a terminal'],
  [false, {}, false, 'a pipe'],
  [true, { NO_COLOR: '1' }, false, 'NO_COLOR'],
  [true, { NO_COLOR: '' }, true, 'an empty NO_COLOR says nothing'],
  [true, { TERM: 'dumb' }, false, 'a terminal that knows none'],
  [false, { FORCE_COLOR: '1' }, true, 'FORCE_COLOR, also into a pipe'],
  [false, { FORCE_COLOR: '' }, false, 'an empty FORCE_COLOR says nothing'],
  [true, { FORCE_COLOR: '0' }, false, 'FORCE_COLOR=0 forbids'],
  [true, { FORCE_COLOR: 'false' }, false, 'in words as well'],
  [true, { FORCE_COLOR: '1', NO_COLOR: '1' }, true, 'both: FORCE_COLOR, as in Node'],
])('terminal %s, %j → %s (%s)', (isTTY, env, colours) => {
  expect(hasColours(isTTY, env)).toBe(colours);
});

const stream = (told: object, write = (_text: string): boolean => true): Parameters<typeof screenOf>[0] =>
  Object.assign(new EventEmitter(), { write, ...told }) as unknown as Parameters<typeof screenOf>[0];

test.each<[object, number | undefined, string]>([
  [{ isTTY: true, columns: 120 }, 120, 'a terminal tells its width'],
  [{ isTTY: true, columns: 0 }, 80, 'or does not'],
  [{ isTTY: true }, 80, 'or has none'],
  [{ columns: 120 }, undefined, 'a pipe has no width'],
])('%j → %s columns (%s)', (told, columns) => {
  expect(screenOf(stream(told), {}).columns).toBe(columns);
});

test('a full pipe is waited for', async () => {
  const full = stream({}, () => false) as unknown as EventEmitter & Parameters<typeof screenOf>[0];
  const order: string[] = [];
  const written = screenOf(full, {})
    .write('x')
    .then(() => order.push('written'));
  await Promise.resolve();
  order.push('drained');
  full.emit('drain');
  await written;
  expect(order).toEqual(['drained', 'written']);
});

test.each<[number, number, string]>([
  [401, EXIT.notAuthorised, 'the secret is unknown'],
  [403, EXIT.notAuthorised, 'it may not do this'],
  [404, EXIT.notFound, 'nothing of that name'],
  [400, EXIT.failed, 'any other refusal'],
  [502, EXIT.failed, 'an outage'],
])('a %i ends a command with %i (%s)', (status, code) => {
  expect(exitCodeOfStatus(status)).toBe(code);
});
