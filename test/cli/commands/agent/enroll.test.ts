import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import process from 'node:process';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { COLLECTORS, usualCollector } from '../../../../src/cli/commands/agent/enroll.ts';
import { selfSigned } from '../../../support/http/certificates.ts';
import { LossyProxy, type Fate } from '../../../support/http/lossy-proxy.ts';
import { scratchDirectory } from '../../../support/run/scratch-directory.ts';
import { changeAccount, readApp, setOtel } from '../../../support/service/daemon.ts';
import { musterHere, musterProcess, type Ended } from '../../../support/service/muster-command.ts';
import { createApp, Muster, poll, tenant, type CreatedApp, type Tenant } from '../../../support/service/muster.ts';
import { until } from '../../../support/time/until.ts';

let muster: Muster;
let owner: Tenant;
let app: CreatedApp;
let root: string;
let folder: string;
beforeAll(async () => {
  muster = await Muster.start();
  root = scratchDirectory('agent-enroll');
});
afterAll(async () => {
  await muster[Symbol.asyncDispose]();
  rmSync(root, { recursive: true, force: true });
});
// Other files run in the same process.
const trusted = getCACertificates('default');
afterEach(() => setDefaultCACertificates(trusted));
beforeEach(async () => {
  owner = await tenant(muster);
  app = await createApp(muster, owner.apiKey);
  folder = mkdtempSync(join(root, 'machine-'));
  writeFileSync(at('code'), `${app.enrollCode}\n`);
  writeFileSync(at('otelcol'), '', { mode: 0o755 });
  writeFileSync(at('base.yaml'), '');
});

const at = (...names: string[]): string => join(folder, ...names);
const text = (...names: string[]): string => readFileSync(at(...names), 'utf8');
const modeOf = (...names: string[]): string => (statSync(at(...names)).mode & 0o777).toString(8);
const statusOf = async (): Promise<unknown> => (await readApp(muster, owner.apiKey, app.appId))['status'];
const kept = (dir = 'dir') =>
  JSON.parse(text(dir, 'credential')) as { appId: string; credential: string; enrolled: boolean };

/** The words of the command without a code. */
const words = (...more: string[]): string[] =>
  ['agent', 'enroll', '--opamp', at('dir'), '--executable', at('otelcol')].concat(more);
const enrolling = (...more: string[]): string[] => words('--app', app.appId, '--code-file', at('code'), ...more);
const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> =>
  musterHere(args, { MUSTER_CLIENT_DEVICE_URL: muster.device, ...env });

/** The supervisor's configuration as YAML has it, with each `$` doubled still. */
const written = (dir = 'dir'): unknown => parse(text(dir, 'supervisor.yaml'));

/** As the supervisor takes it, which makes one `$` of two. A single one would begin an expansion. */
function taken(dir = 'dir'): unknown {
  const undoubled = (value: unknown): unknown => {
    if (typeof value === 'string') {
      expect(value.replaceAll('$$', '')).not.toContain('$');
      return value.replaceAll('$$', '$');
    }
    if (Array.isArray(value)) return value.map((item) => undoubled(item));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, undoubled(item)]));
  };
  return undoubled(written(dir));
}

async function proxied(fate: Fate): Promise<LossyProxy> {
  const proxy = await LossyProxy.before(muster.device);
  proxy.fate = () => fate;
  // Longer than a call may take: the client does not try again by itself.
  proxy.retryAfterSeconds = 3600;
  return proxy;
}

