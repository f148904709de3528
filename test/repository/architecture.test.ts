import { globSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join, relative } from 'node:path';
import process from 'node:process';
import { afterAll, describe, expect, test } from 'vitest';
import {
  circles,
  clientTree,
  importsOf,
  roomOf,
  ROOT,
  sourceTree,
  testTree,
  treeOf,
  withoutComments,
} from '../support/repository/source-tree.ts';

const tree = sourceTree();

/**
 * From the ground up: a file imports files of its own layer or of a lower one; `import type` counts. A room is of the
 * layer that has it, or else the folder around it.
 */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  ground: [
    'time',
    'text',
    'concurrency',
    'packed',
    'log.ts',
    'version.ts',
    'config',
    'opamp',
    'webauthn',
    'outgoing',
    'metrics/instruments',
    'domain/limits.ts',
    'domain/refusal.ts',
  ],
  store: ['store'],
  'domain base': [
    'domain/records',
    'domain/credentials',
    'domain/key-validity',
    'domain/keys',
    'domain/fleet',
    'domain/fullness',
    'domain/cleanup',
    'domain/mutation',
    'domain/history',
    'domain/replicas',
    'domain/status-history',
    'domain/audit',
    'domain/quota',
    'domain/rate-window',
  ],
  features: ['domain'],
  'api base': ['api/headers', 'api/http', 'api/listener', 'api/contract', 'api/serve', 'oidc'],
  'api doors': ['api'],
  controller: ['controller'],
  service: ['service', 'metrics'],
  'command line': ['cli', 'main.ts'],
};
const LAYER_OF = new Map(Object.values(LAYERS).flatMap((rooms, at) => rooms.map((room) => [room, at] as const)));

function layerOf(path: string): number {
  for (let room = path; room !== '.'; room = dirname(room)) {
    const layer = LAYER_OF.get(room);
    if (layer !== undefined) return layer;
  }
  return -1;
}

describe('the layers', () => {
  test('every file is of one, and every entry has files', () => {
    expect(tree.length).toBeGreaterThan(250);
    expect(tree.filter(({ path }) => layerOf(path) === -1).map(({ path }) => path)).toEqual([]);
    const isUsed = (room: string): boolean => tree.some(({ path }) => path === room || path.startsWith(`${room}/`));
    expect([...LAYER_OF.keys()].filter((room) => !isUsed(room))).toEqual([]);
  });

  test('every import is of a file of src, and none goes to a higher layer', () => {
    const paths = new Set(tree.map(({ path }) => path));
    const outside = tree.flatMap(({ path, imports }) =>
      imports.filter((to) => !paths.has(to)).map((to) => `${path} → ${to}`),
    );
    expect(outside).toEqual([]);
    const upward = tree.flatMap(({ path, imports }) =>
      imports.filter((to) => layerOf(to) > layerOf(path)).map((to) => `${path} → ${to}`),
    );
    expect(upward).toEqual([]);
  });

  test('docs/ARCHITECTURE.md names each with its rooms', () => {
    const text = readFileSync(join(ROOT, 'docs/ARCHITECTURE.md'), 'utf8');
    const part = text.slice(text.indexOf('## The rooms of `src`'), text.indexOf('Beside `src` lies the client'));
    const [, ...told] = part.split(/^\*\*(?=.+\*\*$)/m).map((layer) => layer.split('**\n'));
    expect(told.map(([name = '']) => name.toLowerCase())).toEqual(
      Object.keys(LAYERS).map((name) => name.toLowerCase()),
    );
    const elsewhere = told.flatMap(([, rooms = ''], at) =>
      [...rooms.matchAll(/`([a-z0-9/-]+)`(?=[^:\n]*:)/g)]
        .map(([, room = '']) => room)
        .filter((room) => tree.some(({ path }) => path.startsWith(`${room}/`)) && layerOf(room) !== at),
    );
    expect(elsewhere).toEqual([]);
    const firsts = new Set(
      tree.map(({ path }) =>
        path
          .split('/')
          .slice(0, path.startsWith('domain/') ? 2 : 1)
          .join('/'),
      ),
    );
    expect([...firsts].filter((room) => !part.includes(`\`${room}\``) && !part.includes(`\`${room}/`))).toEqual([]);
  });

  test('no rooms import each other in a circle', () => {
    const rooms = Object.entries(Object.groupBy(tree, ({ path }) => roomOf(path))).map(([room, files = []]) => ({
      path: room,
      imports: [...new Set(files.flatMap(({ imports }) => imports.map(roomOf)))].filter((other) => other !== room),
    }));
    expect(rooms.length).toBeGreaterThan(70);
    expect(circles(rooms).map((circle) => circle.join(' → '))).toEqual([]);
  });
});

