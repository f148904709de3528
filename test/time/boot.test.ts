import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemBoot } from '../../src/time/boot.ts';

const BOOT_FILE = join(import.meta.dirname, '../../src/time/boot.ts');

interface Told {
  readonly id?: string;
  readonly at: number;
}

function toldByAnotherProcess(): Told {
  const program = `import { systemBoot } from ${JSON.stringify(BOOT_FILE)};
    const { id, origin } = systemBoot();
    console.log(JSON.stringify({ id, at: origin + performance.now() }));`;
  return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', program]).toString()) as Told;
}

test('two processes of a boot agree on which it is, and on the time', () => {
  const { id, origin } = systemBoot();
  const before = origin + performance.now();
  const told = toldByAnotherProcess();
  const after = origin + performance.now();
  expect(told.id).toBe(id);
  expect(told.at).toBeGreaterThan(before);
  expect(told.at).toBeLessThan(after);
});

test.each<readonly [Readonly<Record<string, string>>, string | undefined, string]>([
  [{}, undefined, 'a system that does not tell'],
  [{ '/proc/sys/kernel/random/boot_id': 'abc\n' }, 'abc', 'Linux'],
  [{ '/proc/sys/kernel/random/boot_id': 'abc\n', '/proc/self/timens_offsets': offsets('0') }, 'abc', 'no offset'],
  [
    { '/proc/sys/kernel/random/boot_id': 'abc\n', '/proc/self/timens_offsets': offsets('-7') },
    'abc+-7.0',
    'a namespace',
  ],
])('%j → %s (%s)', (files, id) => {
  const read = (path: string): string => {
    const text = files[path];
    if (text === undefined) throw new Error('ENOENT');
    return text;
  };
  expect(systemBoot(read).id).toBe(id);
});

function offsets(seconds: string): string {
  return `monotonic  ${seconds.padStart(10)}         0\nboottime            5         0\n`;
}