describe('muster agent enroll', () => {
  test('enrolls, and leaves the credential and the configuration of the supervisor for their owner alone', async () => {
    await setOtel(muster, owner.apiKey);
    const ended = await run(enrolling('--config-file', at('base.yaml')));
    expect(ended).toEqual({
      code: 0,
      stdout: '',
      stderr: `Enrolled as ${app.appId}.\n${at('dir', 'supervisor.yaml')} is written: start the supervisor with it.\n`,
    });
    expect(kept()).toEqual({
      appId: app.appId,
      credential: expect.stringMatching(/^mst_dev_[\w-]{43}$/) as string,
      enrolled: true,
    });
    expect(written()).toEqual({
      server: {
        endpoint: `${muster.device}/v1/opamp`,
        headers: { Authorization: [`Bearer ${kept().credential}`] },
      },
      capabilities: {
        accepts_remote_config: true,
        reports_remote_config: true,
        reports_effective_config: false,
        reports_health: true,
        reports_heartbeat: true,
        accepts_opamp_connection_settings: false,
        reports_own_metrics: false,
      },
      agent: { executable: at('otelcol'), config_apply_timeout: '15s', config_files: [at('base.yaml')] },
      storage: { directory: at('dir', 'storage') },
    });
    expect([modeOf('dir'), modeOf('dir', 'credential'), modeOf('dir', 'supervisor.yaml')]).toEqual([
      '700',
      '600',
      '600',
    ]);
    expect(await statusOf()).toBe('active');
    // A private daemon would be told nothing.
    expect((await poll(muster, kept().credential)).body).toMatchObject({ otel: { enabled: true } });
  });

  test('takes the code from stdin in a process of its own, whose output has no credential', async () => {
    const args = words('--app', app.appId, '--code-stdin');
    const ended = await musterProcess(args, { MUSTER_CLIENT_DEVICE_URL: muster.device }, { stdin: app.enrollCode })
      .ended;
    expect(ended).toMatchObject({ code: 0, stdout: '' });
    expect(ended.stderr).toContain('supervisor.yaml is written');
    expect(ended.stderr).not.toMatch(/mst_/);
  });

  test('--quiet says nothing', async () => {
    expect(await run(enrolling('--quiet'))).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  test('run again needs neither code nor service, and replaces the file of the supervisor as a whole', async () => {
    await run(enrolling());
    const [identity, first] = [text('dir', 'credential'), text('dir', 'supervisor.yaml')];
    linkSync(at('dir', 'supervisor.yaml'), at('before'));
    const more = ['--storage', at('elsewhere'), '--endpoint', 'https://opamp.example.com/agents'];
    const again = await run(words(...more), { MUSTER_CLIENT_DEVICE_URL: 'http://127.0.0.1:1' });
    expect(again).toMatchObject({ code: 0, stderr: expect.not.stringContaining('Enrolled') as string });
    expect(text('dir', 'credential')).toBe(identity);
    expect(taken()).toMatchObject({
      server: {
        endpoint: 'https://opamp.example.com/agents',
        headers: { Authorization: [`Bearer ${kept().credential}`] },
      },
      storage: { directory: at('elsewhere') },
    });
    expect(text('before')).toBe(first);
    expect(modeOf('dir', 'supervisor.yaml')).toBe('600');
  });

  test('run again with a code leaves it as it is, and says how to enroll anew', async () => {
    await run(enrolling());
    const { credential } = kept();
    const { code, stderr } = await run(enrolling());
    expect(code).toBe(0);
    expect(stderr).toMatch(/has enrolled already, and the code is left as it is.*remove that file/);
    expect(kept().credential).toBe(credential);
  });

  test('takes a file of the supervisor that everybody can read out of their sight', async () => {
    mkdirSync(at('dir'), { mode: 0o700 });
    writeFileSync(at('dir', 'supervisor.yaml'), 'old', { mode: 0o644 });
    await run(enrolling());
    expect(modeOf('dir', 'supervisor.yaml')).toBe('600');
  });

  test('makes every path absolute', async () => {
    const here = (...names: string[]) => relative(process.cwd(), at(...names));
    const args = ['--executable', here('otelcol'), '--config-file', here('base.yaml'), '--storage', here('kept')];
    const identity = ['--app', app.appId, '--code-file', here('code')];
    expect(await run(['agent', 'enroll', '--opamp', here('dir'), ...args, ...identity])).toMatchObject({ code: 0 });
    expect(taken()).toMatchObject({
      agent: { executable: at('otelcol'), config_files: [at('base.yaml')] },
      storage: { directory: at('kept') },
    });
  });

  test.each([
    [`it's "quoted" \\ twice`, 'quotes and a backslash'],
    ['$HOME ${env:HOME} $$ ${file:/etc/hostname}', 'what the supervisor would expand'],
    ['a # b: c, [d] {e} - *f &g !h | > %i @j `k`', 'what YAML would read otherwise'],
    [' tab\t line\n end\r\u2028\u0085\u007f ', 'ends of lines, and space around'],
    ['é 漢 😀', 'characters of one, two and four bytes more'],
  ])('a path with %j arrives byte for byte (%s)', async (name) => {
    const odd = name.replaceAll('/', '');
    mkdirSync(at(odd));
    writeFileSync(at(odd, 'collector'), '', { mode: 0o755 });
    for (const file of ['one.yaml', 'two.yaml']) writeFileSync(at(odd, file), '');
    const plain = odd.replaceAll(':', '');
    const dir = join(plain, 'dir');
    const paths = ['--executable', at(odd, 'collector'), '--config-file', at(odd, 'one.yaml')];
    const identity = ['--app', app.appId, '--code-file', at('code')];
    const args = ['agent', 'enroll', '--opamp', at(dir), ...paths, '--config-file', at(odd, 'two.yaml'), ...identity];
    expect(await run(args)).toMatchObject({ code: 0 });
    expect(taken(dir)).toMatchObject({
      agent: { executable: at(odd, 'collector'), config_files: [at(odd, 'one.yaml'), at(odd, 'two.yaml')] },
      storage: { directory: at(dir, 'storage') },
    });
    // The supervisor's reader of YAML refuses an escape for half of a character.
    expect(text(dir, 'supervisor.yaml')).not.toMatch(/\\u[dD][89a-fA-F]/);
    expect(text(dir, 'supervisor.yaml')).toMatch(/^[\n\x20-\x7e]*$/);
  });
});

describe('trouble on the way', () => {
  test('a lost answer burns no code: the request is repeated', async () => {
    await using proxy = await proxied('through');
    let lost = 0;
    proxy.fate = ({ url }) => (url?.endsWith('/enroll') === true && (lost += 1) <= 2 ? 'lost' : 'through');
    expect(await run(enrolling(), { MUSTER_CLIENT_DEVICE_URL: proxy.url })).toMatchObject({ code: 0 });
    expect(proxy.count('lost')).toBe(2);
    expect(kept().enrolled).toBe(true);
    expect(await statusOf()).toBe('active');
  });

  test('a service that does not answer ends it with 1 and what to do, and nothing is lost', async () => {
    await using proxy = await proxied(503);
    const { code, stdout, stderr } = await run(enrolling(), { MUSTER_CLIENT_DEVICE_URL: proxy.url });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/The enrollment has no answer: .* Run it again to go on\.\n$/);
    expect(existsSync(at('dir', 'supervisor.yaml'))).toBe(false);
    const { credential } = kept();
    expect(await run(enrolling())).toMatchObject({ code: 0 });
    expect(kept()).toEqual({ appId: app.appId, credential, enrolled: true });
  });

  test.each([
    ['before the service has enrolled it, it goes on with its credential and its code', 'reset', 'pending'],
    ['when the service has enrolled it, it goes on with its credential, and needs no code', 'hung', 'active'],
  ] as const)('killed %s', async (_what, fate, status) => {
    await using proxy = await proxied(fate);
    const { child, ended } = musterProcess(enrolling(), { MUSTER_CLIENT_DEVICE_URL: proxy.url });
    await until(async () => proxy.seen.length > 0 && (await statusOf()) === status);
    child.kill('SIGKILL');
    await ended;
    const before = kept();
    expect(before).toMatchObject({ appId: app.appId, enrolled: false });
    expect(existsSync(at('dir', 'supervisor.yaml'))).toBe(false);
    const again = await run(status === 'active' ? words() : enrolling());
    expect(again).toMatchObject({ code: 0 });
    expect(kept()).toEqual({ ...before, enrolled: true });
    expect(taken()).toMatchObject({ server: { headers: { Authorization: [`Bearer ${before.credential}`] } } });
    expect(await statusOf()).toBe('active');
  });

  test('stopped by a signal, it ends with 1 and says that it can be run again', async () => {
    await using proxy = await proxied('hung');
    const { child, ended } = musterProcess(enrolling(), { MUSTER_CLIENT_DEVICE_URL: proxy.url });
    await until(() => proxy.seen.length > 0);
    child.kill('SIGTERM');
    const { code, stderr } = await ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/^muster: Stopped\. Run it again/m);
    expect(existsSync(at('dir', 'supervisor.yaml'))).toBe(false);
  });

  test('a refused code ends it with 5, and the right one succeeds afterwards', async () => {
    writeFileSync(at('code'), (await createApp(muster, owner.apiKey)).enrollCode);
    const { code, stdout, stderr } = await run(enrolling());
    expect({ code, stdout }).toEqual({ code: 5, stdout: '' });
    expect(stderr).toMatch(/refuses the enrollment \(invalid_code\).* The code is from --code-file \/\S+code\./);
    expect(existsSync(at('dir', 'supervisor.yaml'))).toBe(false);
    writeFileSync(at('code'), app.enrollCode);
    expect(await run(enrolling())).toMatchObject({ code: 0 });
  });

  test('a disabled account ends it with 5', async () => {
    await changeAccount(muster, owner.accountId, { disabled: true });
    expect(await run(enrolling())).toMatchObject({
      code: 5,
      stderr: expect.stringMatching(/account_disabled/) as string,
    });
  });
});

