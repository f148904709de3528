import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { purgeOtelConfig, setOtelConfig, type SetOptions } from '../../../../src/cli/commands/otel/otel.ts';
import { invocation } from '../../../../src/cli/terminal/invocation.ts';
import { recordedTerminal } from '../../../support/cli/recorded-terminal.ts';
import { musterHere, musterProcess, ownedBy, type Ended } from '../../../support/service/muster-command.ts';
import { createApp, enroll, Muster, poll, tenant, type Tenant } from '../../../support/service/muster.ts';

let muster: Muster;
let root: string;
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'muster-otel-'));
  muster = await Muster.start();
});
afterAll(async () => {
  await muster[Symbol.asyncDispose]();
  rmSync(root, { recursive: true });
});

let owner: Tenant;
let env: Record<string, string>;
beforeEach(async () => {
  owner = await tenant(muster);
  env = ownedBy(muster, owner.apiKey);
});

const run = (...args: string[]): Promise<Ended> => musterHere(['otel', ...args], env);
const stored = async (...args: string[]): Promise<unknown> => {
  const { stdout, stderr } = await run(...args, '-o', 'json');
  return stderr === '' ? JSON.parse(stdout) : stderr;
};
const file = (name: string, text: string): string => {
  writeFileSync(join(root, name), text);
  return join(root, name);
};
/** The configuration as a daemon receives it. */
async function delivered(): Promise<unknown> {
  const credential = await enroll(muster, await createApp(muster, owner.apiKey));
  return (await poll(muster, credential)).body;
}

const ENDPOINT = 'https://otel.example.com';
const FIRST = { enabled: true, endpoint: ENDPOINT, authHeaderSet: false, evidenceLevel: 'hashes' };

describe('set', () => {
  test('the first one is enabled; afterwards what is not given stays as it is', async () => {
    expect(await stored('get')).toMatchObject({ enabled: false, endpoint: '' });
    expect(await stored('set', '--endpoint', ENDPOINT)).toEqual(FIRST);
    const header = file('header', 'Bearer hunter2\r\n');
    const withHeader = { ...FIRST, authHeaderSet: true };
    expect(await stored('set', '--auth-header-file', header)).toEqual(withHeader);
    expect(await stored('set', '--evidence', 'full')).toEqual({ ...withHeader, evidenceLevel: 'full' });
    const off = { ...withHeader, evidenceLevel: 'full', enabled: false };
    expect(await stored('set', '--enabled=false')).toEqual(off);
    const moved = { ...off, endpoint: 'https://other.example.com' };
    expect(await stored('set', '--endpoint', moved.endpoint)).toEqual(moved);
    expect(await stored('set', '--enabled', 'true')).toEqual({ ...moved, enabled: true });
    expect(await stored('get')).toEqual({ ...moved, enabled: true });
    expect(JSON.stringify(await delivered())).toContain('"Bearer hunter2"');
    expect(await stored('set', '--no-auth-header')).toMatch(/^muster: Delete the stored header.* say so with --yes/);
    expect(await stored('get')).toMatchObject({ authHeaderSet: true });
    expect(await stored('set', '--no-auth-header', '--yes')).toEqual({ ...moved, enabled: true, authHeaderSet: false });
    expect(JSON.stringify(await delivered())).not.toContain('hunter2');
  });

  test('of changes at once, each of another field, none is lost', async () => {
    for (let round = 0; round < 6; round += 1) {
      const enabled = round % 2 === 0;
      const evidence = enabled ? 'full' : 'redacted';
      await run('set', '--endpoint', ENDPOINT, '--enabled', String(!enabled), '--evidence', 'hashes');
      const moved = `https://r${round}.example.com`;
      const changes: readonly Omit<SetOptions, 'authHeader'>[] = [
        { enabled: enabled ? 'true' : 'false' },
        { endpoint: moved },
        { evidence },
      ];
      const call = invocation(env, {}, { terminal: recordedTerminal() });
      await Promise.all(changes.map((change) => setOtelConfig(call, { ...change, authHeader: true })));
      expect(await stored('get')).toEqual({ ...FIRST, enabled, endpoint: moved, evidenceLevel: evidence });
    }
  });

  test('the first one may be disabled, and the header may come from stdin', async () => {
    const args = ['otel', 'set', '--endpoint', ENDPOINT, '--enabled=false', '--auth-header-file', '-', '-o', 'json'];
    const { ended } = musterProcess(args, env, { stdin: 'X-Token: hunter2\n' });
    const { code, stdout, stderr } = await ended;
    expect([code, JSON.parse(stdout), stderr]).toEqual([0, { ...FIRST, enabled: false, authHeaderSet: true }, '']);
    expect((await run('get')).stdout).toBe(
      `ENABLED     no\nENDPOINT    ${ENDPOINT}\nHEADER SET  yes\nEVIDENCE    hashes\n`,
    );
  });

  test.each([
    [['set'], /Say what to set/],
    [['set', '--endpoint', ENDPOINT, '--auth-header-file', '/nowhere/header'], /\/nowhere\/header: no such file/],
    [['set', '--auth-header-file', '/dev/null'], /is empty; --no-auth-header deletes the stored one/],
    [['set', '--auth-header-file', 'x', '--no-auth-header'], /Give only one of|no such file/],
    [['set', '--enabled', 'maybe'], /Allowed choices are true, false/],
    [['set', '--evidence', 'none'], /Allowed choices are hashes, redacted, full/],
    [['set', '--auth-header', 'Bearer hunter2'], /unknown option '--auth-header'/],
    [['purge'], /Nobody is there to be asked: say so with --yes/],
  ])('muster otel %j is refused with 2, and changes nothing', async (args, words) => {
    await run('set', '--endpoint', ENDPOINT);
    const { code, stdout, stderr } = await run(...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(words);
    expect(stderr).not.toContain('hunter2');
    expect(await stored('get')).toEqual(FIRST);
  });

  test('what the service refuses ends with 1, and without the entitlement with 5', async () => {
    const refused = await run('set', '--endpoint', 'http://otel.example.com');
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(/endpoint.*\(request /)]);
    const bad = await run('set', '--endpoint', ENDPOINT, '--auth-header-file', file('bad', 'Bearer hunter2\nX: y\n'));
    expect([bad.code, bad.stderr.includes('hunter2')]).toEqual([1, false]);
    env = ownedBy(muster, (await tenant(muster, 'standard')).apiKey);
    expect((await run('get')).code).toBe(5);
  });
});

