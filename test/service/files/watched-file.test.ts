import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { configuredFile, generatedFile, type FileVariable } from '../../../src/config/files/configured-file.ts';
import { boundedContent } from '../../../src/config/files/bounded-content.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { Watching } from '../../support/files/watching.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

let dir: string;
beforeEach(() => {
  dir = scratchDirectory('muster');
});
afterEach(() => rmSync(dir, { recursive: true }));

test('a reason is told once, another one again, and the recovery once', async () => {
  const path = join(dir, 'file');
  const watching = new Watching();
  const says = (text: string): void => writeFileSync(path, text);
  says('fine');
  watching.files.add<string>({
    files: [configuredFile('MUSTER_KEY_FILE', path)],
    parse([content]) {
      const text = content.toString();
      if (text !== 'fine') throw new Error(text);
      return text;
    },
  });
  for (const next of ['fine', 'half a line', 'half a line', 'no key', 'fine', 'fine', 'no key']) {
    says(next);
    await watching.files.round();
  }
  const told = watching.lines.map(({ level, why }) => why ?? level);
  expect(told).toEqual(['half a line', 'no key', 'info', 'no key']);
});

/** Reads that answer when the test says so, and bounds that pass when it says so. */
function hanging(...paths: readonly string[]) {
  const reads: { readonly path: string; readonly answer: (content: Buffer) => void }[] = [];
  const late = Promise.withResolvers<undefined>();
  const watching = new Watching(new FakeClock(), {
    read: async ({ path }) => {
      if (!paths.includes(path)) return readFileSync(path);
      const { promise, resolve } = Promise.withResolvers<Buffer>();
      reads.push({ path, answer: resolve });
      return promise;
    },
    inTime: (work, _, words) => Promise.race([work, late.promise.then(() => Promise.reject(words()))]),
  });
  const use = (variable: FileVariable, path: string) => {
    writeFileSync(path, 'first', { mode: 0o600 });
    return watching.files.add<string>({ files: [configuredFile(variable, path)], parse: ([text]) => text.toString() });
  };
  return { reads, watching, use, pass: () => late.resolve(undefined) };
}

test('a read that hangs is told, no second one is begun beside it, and the file of another folder is taken', async () => {
  mkdirSync(join(dir, 'hanging'));
  const [hung, behind] = [join(dir, 'hanging', 'file'), join(dir, 'hanging', 'behind')];
  const { reads, watching, use, pass } = hanging(hung, behind);
  const [one, , other] = [
    use('MUSTER_KEY_FILE', hung),
    use('MUSTER_OIDC_GROUPS_FILE', behind),
    use('MUSTER_OPAMP_CA_FILE', join(dir, 'other')),
  ];
  writeFileSync(join(dir, 'other'), 'next');
  const rounds = [watching.files.round(), watching.files.round()];
  await until(() => other.current === 'next');
  expect([one.current, watching.files.trouble()]).toEqual(['first', undefined]);
  pass();
  await Promise.all(rounds);
  await watching.files.round();
  expect(watching.files.trouble()).toMatch(
    /^MUSTER_KEY_FILE: the file cannot be read within 5 s; MUSTER_OIDC_GROUPS_FILE: /,
  );
  expect(reads.map(({ path }) => path)).toEqual([hung]);
  reads[0]?.answer(Buffer.from('next'));
  await until(() => reads.length > 1);
  reads[1]?.answer(Buffer.from('next'));
  // A second read of a file would have waited for its folder until now.
  await setImmediate();
  expect(reads.map(({ path }) => path)).toEqual([hung, behind]);
});

test('of a pair that is being replaced nothing is taken', async () => {
  const [cert, key] = [join(dir, 'cert'), join(dir, 'key')];
  const { reads, watching } = hanging(cert);
  for (const path of [cert, key]) writeFileSync(path, 'first', { mode: 0o600 });
  const pair = watching.files.add<string>({
    files: [configuredFile('MUSTER_API_TLS_CERT_FILE', cert), configuredFile('MUSTER_API_TLS_KEY_FILE', key)],
    parse: (contents) => contents.join(),
  });
  /** The certificate as it is found before the key is read, and after it. */
  const look = async (before: string, after: string): Promise<void> => {
    reads.length = 0;
    const round = watching.files.round();
    await until(() => reads.length === 1);
    reads[0]?.answer(Buffer.from(before));
    await until(() => reads.length === 2);
    reads[1]?.answer(Buffer.from(after));
    await round;
  };
  writeFileSync(key, 'next', { mode: 0o600 });
  await look('first', 'next');
  expect([pair.current, watching.files.trouble()]).toEqual(['first,first', undefined]);
  await look('next', 'next');
  expect(pair.current).toBe('next,next');
});

test('content whose taking fails is not in use, and is a fault at each look', async () => {
  const path = join(dir, 'file');
  writeFileSync(path, 'first', { mode: 0o600 });
  const watching = new Watching();
  const watched = watching.files.add<string>({
    files: [configuredFile('MUSTER_KEY_FILE', path)],
    parse: ([content]) => content.toString(),
    taken() {
      throw new Error('it is not taken');
    },
  });
  writeFileSync(path, 'next');
  await watching.files.round();
  await watching.files.round();
  expect([watched.current, watching.files.trouble()]).toEqual(['first', 'MUSTER_KEY_FILE: it is not taken']);
});

test('/readyz, which asks for no token, is told of no path, and the log is', async () => {
  const path = join(dir, 'file');
  writeFileSync(path, 'first', { mode: 0o600 });
  const watching = new Watching();
  watching.files.add<string>({
    files: [generatedFile('MUSTER_KEY_FILE', path)],
    parse: ([content]) => content.toString(),
  });
  chmodSync(path, 0o666);
  await watching.files.round();
  expect(watching.files.trouble()).toMatch(/^MUSTER_KEY_FILE: others can write it/);
  expect(watching.files.trouble()).not.toContain(path);
  expect(watching.faults).toEqual([`others can write ${path}: chmod go-w ${path}`]);
});

test.each([
  [0, 'nothing'],
  [100_000, 'more than one piece of a stream'],
  [200_000, 'as many bytes as there may be'],
])('%i bytes are read: %s', async (bytes) => {
  const path = join(dir, 'file');
  writeFileSync(path, Buffer.alloc(bytes, 7));
  expect(await boundedContent(path, 200_000)).toEqual(Buffer.alloc(bytes, 7));
});

test('one byte more than there may be is refused', async () => {
  const path = join(dir, 'file');
  writeFileSync(path, Buffer.alloc(200_001));
  await expect(boundedContent(path, 200_000)).rejects.toThrow('the file has more than 200000 bytes');
});