describe('the folder', () => {
  test('whose credential others can read is refused, and stays as it is', async () => {
    await run(enrolling());
    const [identity, before] = [text('dir', 'credential'), text('dir', 'supervisor.yaml')];
    for (const mode of [0o640, 0o604]) {
      rmSync(at('dir', 'credential'));
      writeFileSync(at('dir', 'credential'), identity, { mode });
      const { code, stderr } = await run(words('--storage', at('other')));
      expect(code).toBe(2);
      expect(stderr).toContain(`chmod 600 ${at('dir', 'credential')}`);
      expect(stderr).not.toMatch(/mst_/);
    }
    expect(text('dir', 'supervisor.yaml')).toBe(before);
  });

  test('of another app is refused', async () => {
    await run(enrolling());
    const other = await createApp(muster, owner.apiKey);
    const { code, stderr } = await run(words('--app', other.appId));
    expect(code).toBe(2);
    expect(stderr).toMatch(/is the credential of the app/);
  });

  test('that others can write is refused before the code is used', async () => {
    mkdirSync(at('dir'));
    // The umask binds what mkdir makes.
    chmodSync(at('dir'), 0o777);
    const { code, stderr } = await run(enrolling());
    expect(code).toBe(2);
    expect(stderr).toMatch(/chmod go-w/);
    expect(await statusOf()).toBe('pending');
  });

  test('takes up a credential that lies in its file alone', async () => {
    await run(enrolling());
    const { credential } = kept();
    writeFileSync(at('dir', 'credential'), `${credential}\n`);
    expect(await run(words())).toMatchObject({ code: 0 });
    expect(taken()).toMatchObject({ server: { headers: { Authorization: [`Bearer ${credential}`] } } });
  });
});

