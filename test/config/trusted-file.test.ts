import { chmodSync, chownSync, mkdirSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ConfigError, readConfig } from '../../src/config/config.ts';
import { isInPod, plantedByOthers, writableByOthers, type User } from '../../src/config/files/trusted-file.ts';
import { scratchDirectory } from '../support/run/scratch-directory.ts';
import { KEY_FILE_TEXT, OPERATOR_TOKEN } from '../support/service/muster.ts';

let dir: string;
let file: string;
beforeEach(() => {
  dir = join(scratchDirectory('muster'), 'a');
  mkdirSync(dir, { mode: 0o755 });
  file = join(dir, 'keys');
  writeFileSync(file, KEY_FILE_TEXT, { mode: 0o600 });
});
afterEach(() => rmSync(join(dir, '..'), { recursive: true }));

const own: User = { uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0 };
const STRANGER = 54_321;

/** Makes the file that of another user, as far as the judge can tell. @returns whom to judge it for */
function given(path: string): User {
  if (own.uid !== 0) return { ...own, uid: STRANGER };
  chownSync(path, STRANGER, STRANGER);
  return own;
}

describe('a file that the configuration names', () => {
  test.each([
    [0o600, true, 'of its owner alone'],
    [0o644, true, 'that all may read'],
    [0o440, true, 'that the group may read, as Kubernetes mounts it'],
    [0o444, true, 'that nobody may write'],
    [0o620, false, 'that the group may write'],
    [0o602, false, 'that others may write'],
    [0o666, false, 'that all may write'],
  ])('of mode %o: %s (%s)', (mode, accepted) => {
    chmodSync(file, mode);
    const why = writableByOthers(file, own);
    expect(why).toBe(accepted ? undefined : `others can write ${file}: chmod go-w ${file}`);
  });

  test.each([
    [0o755, true, 'of its owner alone'],
    [0o775, true, 'of its own group, which many systems make for each user'],
    [0o777, false, 'of all'],
    [0o1777, true, 'of all, and sticky, as /tmp is'],
    [0o757, false, 'of all but the group'],
  ])('in a directory of mode %o: %s (%s)', (mode, accepted) => {
    chmodSync(dir, mode);
    const why = `others can put another file in its place, since they can write ${dir}: chmod go-w ${dir}`;
    expect(writableByOthers(file, own)).toBe(accepted ? undefined : why);
  });

  test('in a directory that a group of others may write is refused', () => {
    chmodSync(dir, 0o775);
    const other = own.gid === 0 ? own : { ...own, gid: STRANGER };
    if (own.gid === 0) chownSync(dir, own.uid, STRANGER);
    expect(writableByOthers(file, other)).toContain(`they can write ${dir}`);
  });

  test('of another user is taken where that user alone can have put it, and not from a directory of all', () => {
    const user = given(file);
    expect(writableByOthers(file, user)).toBeUndefined();
    chmodSync(dir, 0o1777);
    expect(writableByOthers(file, user)).toBe(`another user put ${file} there: use a file of your own`);
  });

  test('is followed through links, as Kubernetes mounts a Secret, and each is looked at', () => {
    const data = join(dir, '..data');
    const dated = join(dir, '..2026_11_22');
    mkdirSync(dated, { mode: 0o755 });
    writeFileSync(join(dated, 'keys'), KEY_FILE_TEXT, { mode: 0o644 });
    symlinkSync('..2026_11_22', data);
    unlinkSync(file);
    symlinkSync(join('..data', 'keys'), file);
    chmodSync(dir, 0o1777);
    expect(writableByOthers(file, own)).toBeUndefined();
    chmodSync(join(dated, 'keys'), 0o664);
    expect(writableByOthers(file, own)).toContain('others can write');
    chmodSync(join(dated, 'keys'), 0o644);
    chmodSync(dated, 0o777);
    expect(writableByOthers(file, own)).toContain(`they can write ${dated}`);
  });

  test('that is not there, or a link that leads to itself, is left to whoever reads it', () => {
    expect(writableByOthers(join(dir, 'absent'))).toBeUndefined();
    symlinkSync('circle', join(dir, 'circle'));
    expect(writableByOthers(join(dir, 'circle'))).toBeUndefined();
  });
});

describe('a file in the data directory', () => {
  test('is refused where others may write it, and where it is of another user; the directory does not matter', () => {
    chmodSync(dir, 0o777);
    expect(plantedByOthers(file, own)).toBeUndefined();
    expect(plantedByOthers(join(dir, 'absent'))).toBeUndefined();
    chmodSync(file, 0o660);
    expect(plantedByOthers(file, own)).toContain('others can write');
    chmodSync(file, 0o600);
    expect(plantedByOthers(file, given(file))).toContain('belongs to another user');
  });
});

describe('in a pod of Kubernetes', () => {
  const group = own.gid === 0 ? STRANGER : own.gid;
  const pod: User = { ...own, gid: 0, podGroups: [0, group] };

  test('a volume may be open to all containers, and files to the group that fsGroup gives them', () => {
    if (own.gid === 0) chownSync(file, own.uid, group);
    chmodSync(dir, 0o2777);
    chmodSync(file, 0o660);
    expect(writableByOthers(file, pod)).toBeUndefined();
    expect(plantedByOthers(file, pod)).toBeUndefined();
  });

  test('a file that any user or a group of others can write is refused all the same', () => {
    chmodSync(file, 0o602);
    expect(writableByOthers(file, pod)).toContain('others can write');
    chmodSync(file, 0o620);
    if (own.gid === 0) chownSync(file, own.uid, STRANGER);
    const elsewhere: User = { ...pod, podGroups: [0] };
    expect(writableByOthers(file, elsewhere)).toContain('others can write');
    expect(plantedByOthers(file, elsewhere)).toContain('others can write');
  });

  test.each([
    ['# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n', true, 'of a pod'],
    ['# Kubernetes-managed hosts file (host network).\n', true, 'of a pod on the network of its node'],
    ['127.0.0.1\tlocalhost\n# Kubernetes-managed hosts file.\n', false, 'of another machine'],
  ])('is told by the file of hosts: %j, %s (%s)', (text, expected) => {
    writeFileSync(file, text);
    expect(isInPod(file)).toBe(expected);
    expect(isInPod(join(dir, 'absent'))).toBe(false);
  });
});

test.each(['MUSTER_KEY_FILE', 'MUSTER_OPERATOR_TOKEN_FILE'])(
  '%s is refused by its name, without its content',
  (name) => {
    writeFileSync(file, name === 'MUSTER_KEY_FILE' ? KEY_FILE_TEXT : `${OPERATOR_TOKEN}\n`);
    expect(readConfig({ [name]: file })).toBeDefined();
    chmodSync(file, 0o622);
    let fault: unknown;
    try {
      readConfig({ [name]: file });
    } catch (error) {
      fault = error;
    }
    expect(fault).toBeInstanceOf(ConfigError);
    expect((fault as Error).message).toBe(`${name}: others can write ${file}: chmod go-w ${file}`);
  },
);
