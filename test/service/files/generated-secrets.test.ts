import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ConfigError, readConfig } from '../../../src/config/config.ts';
import { systemRandom } from '../../../src/domain/credentials/random-ids.ts';
import { createLog } from '../../../src/log.ts';
import { generatedKeyFile, generatedTokenFile } from '../../../src/service/files/generated-secrets.ts';
import { watchedKeyFile } from '../../../src/service/files/key-file.ts';
import { watchedOperatorTokens } from '../../../src/service/files/operator-token-file.ts';
import { Watching } from '../../support/files/watching.ts';
import { startService } from '../../../src/service/service.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { FORMAT } from '../../../src/domain/records/store-records.ts';
import { expectAbsent, type Store } from '../../../src/store/port.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { KEY_FILE_TEXT, OPERATOR_TOKEN } from '../../support/service/muster.ts';
import { rawPut } from '../../support/store/raw-key.ts';

const random = systemRandom();
const EMPTY: Pick<Store, 'list'> = { list: () => Promise.resolve({ entries: [], revision: 0 }) };
/** Reads the generated secrets as a service does. */
const generatedOperatorTokens = async (folder: string, source: typeof random) => {
  const file = await generatedTokenFile(folder, source);
  return watchedOperatorTokens(new Watching().files, [], file)().map(({ name, secret }) => ({
    name,
    token: secret.reveal(),
  }));
};
const generatedKeyRing = async (folder: string, source: typeof random, store: typeof EMPTY) =>
  watchedKeyFile(new Watching().files, await generatedKeyFile(folder, source, store), async () => []);
let dir: string;
beforeEach(() => {
  dir = scratchDirectory('muster');
});
afterEach(() => rmSync(dir, { recursive: true }));

const kept = (name: string, text: string): void => writeFileSync(join(dir, name), text);

describe('it makes only what is missing', () => {
  const startAndStop = async (env: Record<string, string>): Promise<void> => {
    const listen = '127.0.0.1:0';
    const config = readConfig({
      MUSTER_DATA_DIR: join(dir, 'data'),
      MUSTER_API_LISTEN: listen,
      MUSTER_DEVICE_LISTEN: listen,
      MUSTER_OPS_LISTEN: listen,
      MUSTER_PANEL_LISTEN: listen,
      ...env,
    });
    const service = await startService({ config, log: createLog('silent') });
    await service.stop();
  };
  test('a lost key file over a store that was used is refused and never made anew; the copy brings all back', async () => {
    await startAndStop({});
    const [keys, lost] = [join(dir, 'data', 'keys'), join(dir, 'lost')];
    renameSync(keys, lost);
    for (let time = 0; time < 2; time += 1) {
      const fault = await startAndStop({}).catch((error: unknown) => error);
      expect(fault).toBeInstanceOf(ConfigError);
      expect((fault as Error).message).toMatch(/keys is missing, and the store is not new: restore your copy/);
      expect(made('keys')).toBe(false);
    }
    renameSync(lost, keys);
    await startAndStop({});
    // A lost token locks nobody out, and seals nothing.
    rmSync(join(dir, 'data', 'operator-token'));
    await startAndStop({});
    expect(made('operator-token')).toBe(true);
  });

  test.each<[string, Record<string, string>, RegExp, boolean]>([
    [
      'another store is expected',
      { MUSTER_STORE_ID: 'the-lost-one' },
      /The store is empty, and MUSTER_STORE_ID/,
      false,
    ],
    ['any store will do', {}, /it starts/, true],
  ])('with a new store, where %s', async (_, env, words, isMade) => {
    const started = startAndStop(env).then(() => 'it starts', String);
    expect(await started).toMatch(words);
    expect([made('operator-token'), made('keys')]).toEqual([isMade, isMade]);
  });

  /** Writes the records into the store as they are. @returns its revision */
  const written = async (records: Readonly<Record<string, object>>): Promise<number> => {
    mkdirSync(join(dir, 'data'), { recursive: true });
    await using store = await openSqliteStore(join(dir, 'data', 'muster.db'));
    const write = Object.entries(records).map(([key, record]) => rawPut(key, record));
    await store.commit({ expect: [expectAbsent('never')], write });
    return (await store.head()).revision;
  };

  test('none beside a store of a newer version, and both beside one of this', async () => {
    await written({ [KEYS.format()]: { format: FORMAT + 1 } });
    await expect(startAndStop({})).rejects.toThrow('The store was written by a newer Muster');
    expect([made('operator-token'), made('keys')]).toEqual([false, false]);
    await written({ [KEYS.format()]: { format: FORMAT } });
    await startAndStop({});
    expect([made('operator-token'), made('keys')]).toEqual([true, true]);
  });

  test('a lost key is told before anything is written into the store', async () => {
    const before = await written({ [KEYS.format()]: { format: FORMAT }, [KEYS.activeKey()]: {} });
    await expect(startAndStop({})).rejects.toThrow('keys is missing');
    await using store = await openSqliteStore(join(dir, 'data', 'muster.db'));
    expect((await store.head()).revision).toBe(before);
  });

  test('a key file beside no store yet is used', async () => {
    mkdirSync(join(dir, 'data'));
    kept('data/keys', KEY_FILE_TEXT);
    await startAndStop({});
    expect(readFileSync(join(dir, 'data', 'keys'), 'utf8')).toBe(KEY_FILE_TEXT);
  });

  const made = (name: string): boolean => existsSync(join(dir, 'data', name));

  test('with neither configured both, readable by their owner alone', async () => {
    await startAndStop({});
    for (const name of ['operator-token', 'keys']) expect(statSync(join(dir, 'data', name)).mode & 0o777).toBe(0o600);
  });

  test('with a token configured no token', async () => {
    await startAndStop({ MUSTER_OPERATOR_TOKEN: OPERATOR_TOKEN });
    expect([made('operator-token'), made('keys')]).toEqual([false, true]);
  });

  test('with a key file configured no keys', async () => {
    kept('configured', KEY_FILE_TEXT);
    await startAndStop({ MUSTER_KEY_FILE: join(dir, 'configured') });
    expect([made('operator-token'), made('keys')]).toEqual([true, false]);
  });
});

