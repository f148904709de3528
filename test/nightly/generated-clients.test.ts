import { execFile, execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { compressedBy, findProxy, startProxy } from '../support/http/real-proxies.ts';
import { scratchDirectory } from '../support/run/scratch-directory.ts';
import { freePorts } from '../support/service/free-ports.ts';
import { call, Muster, OPERATOR_TOKEN, tenant } from '../support/service/muster.ts';
import { findGenerator, GENERATORS, type Generator } from './generators.ts';

/*
 * The documents give working clients by the usual generators: a program written for each client walks with it through a
 * real service, directly and behind a proxy that compresses. What docs/API.md has is run as it stands there.
 */

const ROOT = resolve(import.meta.dirname, '../..');
const SECTION = /^### Python and Go$(.*?)^## /ms.exec(readFileSync(join(ROOT, 'docs/API.md'), 'utf8'))?.[1] ?? '';
const COMMANDS = [...SECTION.matchAll(/^```\n(.*?)^```$/gms)].map(([, commands = '']) => commands);

/** The lines of a walk that nothing surprises. */
const STEPS = [
  'operator: created an account, and renamed it',
  'operator: created an API key that expires in an hour',
  'stranger: 401 invalid_key',
  'owner: created an app, and got the same code by the same Idempotency-Key',
  'owner: created a second app',
  'operator: has both apps, in two pages',
  'owner: both apps are pending',
  'device: enrolled',
  'device: the code is used up: 401 invalid_code',
  'owner: 400 invalid_endpoint',
  'owner: stored, read and changed the configuration by its tag',
  'owner: by the former tag: 412 precondition_failed',
  'device: polled: 200 with the configuration',
  'device: polled by its tag: 304',
  'device: acknowledged',
  'operator: the rollout is complete',
  'owner: the app is active',
  'owner: issued another code',
  'owner: purged the configuration by its tag',
  'owner: revoked the app',
  'device: polled: 401 invalid_credential',
  'owner: deleted the second app: 404 not_found',
  'operator: the audit tells of it',
  'busy: 429 rate_limited, with Retry-After',
];

/** The audit of the account afterwards: a step must not only be told. */
const ACTIONS = [
  'account.changed',
  'account.created',
  'app.created',
  'app.created',
  'app.deleted',
  'app.enrolled',
  'app.revoked',
  'code.issued',
  'enrollment.refused',
  'key.created',
  'otel.purged',
  'otel.stored',
  'otel.stored',
];

const WAYS = ['directly', 'behind nginx that compresses'] as const;
const nginx = findProxy('nginx');
/** The folder of an nginx, by the variable of the URL that it stands for. */
const nginxIn = (folder: string, variable: string): string => join(folder, `nginx-${variable}`);

for (const generator of GENERATORS) {
  const { name, version, language, walk, build, run, gzip, instead = {}, prints } = generator;
  const { env, note } = findGenerator(generator);
  describe.skipIf(env === undefined)(`${name} ${version}: clients for ${language}${note}`, () => {
    let folder: string;
    let within: ReturnType<typeof runIn>;

    beforeAll(() => {
      folder = scratchDirectory('clients');
      within = runIn(folder, env ?? {});
      cpSync(join(ROOT, 'docs/openapi'), join(folder, 'docs/openapi'), { recursive: true });
      cpSync(join(import.meta.dirname, 'walks', walk), folder, { recursive: true });
      mkdirSync(join(folder, 'muster'));
    });
    afterAll(() => {
      rmSync(folder, { recursive: true });
    });

    test('are generated and compiled', async () => {
      expect(await within(generator.says)).toContain(version);
      const said = await within(commandsOf(generator));
      const warnings = [...said.matchAll(/^(?:WARNING|ERROR|Error) parsing (.*)$/gm)].map(([, what]) => what);
      expect(warnings).toEqual(generator.warnings ?? []);
      expect(said).not.toMatch(/Skipping Integration|Traceback/);
      if (build !== undefined) await within(build);
    });

    test.each(WAYS)('walk %s', async (way) => {
      await using muster = await Muster.start();
      await using doors = await doorsOf(muster, way, folder);
      using busy = new BusyKeyFile(muster, join(folder, 'busy-key'));
      const walked = await within(run, {
        ...doors.urls,
        MUSTER_CLIENT_OPERATOR_TOKEN_FILE: secretIn(folder, 'operator-token', OPERATOR_TOKEN),
        MUSTER_BUSY_KEY_FILE: busy.path,
        NO_PROXY: '127.0.0.1',
        no_proxy: '127.0.0.1',
        TZ: 'Europe/Berlin',
      });
      process.stdout.write(walked);
      expect(walked.trimEnd().split('\n')).toEqual(prints ?? STEPS.map((step) => instead[step] ?? step));
      if (prints === undefined) expect(await auditedActions(muster)).toEqual(ACTIONS);
      if (way === 'directly') return;
      await doors[Symbol.asyncDispose]();
      const compressed = Object.keys(doors.urls).map((variable) => compressedBy(nginxIn(folder, variable)));
      process.stdout.write(`Answers in gzip: ${compressed.join(', ')}\n`);
      expect(compressed.map((answers) => answers > 0)).toEqual(compressed.map(() => gzip !== 'no'));
    });
  });
}

function commandsOf({ generate }: Generator): string {
  if (typeof generate === 'string') return generate;
  const commands = COMMANDS.filter((block) => block.includes(generate.documented));
  expect(commands).toHaveLength(1);
  return commands.join('');
}

function secretIn(folder: string, name: string, secret: string): string {
  const path = join(folder, name);
  writeFileSync(path, `${secret}\n`, { mode: 0o600 });
  return path;
}

/** The URLs of the listeners, as the walk gets them. */
async function doorsOf(muster: Muster, way: (typeof WAYS)[number], folder: string) {
  await using stack = new AsyncDisposableStack();
  const targets = {
    MUSTER_CLIENT_URL: muster.api,
    MUSTER_CLIENT_DEVICE_URL: muster.device,
    MUSTER_CLIENT_OPS_URL: muster.ops,
  };
  const urls: Record<string, string> = { ...targets };
  if (way !== 'directly') {
    for (const [variable, target] of Object.entries(targets)) {
      const [port = 0] = await freePorts(1);
      const plan = { folder: nginxIn(folder, variable), port, target, readSeconds: 60 };
      stack.use(await startProxy('nginx', nginx ?? '', plan));
      urls[variable] = `http://127.0.0.1:${port}`;
    }
  }
  const moved = stack.move();
  return { urls, [Symbol.asyncDispose]: () => moved.disposeAsync() };
}

/**
 * A pipe that gives its reader a key of an account whose requests of this minute are used up at that moment: a walk may
 * take longer than a minute until it comes to it.
 */
class BusyKeyFile implements Disposable {
  readonly path: string;

  constructor(muster: Muster, path: string) {
    this.path = path;
    execFileSync('mkfifo', [path]);
    void this.#serve(muster);
  }

  async #serve(muster: Muster): Promise<void> {
    // Opening waits for the reader.
    await using pipe = await open(this.path, 'w');
    if (existsSync(this.path)) await pipe.writeFile(`${await busyKey(muster)}\n`);
  }

  [Symbol.dispose](): void {
    // A walk that failed before left the pipe unread: whoever waits at it goes on, and finds no file.
    const reader = openSync(this.path, constants.O_RDONLY | constants.O_NONBLOCK);
    unlinkSync(this.path);
    closeSync(reader);
  }
}