describe('what is wrong is told before the code is used', () => {
  test.each([
    [['--opamp', 'DIR'], /give a code by --code-file or --code-stdin/],
    [['--app', 'APP'], /required option '--opamp <folder>' not specified/],
    [['--opamp', ''], /It is the path of a folder/],
    [['--opamp', 'code'], /code is no folder: name another one by --opamp/],
    [['--opamp', 'a:b'], /a:b has a colon.*by --opamp/],
    [['--opamp', 'DIR', '--storage', 'a:b'], /a:b has a colon.*by --storage/],
    [['--opamp', 'DIR', '--code-stdin'], /not by both/],
    [['--opamp', 'DIR', '--executable', 'none'], /none: no such file.*by --executable/],
    [['--opamp', 'DIR', '--executable', ''], /it is no file.*by --executable/],
    [['--opamp', 'DIR', '--executable', 'base.yaml'], /base\.yaml: no permission.*by --executable/],
    [['--opamp', 'DIR', '--config-file', 'base.yaml', '--config-file', 'none'], /none: no such file.*by --config-file/],
    [['--opamp', 'DIR', '--endpoint', 'wss://x/v1/opamp'], /It must be the whole URL/],
    [['--opamp', 'DIR', '--endpoint', 'https://x'], /It must be the whole URL/],
    [['--opamp', 'DIR', '--endpoint', 'https://u:p@x/v1/opamp'], /It must be the whole URL/],
    [['--opamp', 'DIR', '--endpoint', 'https://:::/v1/opamp'], /--endpoint: must be http:/],
    [['--opamp', 'DIR', '--device-url', 'ftp://x'], /must be http:/],
    [['--opamp', 'DIR', '--ca-file', 'base.yaml'], /--ca-file is for an address that begins with https/],
    [['--opamp', 'DIR', '--endpoint', 'https://x/o', '--ca-file', 'base.yaml'], /base\.yaml: must have certificates/],
    [['--opamp', 'DIR', '--app', 'x'], /An app id is 20/],
  ])('%j', async (args, says) => {
    const known = new Map([
      ['DIR', at('dir')],
      ['APP', app.appId],
    ]);
    const isFile = (word: string): boolean => ['code', 'base.yaml', 'none', 'a:b'].includes(word);
    const given = args.map((word) => known.get(word) ?? (isFile(word) ? at(word) : word));
    const usual = args.includes('--executable') ? [] : ['--executable', at('otelcol')];
    const identity = String(says).includes('give a code') ? [] : ['--app', app.appId, '--code-file', at('code')];
    const { code, stdout, stderr } = await run(['agent', 'enroll', ...identity, ...usual, ...given]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(says);
    expect(existsSync(at('dir', 'credential'))).toBe(false);
    expect(await statusOf()).toBe('pending');
  });
});

describe('the authority of the certificate', () => {
  test('is believed at the enrollment, and told to the supervisor', async () => {
    const { cert, key } = selfSigned(root, 'device');
    const paths = { cert: join(root, 'device.crt'), key: join(root, 'device.key') };
    expect([readFileSync(paths.cert, 'utf8'), readFileSync(paths.key, 'utf8')]).toEqual([cert, key]);
    const env = { MUSTER_DEVICE_TLS_CERT_FILE: paths.cert, MUSTER_DEVICE_TLS_KEY_FILE: paths.key };
    await using secure = await Muster.start({ env });
    const one = await createApp(secure, (await tenant(secure)).apiKey);
    writeFileSync(at('code'), one.enrollCode);
    const url = secure.device.replace('http:', 'https:');
    const ca = relative(process.cwd(), paths.cert);
    const args = words('--app', one.appId, '--code-file', at('code'), '--device-url', url, '--ca-file', ca);
    expect(await run(args)).toMatchObject({ code: 0 });
    expect(taken()).toMatchObject({
      server: { endpoint: `${url}/v1/opamp`, tls: { ca_file: paths.cert, include_system_ca_certs_pool: true } },
    });
  });

  test.each([
    ['that of the context', ['--context', 'prod'], {}, 'https://prod.example.com/v1/opamp', 'context.crt'],
    ['that of --ca-file before it', ['--context', 'prod', '--ca-file', 'OPTION'], {}, undefined, 'option.crt'],
    [
      'that of MUSTER_CLIENT_CA_FILE',
      ['--device-url', 'https://x.example.com'],
      { MUSTER_CLIENT_CA_FILE: 'VARIABLE' },
      'https://x.example.com/v1/opamp',
      'variable.crt',
    ],
    ['none where there is none', ['--device-url', 'https://x.example.com'], {}, undefined, undefined],
    [
      'none where the supervisor speaks HTTP',
      ['--context', 'prod', '--endpoint', 'http://127.0.0.1:9/v1/opamp'],
      {},
      'http://127.0.0.1:9/v1/opamp',
      undefined,
    ],
  ])('%s', async (_what, args, env: Readonly<Record<string, string>>, endpoint, file) => {
    await run(enrolling());
    const { cert } = selfSigned(folder, 'context');
    for (const name of ['option', 'variable']) writeFileSync(at(`${name}.crt`), cert);
    mkdirSync(at('muster'), { mode: 0o700 });
    const contexts = { prod: { deviceUrl: 'https://prod.example.com', caFile: at('context.crt') } };
    writeFileSync(at('muster', 'config.json'), JSON.stringify({ version: 1, contexts }), { mode: 0o600 });
    const path = (word: string): string =>
      /^(?:OPTION|VARIABLE)$/.test(word) ? at(`${word.toLowerCase()}.crt`) : word;
    const variables = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, path(value)]));
    const given = words(...args.map((word) => path(word)));
    expect(await musterHere(given, { XDG_CONFIG_HOME: folder, ...variables })).toMatchObject({ code: 0 });
    if (endpoint !== undefined) expect(taken()).toMatchObject({ server: { endpoint } });
    const { server } = taken() as { server: { tls?: unknown } };
    expect(server.tls).toEqual(
      file === undefined ? undefined : { ca_file: at(file), include_system_ca_certs_pool: true },
    );
  });
});

test('several authorities of the variable are none that a supervisor could be told', async () => {
  const args = words('--app', app.appId, '--code-file', at('code'), '--device-url', 'https://x.example.com');
  const { code, stderr } = await musterHere(args, { XDG_CONFIG_HOME: folder, MUSTER_CLIENT_CA_FILE: '/a.crt:/b.crt' });
  expect([code, stderr]).toEqual([2, expect.stringContaining('a supervisor reads one file: name it with --ca-file')]);
});

describe('the collector', () => {
  test('is the first of the usual places that has one', () => {
    mkdirSync(at('folder'));
    expect(usualCollector([at('none'), at('folder'), at('otelcol'), at('base.yaml')])).toBe(at('otelcol'));
  });

  test('is missed by the name of the option', () => {
    expect(() => usualCollector([at('none'), at('neither')])).toThrow(
      `No collector is at ${at('none')}, ${at('neither')}: give its path by --executable.`,
    );
    expect(COLLECTORS).toContain('/usr/bin/otelcol-contrib');
  });
});
