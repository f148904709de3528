import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, renameSync, rmSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { VARIABLES } from '../../../src/config/environment.ts';
import { KEPT_MS } from '../../../src/service/files/watched-file.ts';
import { selfSigned } from '../../support/http/certificates.ts';
import { MountedSecret } from '../../support/records/mounted-secret.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { configOf, everyFile, type FileKind } from '../../support/files/every-file.ts';
import { Muster } from '../../support/service/muster.ts';
import { secureCall } from '../../support/service/secure-call.ts';
import { Watching } from '../../support/files/watching.ts';

/* CONTRACT.md#files: one rule for every file that the configuration names. */

const issued = scratchDirectory('certificates');
const KINDS = everyFile(selfSigned(issued, 'first'), selfSigned(issued, 'next'));
const named = KINDS.map((kind) => [kind.variables.join(' and '), kind] as const);

let dir: string;
let folders = 0;
beforeAll(() => {
  dir = scratchDirectory('every-file');
});
afterAll(() => {
  for (const folder of [dir, issued]) rmSync(folder, { recursive: true });
});

test('every variable with a file has a row here', () => {
  const files = VARIABLES.filter((name) => name.endsWith('_FILE'));
  expect(KINDS.flatMap(({ variables }) => variables).toSorted()).toEqual(files.toSorted());
});

test('a service looks at every file that is configured; those of etcd in etcd-rotation.test.ts', async () => {
  const kinds = KINDS.filter(({ variables: [variable] }) => !variable.startsWith('MUSTER_ETCD'));
  const paths = kinds.flatMap((kind) => {
    const place = renamed(kind);
    return kind.variables.map((variable, index) => [variable, place.paths[index] ?? ''] as const);
  });
  const provider = { MUSTER_OIDC_ISSUER: 'https://id.example.com', MUSTER_OIDC_CLIENT_ID: 'muster' };
  await using muster = await Muster.start({ env: { ...Object.fromEntries(paths), ...provider } });
  const { body } = await secureCall(`${muster.ops}/metrics`, { ca: KINDS[2]?.first[0] ?? '' });
  const told = [...body.matchAll(/^muster_file_unusable\{file="(\w+)"\} 0$/gm)].map(([, file = '']) => file);
  expect(told.toSorted()).toEqual(kinds.map(({ variables: [variable] }) => variable).toSorted());
});

/** The paths of the files of a kind, and the way in which their content is replaced. */
interface Place {
  readonly paths: readonly string[];
  replace(contents: readonly string[]): void;
}

function renamed({ variables, first }: FileKind): Place {
  const folder = join(dir, `${(folders += 1)}`);
  mkdirSync(folder);
  const paths = variables.map((name) => join(folder, name));
  const replace = (contents: readonly string[]): void => {
    for (const [index, path] of paths.entries()) {
      writeFileSync(`${path}.next`, contents[index] ?? '', { mode: 0o600 });
      renameSync(`${path}.next`, path);
    }
  };
  replace(first);
  return { paths, replace };
}

function mounted({ variables, first }: FileKind): Place {
  const contentOf = (contents: readonly string[]): Record<string, string> =>
    Object.fromEntries(variables.map((name, index) => [name, contents[index] ?? '']));
  const secret = new MountedSecret(join(dir, `${(folders += 1)}`), contentOf(first));
  return {
    paths: variables.map((name) => secret.path(name)),
    replace: (contents) => secret.renew(contentOf(contents)),
  };
}

/** The files that must stand beside those of a kind. */
function besides({ variables }: FileKind): Record<string, string> {
  const beside = (name: string, content: string): string => {
    const path = join(dir, name);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  };
  const others = KINDS.filter((kind) => !kind.variables.some((name) => variables.includes(name)));
  const needed: ReadonlySet<string> = new Set([
    'MUSTER_KEY_FILE',
    'MUSTER_OPERATOR_TOKEN_FILE',
    'MUSTER_ETCD_PASSWORD_FILE',
    'MUSTER_OIDC_CLIENT_SECRET_FILE',
  ]);
  return Object.fromEntries(
    others
      .filter((kind) => needed.has(kind.variables[0]))
      .map((kind) => [kind.variables[0], beside(kind.variables[0], kind.first[0] ?? '')]),
  );
}

function opened(kind: FileKind, place: Place) {
  const config = configOf({
    ...besides(kind),
    ...Object.fromEntries(kind.variables.map((name, index) => [name, place.paths[index] ?? ''])),
  });
  const watching = new Watching();
  return { watching, inUse: kind.open(config, watching), round: () => watching.files.round() };
}