test('no files import each other in a circle', () => {
  const files = treeOf('.', '{src,web,clients,scripts,bench,demo,drill,fleet,deploy,test}/**/*.{ts,tsx,mts,mjs}');
  expect(files.length).toBeGreaterThan(1500);
  expect(circles(files).map((circle) => circle.join(' → '))).toEqual([]);
});

/** Files of the API that send an answer themselves; every other answer is one that a handler gives. */
const SENDERS: readonly string[] = [
  // They send what the handlers give.
  'api/device/device-plane.ts',
  'api/serve/send.ts',
  // Another protocol, probes, files and pages.
  'api/opamp/answer.ts',
  'api/operator/ops-server.ts',
  'api/operator/public-files.ts',
  'api/panel/pages/built-pages.ts',
  'api/panel/panel-server.ts',
];

test('an answer is given by a handler, which the compiler judges, but for what is no JSON', () => {
  const senders = tree.filter(({ text }) => /exchange\.(?:reply|stream|open)\(/.test(withoutComments(text)));
  expect(senders.map(({ path }) => path)).toEqual(SENDERS.toSorted());
});

/** Folders of more than 15 files, each with its reason; none has more than 20. */
const LARGE_ROOMS: Readonly<Record<string, string>> = {
  'src/domain/rate-window/shared':
    'one protocol: its rules are pure functions of one situation, small enough to simulate',
  'src/api/http': 'one file a step of an exchange, for every listener',
  'src/api/operator': 'one file an operation of the operator, with the probes and the scrape beside them',
  'src/api/panel/operations': 'one file a subject of the pages, with its handlers',
  'src/domain/users': 'one file a subject of the people who use the panel: a link, a passkey, a role, a deletion',
  'src/domain/records': 'one file of declarations a subject, beside what they are folded by',
  'src/service': 'the composition root, with what opens and closes the process',
  'test/api/operator': 'one file an operation of the operator, beside the probes and the scrape of one listener',
  'test/cluster': 'one file a promise of the chart and of each custom resource, on one control plane that they share',
  'test/mutants': 'one list of slips a subject, beside what plants them',
  'test/service': 'what one service promises through its doors',
};
/** Files of `src` of more than 300 lines, each with its reason. */
const LONG_FILES: Readonly<Record<string, string>> = {
  'opamp/generated/opamp_pb.ts': 'generated from opamp.proto',
};

describe('sizes', () => {
  test('no folder has more than 15 files, and none of the listed ones more than 20', () => {
    const folders = Object.groupBy([...tree.map(({ path }) => `src/${path}`), ...testTree()], (path) => dirname(path));
    const sizes = Object.entries(folders).map(([folder, files = []]) => ({ folder, files: files.length }));
    expect(sizes.filter(({ folder, files }) => files > (folder in LARGE_ROOMS ? 20 : 15))).toEqual([]);
    expect(Object.keys(LARGE_ROOMS).filter((room) => (folders[room]?.length ?? 0) <= 15)).toEqual([]);
  });

  test('only log.ts, version.ts and main.ts lie loose in src, and three files in src/domain', () => {
    const loose = tree.map(({ path }) => path).filter((path) => ['.', 'domain', 'api'].includes(dirname(path)));
    expect(loose).toEqual([
      'domain/features.ts',
      'domain/limits.ts',
      'domain/refusal.ts',
      'log.ts',
      'main.ts',
      'version.ts',
    ]);
  });

  test('no file of src has more than 300 lines, but for those that say why', () => {
    const long = tree.filter(({ lines }) => lines > 300).map(({ path }) => path);
    expect(long).toEqual(Object.keys(LONG_FILES));
  });
});

describe('doors', () => {
  const importsOfStore = tree.flatMap(({ path, imports }) =>
    imports.filter((to) => to.startsWith('store/') && !path.startsWith('store/')).map((to) => ({ path, to })),
  );
  const told = ({ path, to }: { readonly path: string; readonly to: string }): string => `${path} → ${to}`;

  test('others see the port, the pages and the watch handle of the store; the watch cache and the back-ends have one user each', () => {
    const OPEN = new Set(['store/port.ts', 'store/mark.ts', 'store/pages.ts', 'store/watch-handle.ts']);
    const CLOSED: Readonly<Record<string, readonly string[]>> = {
      'store/watch-cache/watch-cache.ts': ['domain/fleet', 'service'],
      'store/instrumented.ts': ['service'],
      'store/outages.ts': ['service'],
      'store/health.ts': ['service'],
      'store/etcd/etcd-store.ts': ['service'],
      'store/sqlite/sqlite-store.ts': ['service'],
      // The series that these rooms count; the metrics of a process have those of all rooms.
      'store/metrics.ts': ['metrics'],
      'store/watch-cache/metrics.ts': ['metrics'],
    };
    expect(importsOfStore.length).toBeGreaterThan(50);
    const deep = importsOfStore.filter(({ path, to }) => !OPEN.has(to) && !(CLOSED[to] ?? []).includes(roomOf(path)));
    expect(deep.map(told)).toEqual([]);
    const entered = new Set(importsOfStore.map(({ to }) => to));
    expect(Object.keys(CLOSED).filter((door) => !entered.has(door))).toEqual([]);
    const backends = importsOfStore.filter(({ to }) => /etcd-store|sqlite-store/.test(to));
    expect(new Set(backends.map(({ path }) => path))).toEqual(new Set(['service/open-store.ts']));
  });

  test('api, controller and cli see the port of the store alone', () => {
    const deep = importsOfStore.filter(
      ({ path, to }) => /^(?:api|controller|cli)\//.test(path) && to !== 'store/port.ts',
    );
    expect(deep.map(told)).toEqual([]);
  });

  test('api, controller and controller/kubernetes do not import each other, but for the type of the leader', () => {
    const wing = (path: string): string => /^(?:api|controller\/kubernetes|controller)(?=\/)/.exec(path)?.[0] ?? '';
    const across = tree.flatMap(({ path, imports }) =>
      imports
        .filter((to) => wing(path) !== '' && wing(to) !== '' && wing(path) !== wing(to))
        .map((to) => told({ path, to })),
    );
    expect(across).toEqual(['controller/kubernetes/operator.ts → controller/leader.ts']);
  });
});

/** The rooms and files that may import a package; `types` may import its types alone. */
const VENDORS: Readonly<Record<string, { readonly from: readonly string[]; readonly types?: readonly string[] }>> = {
  '@grpc/grpc-js': { from: [], types: ['store/etcd', 'store/etcd/lease', 'store/etcd/wire'] },
  negotiator: { from: ['api/headers'] },
  '@kubernetes/client-node': {
    from: ['cli/commands/kubernetes', 'controller/kubernetes/client'],
  },
  '@bufbuild/protobuf': { from: ['opamp', 'opamp/generated'] },
  '@bufbuild/protobuf/codegenv2': { from: ['opamp/generated'] },
  '@bufbuild/protobuf/wire': { from: ['opamp', 'store/etcd/wire'] },
  // Loaded when somebody first uses a passkey.
  '@simplewebauthn/server': { from: ['webauthn'] },
  // On a thread that judges one password.
  '@zxcvbn-ts/core': { from: ['domain/passwords/password-strength.ts'] },
  '@zxcvbn-ts/language-common': { from: ['domain/passwords/password-strength.ts'] },
  '@bomb.sh/tab': { from: ['cli/commands/completion'] },
  'cli-progress': { from: ['cli/terminal'] },
  'string-width': { from: ['cli/output/width.ts'] },
  commander: {
    from: ['cli/program.ts', 'cli/terminal/exit-codes.ts', 'cli/terminal/globals.ts'],
    types: ['cli/commands/completion', 'cli/declarations'],
  },
  etcd3: { from: ['store/etcd/wire'], types: ['store/etcd', 'store/etcd/lease'] },
  // Not in the package's index; channel.ts says why it is needed, and the version is pinned.
  'etcd3/lib/connection-pool.js': { from: ['store/etcd/wire/channel.ts'] },
  express: { from: ['api/serve/request-listener.ts'] },
  'node:sqlite': { from: ['store/sqlite'] },
  jose: { from: ['oidc'] },
  'openid-client': { from: ['oidc'] },
  'csv-parse/sync': { from: ['text/csv-rows.ts'] },
  'ipaddr.js': { from: ['text/ip-addresses.ts'] },
  yaml: { from: ['domain/opamp', 'cli/commands/kubernetes'] },
  pino: { from: ['log.ts'] },
  'zod-openapi': { from: ['api/openapi'] },
  'prom-client': { from: ['metrics', 'metrics/instruments'], types: ['api/operator/ops-server.ts'] },
};
/**
 * The client of the three APIs, by its name in `imports` of package.json: of all of `src` only the command line uses
 * it.
 */
const CLIENT = '#client';
/** One schema language for all that comes in: any room may use it. */
const EVERYWHERE = new Set(['zod']);
const isPackage = (name: string): boolean =>
  name === 'node:sqlite' || !builtinModules.includes(name.replace(/^node:/, ''));

describe('packages', () => {
  test('each is imported by the rooms that are listed for it alone', () => {
    const may = (rooms: readonly string[] = [], path: string): boolean =>
      rooms.includes(roomOf(path)) || rooms.includes(path);
    const misplaced = tree.flatMap(({ path, packages, runs }) =>
      packages
        .filter((name) => isPackage(name) && name !== CLIENT && !EVERYWHERE.has(name))
        .filter((name) => {
          const { from, types = [] } = VENDORS[name] ?? { from: [] };
          return !may(from, path) && (runs.includes(name) || !may(types, path));
        })
        .map((name) => `${path}: ${name}`),
    );
    expect(misplaced).toEqual([]);
    const used = new Set(tree.flatMap(({ packages }) => packages));
    expect(Object.keys(VENDORS).filter((name) => !used.has(name))).toEqual([]);
  });

  test('the client is imported by the command line alone, and by its name', () => {
    const users = tree.filter(({ packages }) => packages.some((name) => name.startsWith(CLIENT)));
    expect(users.map(({ path }) => path).filter((path) => !path.startsWith('cli/'))).toEqual([]);
    expect(tree.filter(({ text }) => /['"][^'"]*clients\/typescript/.test(text)).map(({ path }) => path)).toEqual([]);
  });

  test('the reference daemon has the client and the platform alone, as one in another repository would', () => {
    const daemon = tree.filter(({ path }) => path.startsWith('cli/agent/'));
    expect(daemon.length).toBeGreaterThan(5);
    const others = daemon.flatMap(({ path, imports, packages }) => [
      ...imports.filter((to) => roomOf(to) !== 'cli/agent').map((to) => `${path} → ${to}`),
      ...packages.filter((name) => name !== CLIENT && isPackage(name)).map((name) => `${path}: ${name}`),
    ]);
    expect(others).toEqual([]);
  });

  test('each dependency has its line in ADR 0006, and no other has', () => {
    const { dependencies, devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<
      'dependencies' | 'devDependencies',
      Record<string, string>
    >;
    const lines = readFileSync(join(ROOT, 'docs/adr/0006-dependencies.md'), 'utf8').split('\n');
    const listed = lines
      .filter((line) => line.startsWith('| `'))
      .flatMap((line) => [...(line.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name));
    expect(listed.toSorted()).toEqual(Object.keys({ ...dependencies, ...devDependencies }).toSorted());
  });
});

describe('the client for TypeScript', () => {
  const client = clientTree();

  test('imports its own files alone: nothing of src, no package, no module of Node', () => {
    expect(client.length).toBeGreaterThan(10);
    const foreign = client.flatMap(({ path, imports, packages }) => [
      ...imports.filter((to) => !client.some(({ path }) => path === to)).map((to) => `${path} → ${to}`),
      ...packages.map((name) => `${path}: ${name}`),
    ]);
    expect(foreign).toEqual([]);
  });

  test('is as small in its parts as src', () => {
    const written = client.filter(({ path }) => !path.startsWith('generated/'));
    expect(written.filter(({ lines }) => lines > 300).map(({ path }) => path)).toEqual([]);
    const folders = Object.values(Object.groupBy(client, ({ path }) => dirname(path)));
    expect(folders.filter((files = []) => files.length > 17)).toEqual([]);
  });

  test('has no dependency', () => {
    const told = JSON.parse(readFileSync(join(ROOT, 'clients/typescript/package.json'), 'utf8')) as object;
    expect(Object.keys(told).filter((field) => /dependencies/i.test(field))).toEqual([]);
  });
});

/** Files that send HTTP by themselves, each with its reason; all others use clients/typescript. */
const OTHER_CLIENTS: Readonly<Record<string, string>> = {
  'src/cli/connection/fetch-to.ts':
    'is the fetch that the client is given: it knows who does not listen, and believes one certificate',
  'src/cli/connection/told.ts': 'asks for metrics, once and without a secret',
  'src/cli/commands/doctor/service.ts': 'asks a probe, once and without a secret',
  'src/cli/commands/service/status.ts': 'asks probes and metrics, once and without a secret',
  'src/cli/simulation/opamp-exchange.ts': 'speaks OpAMP, which is none of the APIs of the client',
  'src/outgoing/agent-fetch.ts':
    'is the one way of the service to the outside, and of the command line through a proxy or to one certificate',
  'bench/load.ts': 'must cost less than the service that it measures',
  'bench/million-fleet.ts': 'asks a probe, so often that a start is measured by it',
  'bench/scrape.ts': 'scrapes as Prometheus does, and holds idle connections',
  'drill/stage.ts': 'asks what the client would not: too often, and with a wrong secret',
  'fleet/polling.ts': 'must cost less than the service that it drives',
  'src/service/etcd-probe.ts': 'asks which protocol etcd speaks at its address',
  'src/store/etcd/wire/channel-sockets.ts': 'opens the TCP connections of gRPC, to be able to close them',
  'fleet/figures.ts': 'scrapes as Prometheus does, etcd as well',
};

/** Calls of the service that no proxy of the outside may see. */
const INSIDE: readonly string[] = ['src/service/etcd-probe.ts', 'src/store/etcd/wire/channel-sockets.ts'];

test('no second HTTP client is in the repository', () => {
  const files = globSync('{src,demo,drill,fleet,bench,scripts,deploy}/**/*.{ts,mjs}', { cwd: ROOT });
  expect(files.length).toBeGreaterThan(250);
  const senders = files.filter((path) => {
    const text = withoutComments(readFileSync(join(ROOT, path), 'utf8'));
    return /(?<![\w.])fetch\(|from 'undici'|import \{[^}]*\b(?:request|connect)\b[^}]*\} from 'node:(?:https?|http2|net|tls)'/.test(
      text,
    );
  });
  expect(senders.length).toBeGreaterThan(3);
  expect(senders.filter((path) => !(path in OTHER_CLIENTS))).toEqual([]);
  const ofService = senders.filter((path) => path.startsWith('src/') && !path.startsWith('src/cli/'));
  expect(ofService).toEqual(expect.arrayContaining([...INSIDE]));
  expect(ofService.filter((path) => !INSIDE.includes(path))).toEqual(['src/outgoing/agent-fetch.ts']);
});

/** Folders of tests that mirror no room of `src`: of whole processes, of what lies outside of `src`, and supports. */
const FREE =
  /^test\/(?:clients|system|service\/replicas|repository|chaos|charts|cluster|fleet|monitoring|mutants|nightly|scripts|store\/conformance|support)(?:\/|$)/;

describe('tests', () => {
  const tests = testTree().filter((path) => path.endsWith('.test.ts'));

  test('lie in the folder of the room that they test', () => {
    const rooms = new Set(tree.map(({ path }) => dirname(path)));
    const elsewhere = tests.filter((path) => !FREE.test(path) && !rooms.has(relative('test', dirname(path)) || '.'));
    expect(elsewhere).toEqual([]);
  });

  // Reported and not refused: most files are held by the tests of what they are a part of, often through HTTP.
  afterAll(() => {
    const names = new Set(tests);
    const without = tree.filter(({ path }) => !names.has(`test/${path.replace(/\.ts$/, '.test.ts')}`));
    const how = 'MUSTER_LIST_UNTESTED=1 npm run test:quick lists them';
    const listed = process.env['MUSTER_LIST_UNTESTED'] === '1' ? without.map(({ path }) => `\n  ${path}`).join('') : '';
    process.stdout.write(
      `${without.length} of ${tree.length} files of src have no test of their name (${how})${listed}\n`,
    );
  });
});

describe('the reader of the tree', () => {
  test('sees imports of types, exports and imports at run time, and none in a comment', () => {
    const text = [
      "import { a } from './a.ts';",
      "import type { B } from '../b.ts';",
      "import {\n  c,\n} from './c.ts';",
      "export { d } from './d.ts';",
      "export type { E } from './e.ts';",
      "import './f.ts';",
      "const g = await import('./g.ts');",
      "const every = glob('**/*.ts');",
      "import { h } from './h.ts';",
      "// import './comment.ts';",
      "/* import './comment.ts'; */",
      "import type { Registry } from 'prom-client';",
      "import { pino } from 'pino';",
    ].join('\n');
    expect(importsOf('room/file.ts', text)).toEqual({
      imports: ['room/a.ts', 'b.ts', 'room/c.ts', 'room/d.ts', 'room/e.ts', 'room/f.ts', 'room/g.ts', 'room/h.ts'],
      packages: ['prom-client', 'pino'],
      runs: ['pino'],
    });
  });

  test('finds a circle of any length, and none where there is none', () => {
    const file = (path: string, ...imports: string[]) => ({ path, imports });
    expect(circles([file('a', 'b'), file('b', 'c'), file('c', 'b')])).toEqual([['b', 'c', 'b']]);
    expect(circles([file('a', 'b', 'c'), file('b', 'c'), file('c')])).toEqual([]);
  });
});

describe('the metrics', () => {
  test('no room below the service imports those of all rooms: a room declares the series that it counts', () => {
    const importers = tree
      .filter(({ imports }) => imports.some((to) => roomOf(to) === 'metrics'))
      .map(({ path }) => roomOf(path))
      .filter((room) => room !== 'metrics');
    expect(importers.length).toBeGreaterThan(0);
    expect(importers.filter((room) => room !== 'service')).toEqual([]);
  });

  test('own no word of another room: the instruments import no other room', () => {
    const own = tree.filter(({ path }) => roomOf(path) === 'metrics/instruments');
    expect(own.length).toBeGreaterThan(0);
    expect(own.flatMap(({ imports }) => imports).filter((to) => roomOf(to) !== 'metrics/instruments')).toEqual([]);
  });
});
