import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { ConfigError, readConfig } from '../../src/config/config.ts';
import { parseClientSecret, parseGroups } from '../../src/config/panel.ts';
import type { PanelConfig } from '../../src/config/panel.ts';
import { scratchDirectory } from '../support/run/scratch-directory.ts';

const dir = scratchDirectory('panel-config');
afterAll(() => rmSync(dir, { recursive: true }));
let files = 0;
function file(content: string): string {
  const path = join(dir, `file-${(files += 1)}`);
  writeFileSync(path, content, { mode: 0o600 });
  return path;
}

const panelOf = (env: Record<string, string>): PanelConfig | undefined => readConfig(env).panel;

function refusal(env: Record<string, string>): string {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return expect.unreachable('the configuration was taken');
}

/** What a provider needs, so that one variable can be tried at a time. */
const atProvider = (more: Record<string, string> = {}): Record<string, string> => ({
  MUSTER_OIDC_ISSUER: 'https://id.example.com',
  MUSTER_OIDC_CLIENT_ID: 'muster',
  MUSTER_OIDC_CLIENT_SECRET_FILE: file('a secret of the client\n'),
  ...more,
});
const without = (env: Record<string, string>, name: string): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter(([key]) => key !== name));

describe('the listener of the panel', () => {
  test('off, or an empty value, is no panel', () => {
    expect(panelOf({ MUSTER_PANEL_LISTEN: 'off' })).toBeUndefined();
    expect(panelOf({ MUSTER_PANEL_LISTEN: '' })).toBeUndefined();
    expect(readConfig({ MUSTER_PANEL_LISTEN: 'off' }).listen.panel).toBeUndefined();
    const defaults = { passwords: true, signInsPerAddress: 20, secondFactor: 'off', provider: undefined };
    expect(panelOf({})).toEqual({ url: undefined, ...defaults });
    expect(refusal({ MUSTER_PANEL_LISTEN: 'on' })).toMatch(/MUSTER_PANEL_LISTEN: must be host:port, or off/);
  });

  test.each(['127.0.0.1:0', '127.9.9.9:80', '[::1]:8083', 'localhost:8083', 'LOCALHOST:1'])(
    'on %s it speaks plain HTTP, and needs no address of its own',
    (listen) => {
      expect(panelOf({ MUSTER_PANEL_LISTEN: listen })).toMatchObject({ url: undefined });
    },
  );

  test.each(['0.0.0.0:8083', '[::]:8083', '10.0.0.1:8083', 'panel.internal:8083', '128.0.0.1:80'])(
    'on %s it needs its public address, and TLS or a trusted proxy',
    (listen) => {
      const env = { MUSTER_PANEL_LISTEN: listen };
      expect(refusal(env)).toMatch(/MUSTER_PANEL_URL: .* it must be set/);
      const addressed = { ...env, MUSTER_PANEL_URL: 'https://panel.example.com' };
      expect(refusal(addressed)).toMatch(/MUSTER_PANEL_LISTEN: plain HTTP is for a loopback address/);
      expect(panelOf({ ...addressed, MUSTER_TRUSTED_PROXIES: '10.0.0.0/8' })?.url).toBe('https://panel.example.com');
      const named = { ...env, MUSTER_PANEL_URL: 'http://localhost:8083', MUSTER_TRUSTED_PROXIES: '10.0.0.0/8' };
      expect(refusal(named)).toMatch(/MUSTER_PANEL_URL: it names this machine/);
    },
  );

  test('a certificate and its key make TLS, and neither is taken alone', () => {
    const env = { MUSTER_PANEL_LISTEN: '0.0.0.0:8083', MUSTER_PANEL_URL: 'https://panel.example.com' };
    const [certificate, key] = [file('CERT'), file('KEY')];
    const both = { ...env, MUSTER_PANEL_TLS_CERT_FILE: certificate, MUSTER_PANEL_TLS_KEY_FILE: key };
    expect(readConfig(both).tls.panel).toMatchObject({ certificate, key });
    expect(refusal({ ...env, MUSTER_PANEL_TLS_CERT_FILE: certificate })).toContain('MUSTER_PANEL_TLS_KEY_FILE');
    expect(refusal({ MUSTER_PANEL_TLS_KEY_FILE: key })).toContain('MUSTER_PANEL_TLS_CERT_FILE');
  });

  test.each<[value: string, origin: string | undefined, says: string]>([
    ['https://panel.example.com', 'https://panel.example.com', 'a host'],
    ['https://panel.example.com/', 'https://panel.example.com', 'a slash at the end'],
    ['https://panel.example.com:8443', 'https://panel.example.com:8443', 'a port'],
    ['https://Panel.Example.com', 'https://panel.example.com', 'capitals'],
    ['http://localhost:8083', 'http://localhost:8083', 'this machine'],
    ['http://127.0.0.1:8083', 'http://127.0.0.1:8083', 'this machine by its address'],
    ['http://[::1]:8083', 'http://[::1]:8083', 'this machine by its IPv6 address'],
    ['http://panel.example.com', undefined, 'plain HTTP over a network'],
    ['http://127.0.0.2', undefined, 'an address that no browser takes for this machine alone'],
    ['https://panel.example.com/muster', undefined, 'a path'],
    ['https://panel.example.com/?', undefined, 'a query, even an empty one'],
    ['https://panel.example.com/#', undefined, 'a fragment'],
    ['https://ann@panel.example.com', undefined, 'a user'],
    ['panel.example.com', undefined, 'no scheme'],
    ['ftp://panel.example.com', undefined, 'another scheme'],
  ])('MUSTER_PANEL_URL=%s is %s (%s)', (value, origin) => {
    const env = { MUSTER_PANEL_URL: value };
    if (origin === undefined) expect(refusal(env)).toMatch(/MUSTER_PANEL_URL: must be https/);
    else expect(panelOf(env)?.url).toBe(origin);
  });

  describe.each([
    ['MUSTER_PUBLIC_API_URL', 'apiUrl'],
    ['MUSTER_PUBLIC_DEVICE_URL', 'deviceUrl'],
  ] as const)('%s', (variable, field) => {
    test.each<[value: string, url: string | undefined, says: string]>([
      ['https://fleet.example.com', 'https://fleet.example.com', 'a host'],
      ['https://Fleet.example.com:8443/', 'https://fleet.example.com:8443', 'capitals, a port, a slash at the end'],
      ['https://example.com/fleet/v-1//', 'https://example.com/fleet/v-1', 'a path with slashes at its end'],
      ['http://localhost:8081', 'http://localhost:8081', 'this machine'],
      ['http://[::1]:8081/devices', 'http://[::1]:8081/devices', 'this machine by its IPv6 address, below a path'],
      ['http://fleet.example.com', undefined, 'plain HTTP over a network'],
      ['http://10.0.0.1:8081', undefined, 'plain HTTP over a network of one’s own'],
      ['https://ann@example.com', undefined, 'a user'],
      ['https://ann:secret@example.com', undefined, 'a password'],
      ['https://@example.com', undefined, 'an empty user'],
      ['https://example.com/?', undefined, 'an empty query'],
      ['https://example.com/?key=1', undefined, 'a query'],
      ['https://example.com/#', undefined, 'an empty fragment'],
      ['https://example.com\\fleet', undefined, 'a backslash'],
      ["https://example.com/';reboot;'", undefined, 'what a shell would carry out'],
      ['https://example.com/$(reboot)', undefined, 'what a shell would replace'],
      ['https://example.com/a b', undefined, 'a blank'],
      ['https:example.com', undefined, 'no slashes'],
      ['example.com', undefined, 'no scheme'],
      ['ftp://example.com', undefined, 'another scheme'],
      [`https://example.com/${'a'.repeat(2048)}`, undefined, 'more than 2048 characters'],
    ])('=%s is %s (%s)', (value, url) => {
      if (url !== undefined) return expect(panelOf({ [variable]: value })?.[field]).toBe(url);
      const said = refusal({ [variable]: value });
      expect(said).toContain(`${variable}: `);
      expect(said).not.toContain(value.slice(8));
    });
  });

  test('passwords are on or off, and its bounds are numbers', () => {
    expect(panelOf({ MUSTER_PANEL_PASSWORDS: 'off' })?.passwords).toBe(false);
    expect(refusal({ MUSTER_PANEL_PASSWORDS: 'no' })).toMatch(/MUSTER_PANEL_PASSWORDS: must be on or off/);
    expect(readConfig({ MUSTER_PANEL_CONCURRENCY: '1' }).concurrencyMax.panel).toBe(1);
    expect(refusal({ MUSTER_PANEL_CONCURRENCY: '0' })).toMatch(/MUSTER_PANEL_CONCURRENCY.*from 1 to/);
    expect(panelOf({})?.signInsPerAddress).toBe(20);
    expect(panelOf({ MUSTER_SIGN_INS_PER_ADDRESS: '200' })?.signInsPerAddress).toBe(200);
    expect(refusal({ MUSTER_SIGN_INS_PER_ADDRESS: '0' })).toMatch(/MUSTER_SIGN_INS_PER_ADDRESS: .*from 1 to 100000/);
    expect(readConfig({ MUSTER_PANEL_CONNECTIONS_PER_ADDRESS: '0' }).connectionsPerAddressMax.panel).toBe(0);
    expect(refusal({ MUSTER_PANEL_CONNECTIONS_PER_ADDRESS: '-1' })).toMatch(/from 0 to/);
  });
});

