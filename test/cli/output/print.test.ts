import { describe, expect, test } from 'vitest';
import { endBulk } from '../../../src/cli/output/bulk.ts';
import type { Column } from '../../../src/cli/output/columns.ts';
import { printList, printOne, type Listing } from '../../../src/cli/output/print.ts';
import type { CommandFault } from '../../../src/cli/terminal/exit.ts';
import type { GlobalOptions } from '../../../src/cli/terminal/globals.ts';
import { invocation, type Invocation } from '../../../src/cli/terminal/invocation.ts';
import { recordedTerminal, type RecordedOptions, type RecordedTerminal } from '../../support/cli/recorded-terminal.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

interface Item {
  readonly id: string;
  readonly name: string;
  readonly seenAt: string | null;
}
const ITEMS: readonly Item[] = [
  { id: 'a1', name: '=1+1', seenAt: '2026-06-01T11:00:00.000Z' },
  { id: 'b2', name: 'x\u009b2J\u202e\u{e0041}', seenAt: null },
];
const COLUMNS: readonly Column<Item>[] = [
  { head: 'APP', name: 'id', of: ({ id }) => id },
  { head: 'NAME', of: ({ name }) => name, kind: 'text' },
  { head: 'SEEN AT', of: ({ seenAt }) => seenAt, kind: 'time', minor: true },
];
const LISTING: Listing<Item> = { columns: COLUMNS, id: ({ id }) => id, items: ITEMS };

function called(options: GlobalOptions, told?: RecordedOptions): { call: Invocation; terminal: RecordedTerminal } {
  const terminal = recordedTerminal(told);
  return { call: invocation({}, options, { terminal, clock: new FakeClock() }), terminal };
}

async function listed(options: GlobalOptions, listing = LISTING, told?: RecordedOptions): Promise<string> {
  const { call, terminal } = called(options, told);
  await printList(call, listing);
  return terminal.out();
}

describe('a list', () => {
  test('table: for people', async () => {
    expect(await listed({})).toBe(
      [
        'APP  NAME                    SEEN AT',
        'a1   =1+1                    1 h ago',
        'b2   x\\x9b2J\\u202e\\u{e0041}  -',
        '',
      ].join('\n'),
    );
  });

  test('json: one document, in which nothing moves a terminal and everything is as it was', async () => {
    const text = await listed({ output: 'json' });
    expect(JSON.parse(text)).toEqual(ITEMS);
    expect(text).toBe(
      `${JSON.stringify(ITEMS, undefined, 2).replace('\u009b', '\\u009b').replace('\u202e', '\\u202e').replace('\u{e0041}', '\\udb40\\udc41')}\n`,
    );
    expect(await listed({ output: 'json' }, { ...LISTING, items: [] })).toBe('[]\n');
  });

  test('json: an object around the items where the command says so', async () => {
    const document = (items: readonly unknown[]): unknown => ({ total: items.length, items });
    const text = await listed({ output: 'json' }, { ...LISTING, json: ({ id }) => id, document });
    expect(JSON.parse(text)).toEqual({ total: 2, items: ['a1', 'b2'] });
  });

  test('jsonl: an object a line', async () => {
    const lines = (await listed({ output: 'jsonl' })).split('\n');
    expect(lines.pop()).toBe('');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(ITEMS);
    expect(lines[1]).toContain('\\u009b2J\\u202e');
  });

  test('csv: names of json, exact instants, no formula; also what a table would leave out', async () => {
    const narrow = { stdout: { isTTY: true, columns: 5 } };
    expect(await listed({ output: 'csv' }, LISTING, narrow)).toBe(
      `"id","name","seenAt"\r\n"a1","'=1+1","2026-06-01T11:00:00.000Z"\r\n"b2","x2J\u{e0041}",""\r\n`,
    );
    expect(await listed({ output: 'csv' }, { ...LISTING, items: [] })).toBe('"id","name","seenAt"\r\n');
  });

  test('id: an id a line, and a refusal where things have none', async () => {
    expect(await listed({ output: 'id' })).toBe('a1\nb2\n');
    const { call, terminal } = called({ output: 'id' });
    const { columns, items } = LISTING;
    await expect(printList(call, { columns, items })).rejects.toMatchObject({ exitCode: 2 });
    expect(terminal.out()).toBe('');
  });

  test('an empty table is words on stderr, which --quiet leaves out', async () => {
    const empty = { ...LISTING, items: [], none: 'There is no app.' };
    for (const quiet of [false, true]) {
      const { call, terminal } = called({ quiet });
      await printList(call, empty);
      expect([terminal.out(), terminal.err()]).toEqual(['', quiet ? '' : 'There is no app.\n']);
    }
  });

  test.each(['jsonl', 'csv', 'id', 'json'])('%s is written while the source goes on', async (output) => {
    const { call, terminal } = called({ output });
    async function* source(): AsyncGenerator<Item, void> {
      for (let n = 0; n < 100; n += 1) {
        // Whatever came before is written by the time that the next one is asked for.
        if (n > 0) expect(terminal.out()).toContain(`n${n - 1}`);
        yield { id: `n${n}`, name: '', seenAt: null };
      }
    }
    expect(await printList(call, { ...LISTING, items: source() })).toBe(100);
  });

  test.each(['table', 'jsonl', 'csv', 'id', 'json'])('%s: --limit ends the source as well', async (output) => {
    const { call, terminal } = called({ output, limit: 2 });
    let [given, ended] = [0, false];
    async function* source(): AsyncGenerator<Item, void> {
      try {
        for (;;) yield { id: `n${(given += 1)}`, name: '', seenAt: null };
      } finally {
        ended = true;
      }
    }
    expect(await printList(call, { ...LISTING, items: source() })).toBe(2);
    expect([given, ended]).toEqual([2, true]);
    expect(terminal.out()).toContain('n2');
  });
});