test('what was made is kept, and nothing else lies there', async () => {
  const first = [await generatedOperatorTokens(dir, random), (await generatedKeyRing(dir, random, EMPTY)).key(1)];
  const text = readFileSync(join(dir, 'keys'), 'utf8');
  expect([await generatedOperatorTokens(dir, random), (await generatedKeyRing(dir, random, EMPTY)).key(1)]).toEqual(
    first,
  );
  expect(readFileSync(join(dir, 'keys'), 'utf8')).toBe(text);
  expect(readdirSync(dir).sort()).toEqual(['keys', 'operator-token']);
});

test('a file that another process makes at the same moment is not overwritten', async () => {
  const racing = {
    ...random,
    bytes: (count: number) => {
      kept('keys', KEY_FILE_TEXT);
      return random.bytes(count);
    },
  };
  await generatedKeyRing(dir, racing, EMPTY);
  expect(readFileSync(join(dir, 'keys'), 'utf8')).toBe(KEY_FILE_TEXT);
  expect(readdirSync(dir)).toEqual(['keys']);
});

test('the kept token file may hold several, for rotation', async () => {
  kept('operator-token', `${'a'.repeat(32)}\n\n${'b'.repeat(40)}\r\n`);
  expect(await generatedOperatorTokens(dir, random)).toEqual(
    ['a'.repeat(32), 'b'.repeat(40)].map((token) => ({ name: undefined, token })),
  );
});

test('a file that others can write, or have put there, is refused by its path', async () => {
  for (const [name, text, read] of [
    ['operator-token', OPERATOR_TOKEN, () => generatedOperatorTokens(dir, random)],
    ['keys', KEY_FILE_TEXT, () => generatedKeyRing(dir, random, EMPTY)],
  ] as const) {
    kept(name, text);
    await read();
    chmodSync(join(dir, name), 0o666);
    await expect(read()).rejects.toThrow(ConfigError);
    await expect(read()).rejects.toThrow(`others can write ${join(dir, name)}: chmod go-w`);
  }
});

describe('a kept file that is wrong is refused by its path and the rule, never by what stands there', () => {
  const refusal = async (read: () => Promise<unknown>): Promise<string> => {
    try {
      await read();
    } catch (error) {
      if (error instanceof ConfigError) return error.message;
      throw error;
    }
    return expect.unreachable('it was taken');
  };

  test.each([
    ['', /no token in it/, 'as an earlier crash may have left it'],
    ['hunter2\n', /line 1 must have at least 32 characters/, 'too short'],
    [`${OPERATOR_TOKEN}\nhunter2 ${'x'.repeat(40)}\n`, /line 2 must be printable ASCII without spaces/, 'a space'],
  ])('operator-token: %j (%s, %s)', async (text, rule) => {
    kept('operator-token', text);
    const words = await refusal(() => generatedOperatorTokens(dir, random));
    expect(words).toContain(`${join(dir, 'operator-token')}: `);
    expect(words).toMatch(rule);
    expect(words).not.toContain('hunter2');
  });

  test.each([
    ['', /no key in it/],
    ['1:hunter2\n', /line 1: expected/],
  ])('keys: %j', async (text, rule) => {
    kept('keys', text);
    const words = await refusal(() => generatedKeyRing(dir, random, EMPTY));
    expect(words).toContain(`${join(dir, 'keys')}: `);
    expect(words).toMatch(rule);
    expect(words).not.toMatch(/hunter2|MUSTER_KEY_FILE/);
  });
});