describe('a header in the form of OTEL_EXPORTER_OTLP_HEADERS', () => {
  const PASTED = 'Authorization=Basic%20aHVudGVyMg%3D%3D\n';
  const set = (name: string, text: string, ...more: string[]): Promise<Ended> =>
    run('set', '--endpoint', ENDPOINT, '--auth-header-file', file(name, text), ...more);

  test.each([[[]], [['--yes']]])('is refused where nobody is asked, %j, and its secret is not told', async (more) => {
    const { code, stdout, stderr } = await set('pasted', PASTED, ...more);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/The header Authorization is in the form of .*--auth-header-form otlp .*form plain/);
    expect(stderr).not.toMatch(/aHVudGVy/);
    expect(await stored('get')).toMatchObject({ endpoint: '', authHeaderSet: false });
  });

  test('is stored decoded, or as it stands, as the option says', async () => {
    expect((await set('pasted', PASTED, '--auth-header-form', 'otlp')).code).toBe(0);
    expect(JSON.stringify(await delivered())).toContain('"Authorization":"Basic aHVudGVyMg=="');
    expect((await set('pasted', PASTED, '--auth-header-form', 'plain')).code).toBe(0);
    expect(JSON.stringify(await delivered())).toContain('"Authorization":"Authorization=Basic%20aHVudGVyMg%3D%3D"');
  });

  test('is asked about on a terminal', async () => {
    const terminal = recordedTerminal({ answers: ['n', 'y'] });
    const call = invocation(env, { output: 'id' }, { terminal });
    const options = { endpoint: ENDPOINT, authHeader: true, authHeaderFile: file('pasted', 'api-key=a%2Cb') };
    await expect(setOtelConfig(call, options)).rejects.toMatchObject({ message: 'Nothing was done.' });
    expect(await stored('get')).toMatchObject({ endpoint: '' });
    await setOtelConfig(invocation(env, {}, { terminal }), options);
    expect(terminal.questions[0]).toMatch(/^The header api-key is in the form .* Store its decoded value\? \[y\/N\] $/);
    expect(JSON.stringify(await delivered())).toContain('"api-key":"a,b"');
  });

  test.each([
    ['a=hunter2,b=hunter3', [], /2 headers .*: a, b\. One can be stored/],
    ['a=hunter2,b=hunter3', ['--auth-header-form', 'otlp'], /One can be stored/],
    [
      'Bearer hunter2',
      ['--auth-header-form', 'otlp'],
      /The header is not in the form of .*leave --auth-header-form out/,
    ],
  ])('%j with %j is refused', async (text, more, words) => {
    const { code, stderr } = await set('refused', text, ...more);
    expect([code, stderr]).toEqual([2, expect.stringMatching(words)]);
    expect(stderr).not.toContain('hunter');
  });

  test('the option without a file says nothing, and is refused', async () => {
    const { code, stderr } = await run('set', '--endpoint', ENDPOINT, '--auth-header-form', 'otlp');
    expect([code, stderr]).toEqual([2, expect.stringMatching(/give both/)]);
  });
});

test('purge asks, and removes the header, too', async () => {
  await run('set', '--endpoint', ENDPOINT, '--auth-header-file', file('header', 'Bearer hunter2'));
  const terminal = recordedTerminal({ answers: ['n', 'y'] });
  const call = invocation(env, { output: 'json' }, { terminal });
  await expect(purgeOtelConfig(call)).rejects.toMatchObject({ exitCode: 1, message: 'Nothing was done.' });
  expect(await stored('get')).toMatchObject({ authHeaderSet: true });
  await purgeOtelConfig(call);
  expect(JSON.parse(terminal.out())).toEqual({ deleted: true });
  expect(await stored('get')).toMatchObject({ endpoint: '', authHeaderSet: false });
  expect((await run('purge', '--yes')).stdout).toBe('DELETED  yes\n');
});