describe('sessions', () => {
  const sessionsOf = (env: Record<string, string>) => readConfig(env).sessions;

  test('last seven days, and twelve hours unused; another time has its unit and its bounds', () => {
    expect(sessionsOf({})).toEqual({ maxMs: 7 * 86_400_000, idleMs: 12 * 3_600_000 });
    const short = { MUSTER_SESSION_MAX: '90m', MUSTER_SESSION_IDLE: '60s' };
    expect(sessionsOf(short)).toEqual({ maxMs: 5_400_000, idleMs: 60_000 });
    for (const value of ['7', '7 d', '1.5h', '0s', '59s', '31d', '-1h', '1w']) {
      expect(refusal({ MUSTER_SESSION_IDLE: value })).toMatch(/MUSTER_SESSION_IDLE: must be a duration from 1m to 30d/);
    }
    expect(refusal({ MUSTER_SESSION_MAX: '299s' })).toMatch(/MUSTER_SESSION_MAX: must be a duration from 5m to 90d/);
    expect(refusal({ MUSTER_SESSION_MAX: '91d' })).toMatch(/MUSTER_SESSION_MAX/);
    expect(sessionsOf({ MUSTER_SESSION_MAX: '1h', MUSTER_SESSION_IDLE: '1h' })).toEqual({
      maxMs: 3_600_000,
      idleMs: 3_600_000,
    });
    expect(refusal({ MUSTER_SESSION_MAX: '1h', MUSTER_SESSION_IDLE: '61m' })).toMatch(/longer than MUSTER_SESSION_MAX/);
  });

  test('need a second factor of nobody, of operators or of all', () => {
    expect(panelOf({ MUSTER_PANEL_SECOND_FACTOR: 'operators' })?.secondFactor).toBe('operators');
    expect(refusal({ MUSTER_PANEL_SECOND_FACTOR: 'on' })).toMatch(/must be off, operators or all/);
    const amr = (value: string) => panelOf(atProvider({ MUSTER_OIDC_SECOND_FACTOR: value }))?.provider?.secondFactor;
    expect(amr('mfa hwk')).toEqual(['mfa', 'hwk']);
    expect(refusal(atProvider({ MUSTER_OIDC_SECOND_FACTOR: 'mfa  hwk' }))).toMatch(/MUSTER_OIDC_SECOND_FACTOR/);
  });
});

