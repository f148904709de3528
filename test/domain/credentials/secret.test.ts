import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { format, inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { Secret } from '../../../src/domain/credentials/secret.ts';
import { createLog } from '../../../src/log.ts';

const TEXT = 'mst_live_do-not-print-me';
const secret = new Secret(TEXT);

test('reveal() returns the text', () => {
  expect(secret.reveal()).toBe(TEXT);
});

describe('printing does not show it', () => {
  test.each<[string, () => string]>([
    ['String()', () => String(secret)],
    ['a template', () => `${String(secret)} and ${[secret].toString()}`],
    ['a sum of texts', () => 'token: ' + String(secret)],
    ['a joined list', () => [secret, secret].join()],
    ['JSON', () => JSON.stringify({ secret, nested: { list: [secret] } })],
    ['inspect', () => inspect(secret)],
    [
      'inspect of all that is hidden',
      () => inspect({ secret }, { showHidden: true, depth: null, getters: true, customInspect: true }),
    ],
    ['inspect without custom functions', () => inspect({ secret }, { customInspect: false, showHidden: true })],
    ['format %s', () => format('%s', secret)],
    ['format %o', () => format('%o', { secret })],
    ['format %O', () => format('%O', { secret })],
    ['format %j', () => format('%j', { secret })],
    ['its own properties', () => JSON.stringify(Object.entries(Object.getOwnPropertyDescriptors(secret)))],
    ['a copy', () => JSON.stringify(Object.assign({}, secret))],
    ['a structured clone', () => inspect(structuredClone(secret))],
    ['an error that it caused', () => inspect(new Error('no', { cause: secret }))],
  ])('%s', (_what, print) => {
    expect(print()).not.toContain('print-me');
  });

  test.each([
    ['String()', String(secret)],
    ['JSON', (JSON.parse(JSON.stringify({ secret })) as { secret: string }).secret],
    ['inspect', inspect(secret)],
  ])('%s says that something was left out', (_what, printed) => {
    expect(printed).toBe('[redacted]');
  });

  test('console', () => {
    const lines: string[] = [];
    const stdout = new Writable({ write: (chunk: Buffer, _encoding, done) => (lines.push(chunk.toString()), done()) });
    const console = new Console(stdout);
    console.log(secret, { secret }, [secret]);
    console.dir({ secret }, { showHidden: true });
    console.table([{ secret }]);
    expect(lines.join('')).toContain('[redacted]');
    expect(lines.join('')).not.toContain('print-me');
  });

  test('the log: as a field, deeper, in a list, and in an error', () => {
    const lines: string[] = [];
    const log = createLog('debug', { write: (line) => void lines.push(line) });
    log.debug({ secret, deeper: { list: [secret] } }, 'fields');
    log.error({ err: Object.assign(new Error('refused', { cause: secret }), { secret }) }, 'an error that holds it');
    log.info(secret, 'alone');
    expect(lines).toHaveLength(3);
    expect(lines[0]).toContain('[redacted]');
    expect(lines.join('')).not.toContain('print-me');
  });
});