async function busyKey(muster: Muster): Promise<string> {
  const { apiKey } = await tenant(muster);
  const ask = async () => (await call(`${muster.api}/v1/apps`, { token: apiKey })).status;
  for (;;) if ((await Promise.all(Array.from({ length: 50 }, ask))).includes(429)) return apiKey;
}

/** The actions in the audit of the walk's account, in the order of the alphabet. */
async function auditedActions(muster: Muster): Promise<string[]> {
  const accounts = `${muster.ops}/operator/v1/accounts`;
  const listed = (await call(accounts, { token: OPERATOR_TOKEN })).body['accounts'] as {
    accountId: string;
    name: string;
  }[];
  const walked = listed.filter(({ name }) => name === 'walk');
  expect(walked).toHaveLength(1);
  const audit = await call(`${accounts}/${walked[0]?.accountId}/audit`, { token: OPERATOR_TOKEN });
  return (audit.body['entries'] as { action: string }[]).map(({ action }) => action).sort();
}

/** Runs commands of a shell there. @returns what they print; a command that fails throws it */
function runIn(folder: string, env: NodeJS.ProcessEnv) {
  return async (commands: string, more: NodeJS.ProcessEnv = {}): Promise<string> => {
    const { stdout, stderr } = await promisify(execFile)('sh', ['-euc', commands], {
      cwd: folder,
      env: { ...env, ...more },
      maxBuffer: 2 ** 26,
    });
    return `${stdout}${stderr}`;
  };
}