describe('the provider', () => {
  test('has its defaults', () => {
    expect(panelOf(atProvider())?.provider).toEqual({
      issuer: 'https://id.example.com',
      clientId: 'muster',
      scopes: 'openid profile email groups offline_access',
      groupsClaim: 'groups',
      secondFactor: [],
      newcomers: 'roles',
      name: 'single sign-on',
    });
  });

  test('has a secret without the line break of its file, and is refused without one', () => {
    expect(parseClientSecret('a secret of the client\n')).toBe('a secret of the client');
    expect(refusal(atProvider({ MUSTER_OIDC_CLIENT_SECRET_FILE: file(' \n') }))).toBe(
      'MUSTER_OIDC_CLIENT_SECRET_FILE: no secret in it',
    );
  });

  test.each(['MUSTER_OIDC_ISSUER', 'MUSTER_OIDC_CLIENT_ID', 'MUSTER_OIDC_CLIENT_SECRET_FILE'])(
    'is set whole or not at all: not without %s',
    (name) => {
      expect(refusal(without(atProvider(), name))).toMatch(/set all or none/);
    },
  );

  test('has a secret in its file, which others cannot write', () => {
    expect(refusal(atProvider({ MUSTER_OIDC_CLIENT_SECRET_FILE: file(' \n') }))).toMatch(
      /MUSTER_OIDC_CLIENT_SECRET_FILE: no secret in it/,
    );
    expect(refusal(atProvider({ MUSTER_OIDC_CLIENT_SECRET_FILE: '/nowhere/secret' }))).toMatch(/cannot be read/);
  });

  test.each([
    ['MUSTER_OIDC_ISSUER', 'https://id.example.com/realms/a', true, 'a path'],
    ['MUSTER_OIDC_ISSUER', 'http://localhost:9000', true, 'this machine'],
    ['MUSTER_OIDC_ISSUER', 'http://127.0.0.1:9000', true, 'this machine by its address'],
    ['MUSTER_OIDC_ISSUER', 'http://id.example.com', false, 'plain HTTP over a network'],
    ['MUSTER_OIDC_ISSUER', 'https://id.example.com?a=b', false, 'a query'],
    ['MUSTER_OIDC_ISSUER', 'https://id.example.com#a', false, 'a fragment'],
    ['MUSTER_OIDC_ISSUER', 'https://ann:secret@id.example.com', false, 'a user'],
    ['MUSTER_OIDC_ISSUER', 'id.example.com', false, 'no scheme'],
    ['MUSTER_OIDC_CLIENT_ID', 'x'.repeat(200), true, 'the longest'],
    ['MUSTER_OIDC_CLIENT_ID', 'x'.repeat(201), false, 'one too long'],
    ['MUSTER_OIDC_SCOPES', 'openid', true, 'the least'],
    ['MUSTER_OIDC_SCOPES', 'openid api://muster/.default', true, 'a scope that is an address'],
    ['MUSTER_OIDC_SCOPES', 'profile openid', false, 'openid is not the first'],
    ['MUSTER_OIDC_SCOPES', 'openid  profile', false, 'two spaces'],
    ['MUSTER_OIDC_SCOPES', 'openid "x"', false, 'a quote (RFC 6749, 3.3)'],
    ['MUSTER_OIDC_SCOPES', `openid${' a'.repeat(20)}`, true, 'as many as there may be'],
    ['MUSTER_OIDC_SCOPES', `openid${' a'.repeat(21)}`, false, 'one too many'],
    ['MUSTER_OIDC_GROUPS_CLAIM', 'https://example.com/groups', true, 'a claim that is an address'],
    ['MUSTER_OIDC_GROUPS_CLAIM', 'x'.repeat(201), false, 'one too long'],
    ['MUSTER_OIDC_PROVIDER_NAME', 'Example ID', true, 'a name'],
    ['MUSTER_OIDC_PROVIDER_NAME', 'x'.repeat(61), false, 'one too long'],
  ])('%s=%.40s: %s (%s)', (name, value, isTaken) => {
    const env = atProvider({ [name]: value });
    if (isTaken) expect(panelOf(env)?.provider).toBeDefined();
    else expect(refusal(env)).toContain(`${name}: must`);
  });

  test('a refused value is not repeated: it may be a secret in the wrong variable', () => {
    expect(refusal(atProvider({ MUSTER_OIDC_ISSUER: 'hunter2 hunter2' }))).not.toContain('hunter2');
  });
});