describe('one thing', () => {
  const [item] = ITEMS as [Item];
  test.each([
    ['table', 'APP      a1\nNAME     =1+1\nSEEN AT  2026-06-01T11:00:00.000Z (1 h ago)\n'],
    ['json', '{\n  "id": "a1",\n  "name": "=1+1",\n  "seenAt": "2026-06-01T11:00:00.000Z"\n}\n'],
    ['jsonl', '{"id":"a1","name":"=1+1","seenAt":"2026-06-01T11:00:00.000Z"}\n'],
    ['csv', `"id","name","seenAt"\r\n"a1","'=1+1","2026-06-01T11:00:00.000Z"\r\n`],
    ['id', 'a1\n'],
  ])('%s', async (output, text) => {
    const { call, terminal } = called({ output });
    await printOne(call, { columns: COLUMNS, id: ({ id }) => id, item });
    expect(terminal.out()).toBe(text);
  });
});

describe('the end of many things', () => {
  const failures = Array.from({ length: 21 }, (_, n) => ({ what: `n${n}`, why: `it is ${'long '.repeat(30)}` }));
  const fault = async (call: Invocation, result: Parameters<typeof endBulk>[1]): Promise<CommandFault | undefined> =>
    await endBulk(call, result, () => call.terminal.stdout.write('the list\n')).then(
      () => undefined,
      (error: unknown) => error as CommandFault,
    );

  test('all are done: words', async () => {
    const { call, terminal } = called({});
    expect(await fault(call, { what: 'apps created', done: 3, failures: [] })).toBeUndefined();
    expect([terminal.out(), terminal.err()]).toEqual(['the list\n', '3 apps created.\n']);
  });

  test('some failed: a table on stderr that fits and is bounded, also with --quiet, and exit code 1', async () => {
    const { call, terminal } = called({ quiet: true }, { stderr: { isTTY: true, columns: 40 } });
    const told = await fault(call, { what: 'apps created', done: 3, failures });
    expect([told?.exitCode, told?.message]).toEqual([1, '3 of 24 apps created; 21 failed, 1 of them not listed.']);
    const lines = terminal.err().trimEnd().split('\n');
    expect(lines).toHaveLength(21);
    expect(lines[1]).toBe('n0      it is long long long long long …');
  });
});