describe.each(named)('%s', (_, kind) => {
  const [variable] = kind.variables;

  test.each([
    ['by a rename', renamed],
    ['in a mounted Secret', mounted],
  ])('replaced %s: the next look takes it', async (_how, placed) => {
    const place = placed(kind);
    const { watching, inUse, round } = opened(kind, place);
    const first = inUse();
    await round();
    expect([inUse(), watching.logged]).toEqual([first, []]);
    place.replace(kind.next);
    await round();
    const next = inUse();
    expect(next).not.toBe(first);
    expect([watching.unusable.get(variable), watching.files.trouble(), watching.faults]).toEqual([
      false,
      undefined,
      [],
    ]);
    place.replace(kind.first);
    await round();
    expect(inUse()).toBe(first);
    for (const secret of [...kind.first, ...kind.next]
      .flatMap((text) => text.split('\n'))
      .filter(({ length }) => length > 16))
      expect(watching.logged.join()).not.toContain(secret);
  });

  test('a byte order mark belongs to no content, at the start and later', async () => {
    const marked = (contents: readonly string[]): string[] => contents.map((text) => `\uFEFF${text}`);
    const place = renamed(kind);
    place.replace(marked(kind.first));
    const { watching, inUse, round } = opened(kind, place);
    const first = inUse();
    place.replace(kind.first);
    await round();
    expect(inUse()).toBe(first);
    place.replace(marked(kind.next));
    await round();
    const next = inUse();
    expect(next).not.toBe(first);
    place.replace(kind.next);
    await round();
    expect([inUse(), watching.faults]).toEqual([next, []]);
  });

  const spoils: readonly (readonly [what: string, spoil: (place: Place) => void, words: RegExp, isFault: boolean])[] = [
    ['vanishes', ({ paths: [path = ''] }) => unlinkSync(path), /cannot be read \(ENOENT\)/, true],
    ['is empty', ({ paths: [path = ''] }) => truncateSync(path), /./, kind.mayBeEmpty !== true],
    [
      'is too long',
      ({ paths: [path = ''] }) => writeFileSync(path, '\n'.repeat(kind.bytesMax + 1)),
      /more than \d+ bytes/,
      true,
    ],
    ['is half written', ({ paths: [path = ''] }) => writeFileSync(path, kind.half ?? ''), /./, kind.half !== undefined],
    [
      'can be written by others',
      ({ paths: [path = ''] }) => chmodSync(path, 0o666),
      /others can write/,
      kind.guarded === true,
    ],
    ['is a folder', ({ paths: [path = ''] }) => (unlinkSync(path), mkdirSync(path)), /it is a directory/, true],
    [
      'is a pipe that nobody writes into',
      ({ paths: [path = ''] }) => (unlinkSync(path), execFileSync('mkfifo', [path])),
      /it is no file/,
      true,
    ],
  ];
  test.each(spoils.filter(([, , , isFault]) => isFault))(
    'that %s: the content from before stays, and it is told until the file can be used',
    async (_what, spoil, words) => {
      const place = renamed(kind);
      const { watching, inUse, round } = opened(kind, place);
      const first = inUse();
      spoil(place);
      await round();
      await round();
      const trouble = watching.files.trouble();
      expect(trouble).toMatch(new RegExp(`^${variable}: `));
      expect(trouble).toMatch(words);
      expect(inUse()).toBe(first);
      expect(watching.unusable.get(variable)).toBe(true);
      expect(watching.faults).toHaveLength(1);

      watching.clock.advance(KEPT_MS - 1);
      await round();
      expect(inUse()).toBe(first);
      watching.clock.advance(1);
      await round();
      expect(inUse()).toBe(kind.lapses ? '' : first);
      expect(watching.faults).toHaveLength(kind.lapses ? 2 : 1);

      for (const path of place.paths) rmSync(path, { recursive: true, force: true });
      place.replace(kind.next);
      await round();
      expect([watching.unusable.get(variable), watching.files.trouble()]).toEqual([false, undefined]);
      expect(inUse()).not.toBe(first);
      expect(inUse()).not.toBe('');
    },
  );
});

test.each(named.filter(([, { mayBeEmpty }]) => mayBeEmpty))(
  '%s: an empty file has nothing in it, which is taken',
  async (_, kind) => {
    const place = renamed(kind);
    const { watching, inUse, round } = opened(kind, place);
    truncateSync(place.paths[0] ?? '');
    await round();
    expect(['', '[]']).toContain(inUse());
    expect(watching.files.trouble()).toBeUndefined();
  },
);

test.each(named.filter(([, { variables }]) => variables.length > 1))(
  '%s: a key that is not that of the certificate yet waits for both to be there',
  async (_, kind) => {
    const [variable, keyVariable] = kind.variables;
    const place = renamed(kind);
    const { watching, inUse, round } = opened(kind, place);
    const first = inUse();
    place.replace([kind.next[0] ?? '', kind.first[1] ?? '']);
    await round();
    expect(inUse()).toBe(first);
    expect(watching.files.trouble()).toBe(`${variable}: the key is not that of the certificate`);
    unlinkSync(place.paths[1] ?? '');
    await round();
    expect(watching.files.trouble()).toBe(`${variable}: ${keyVariable}: the file cannot be read (ENOENT)`);
    place.replace(kind.next);
    await round();
    expect(inUse()).not.toBe(first);
  },
);

test.each(named.filter(([, { variables }]) => /_(?:CERT|CA)_FILE$/.test(variables[0])))(
  '%s: the expiry of the certificate in use is told',
  (_, kind) => {
    const { watching } = opened(kind, renamed(kind));
    const left = (watching.expiry.get(kind.variables[0]) ?? 0) - Date.now() / 1000;
    expect(left).toBeGreaterThan(80_000);
    expect(left).toBeLessThan(90_000);
  },
);