describe('the groups', () => {
  const ACCOUNT = 'a1b2c3d4e5f6g7h8';
  function groupsOf(text: string) {
    expect(panelOf(atProvider({ MUSTER_OIDC_GROUPS_FILE: file(text) }))?.provider).toBeDefined();
    return parseGroups(text);
  }

  test('give the role of operator, or one on an account by its id; a group may have spaces', () => {
    const lines = [
      '# The platform team',
      'operator platform team',
      '',
      `owner ${ACCOUNT} CN=Acme Owners,OU=Groups`,
      `  viewer ${ACCOUNT} acme:staff  `,
    ];
    expect(groupsOf(lines.join('\r\n'))).toEqual([
      { group: 'platform team', role: 'operator' },
      { group: 'CN=Acme Owners,OU=Groups', role: 'owner', accountId: ACCOUNT },
      { group: 'acme:staff', role: 'viewer', accountId: ACCOUNT },
    ]);
    expect(groupsOf('')).toEqual([]);
  });

  test.each([
    ['operator', 'no group'],
    ['admin platform', 'no role'],
    ['Operator platform', 'a role in capitals'],
    ['owner acme platform', 'a name in the place of an id'],
    [`owner ${ACCOUNT}`, 'no group for the account'],
    [`owner ${ACCOUNT.toUpperCase()} platform`, 'an id in capitals'],
    [`operator  platform`, 'two spaces'],
    [`operator ${'x'.repeat(256)}`, 'a group that is too long'],
  ])('a line `%.40s` is refused by its number (%s)', (line) => {
    expect(refusal(atProvider({ MUSTER_OIDC_GROUPS_FILE: file(`# first\n${line}`) }))).toMatch(
      /MUSTER_OIDC_GROUPS_FILE: line 2 must be/,
    );
  });

  test('a group may have 255 characters, and the file 10,000 lines', () => {
    expect(groupsOf(`operator ${'x'.repeat(255)}`)).toHaveLength(1);
    const lines = (count: number): string => Array.from({ length: count }, (_, n) => `operator g${n}`).join('\n');
    expect(groupsOf(lines(10_000))).toHaveLength(10_000);
    expect(refusal(atProvider({ MUSTER_OIDC_GROUPS_FILE: file(lines(10_001)) }))).toMatch(/more than 10000 lines/);
  });
});
