import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { ConfigError, readConfig, type Config } from '../../src/config/config.ts';
import { VARIABLES } from '../../src/config/environment.ts';
import { OPERATOR_ROLES } from '../../src/config/operator-tokens.ts';
import { rangesOf } from '../../src/text/ip-addresses.ts';

const TOKEN = 'operator-token-0123456789-abcdefgh';
const KEYS = `1:${Buffer.alloc(32, 1).toString('base64')}\n`;

const dir = mkdtempSync(join(tmpdir(), 'muster-'));
afterAll(() => rmSync(dir, { recursive: true }));
let files = 0;
function file(content: string): string {
  const path = join(dir, `file-${(files += 1)}`);
  writeFileSync(path, content);
  return path;
}

/** The variables that etcd needs, so that one variable can be tried at a time. */
const onEtcd = (more: Record<string, string> = {}): Record<string, string> => ({
  MUSTER_STORE: 'etcd:http://127.0.0.1:2379',
  MUSTER_OPERATOR_TOKEN: TOKEN,
  MUSTER_KEY_FILE: file(KEYS),
  ...more,
});

function refusal(env: Record<string, string>): string {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return expect.unreachable('the configuration was taken');
}

test('without a variable it is an embedded store in ./.muster, on this machine alone', () => {
  expect(readConfig({ UNRELATED: 'x' })).toEqual({
    store: { kind: 'sqlite', path: resolve('.muster/muster.db') },
    dataDir: resolve('.muster'),
    listen: {
      api: { host: '127.0.0.1', port: 8080 },
      device: { host: '127.0.0.1', port: 8081 },
      ops: { host: '127.0.0.1', port: 8082 },
      panel: { host: '127.0.0.1', port: 8083 },
    },
    connectionsPerAddressMax: { api: 5000, device: 50_000, ops: 500, panel: 500 },
    idleSeconds: { api: 65, device: 132, ops: 65, panel: 65 },
    trustedProxies: [],
    tls: { api: undefined, device: undefined, ops: undefined, panel: undefined },
    drainDelayMs: 0,
    operatorTokens: undefined,
    unknownVariables: [],
    storeId: undefined,
    files: {},
    ownOperatorTokens: [],
    pollIntervalSeconds: 60,
    deviceRatePerMinute: 60,
    concurrencyMax: { api: 2_000, device: 10_000, ops: 200, panel: 500 },
    opamp: { path: '/v1/opamp', exporter: 'otlp_http', bootstrap: false, url: undefined },
    panel: {
      url: undefined,
      apiUrl: undefined,
      deviceUrl: undefined,
      passwords: true,
      signInsPerAddress: 20,
      secondFactor: 'off',
      provider: undefined,
    },
    roles: new Set(['api', 'device', 'controller']),
    egressProxy: undefined,
    egressAllow: [],
    sessions: { maxMs: 7 * 86_400_000, idleMs: 12 * 3_600_000 },
    metering: { delaySeconds: 300, pricePerDaemonMonth: '0.00', currency: 'EUR' },
    accountQuotaMb: 1024,
    auditRetentionDays: 400,
    auditLog: undefined,
    rateWindow: 'shared',
    metricsAccounts: true,
    metricsAuth: 'none',
    kubernetes: undefined,
    logLevel: 'info',
  } satisfies Config);
});

test('on etcd the prefix is /muster/, the history is its own, the quota etcd’s own, and there is neither TLS nor user', () => {
  expect(readConfig(onEtcd()).store).toEqual({
    kind: 'etcd',
    endpoints: ['http://127.0.0.1:2379'],
    prefix: '/muster/',
    compact: true,
    quotaBytes: 2_147_483_648,
    tls: undefined,
    auth: undefined,
  });
});

test('an empty variable is one that is not set, but for the panel, which it turns off', () => {
  const others = VARIABLES.filter((name) => name !== 'MUSTER_PANEL_LISTEN');
  expect(readConfig(Object.fromEntries(others.map((name) => [name, ''])))).toEqual(readConfig({}));
  expect(readConfig({ MUSTER_PANEL_LISTEN: '' })).toMatchObject({ panel: undefined, listen: { panel: undefined } });
});

describe('a good value is taken', () => {
  test.each<[Record<string, string>, object]>([
    [{ MUSTER_STORE: 'sqlite:/var/lib/m.db' }, { store: { kind: 'sqlite', path: '/var/lib/m.db' } }],
    [{ MUSTER_STORE: 'sqlite:' }, { store: { kind: 'sqlite', path: resolve('.muster/muster.db') } }],
    [{ MUSTER_STORE: 'sqlite:data/m.db' }, { store: { kind: 'sqlite', path: resolve('data/m.db') } }],
    [{ MUSTER_STORE: 'sqlite:../file' }, { store: { kind: 'sqlite', path: resolve('../file') } }],
    [{ MUSTER_STORE: 'sqlite:/a b/ü#1%20~/memory:$1' }, { store: { path: '/a b/ü#1%20~/memory:$1' } }],
    [{ MUSTER_STORE: 'sqlite:/data/x/../m.db' }, { store: { path: '/data/m.db' } }],
    [{ MUSTER_DATA_DIR: '/data' }, { dataDir: '/data', store: { path: '/data/muster.db' } }],
    [{ MUSTER_DATA_DIR: '/data/' }, { dataDir: '/data', store: { path: '/data/muster.db' } }],
    [{ MUSTER_DATA_DIR: '.' }, { dataDir: resolve('.') }],
    [{ MUSTER_API_LISTEN: '0.0.0.0:80' }, { listen: { api: { host: '0.0.0.0', port: 80 } } }],
    [{ MUSTER_DEVICE_LISTEN: '[::1]:0' }, { listen: { device: { host: '::1', port: 0 } } }],
    [{ MUSTER_OPS_LISTEN: 'ops.internal:65535' }, { listen: { ops: { host: 'ops.internal', port: 65_535 } } }],
    [
      { MUSTER_OPERATOR_TOKEN: 'x'.repeat(32) },
      { operatorTokens: [{ name: undefined, role: 'operator', token: 'x'.repeat(32) }] },
    ],
    [{ MUSTER_POLL_INTERVAL_SECONDS: '1' }, { pollIntervalSeconds: 1 }],
    [{ MUSTER_POLL_INTERVAL_SECONDS: '86400' }, { pollIntervalSeconds: 86_400 }],
    [{ MUSTER_OPAMP_PATH: '/fleet/opamp' }, { opamp: { path: '/fleet/opamp' } }],
    [{ MUSTER_OPAMP_EXPORTER: 'otlphttp' }, { opamp: { exporter: 'otlphttp' } }],
    [
      { MUSTER_OPAMP_BOOTSTRAP: 'on', MUSTER_OPAMP_URL: 'https://fleet.example.com/v1/opamp' },
      { opamp: { bootstrap: true, url: 'https://fleet.example.com/v1/opamp' } },
    ],
    [{ MUSTER_DEVICE_RATE_PER_MINUTE: '100000' }, { deviceRatePerMinute: 100_000 }],
    [{ MUSTER_API_CONCURRENCY: '1' }, { concurrencyMax: { api: 1 } }],
    [{ MUSTER_DEVICE_CONCURRENCY: '1000000' }, { concurrencyMax: { device: 1_000_000 } }],
    [{ MUSTER_OPS_CONCURRENCY: '7' }, { concurrencyMax: { ops: 7 } }],
    [{ MUSTER_OPS_CONNECTIONS_PER_ADDRESS: '0' }, { connectionsPerAddressMax: { ops: 0 } }],
    [{ MUSTER_API_CONNECTIONS_PER_ADDRESS: '1000000' }, { connectionsPerAddressMax: { api: 1_000_000 } }],
    [
      { MUSTER_TRUSTED_PROXIES: '10.0.0.0/8, fd00::/8,192.0.2.1,::1' },
      { trustedProxies: rangesOf('10.0.0.0/8', 'fd00::/8', '192.0.2.1/32', '::1/128') },
    ],
    [{ MUSTER_EGRESS_PROXY: 'http://proxy.example:3128' }, { egressProxy: 'http://proxy.example:3128/' }],
    [{ MUSTER_EGRESS_PROXY: 'https://[fd00::1]:3128/' }, { egressProxy: 'https://[fd00::1]:3128/' }],
    [
      { MUSTER_EGRESS_ALLOW: '10.20.0.0/16, fd12::/16,127.0.0.1' },
      { egressAllow: rangesOf('10.20.0.0/16', 'fd12::/16', '127.0.0.1') },
    ],
    [{ MUSTER_EGRESS_PROXY: 'http://me:p%40ss@proxy' }, { egressProxy: 'http://me:p%40ss@proxy/' }],
    [{ MUSTER_API_IDLE_SECONDS: '5' }, { idleSeconds: { api: 5, device: 132, ops: 65, panel: 65 } }],
    [{ MUSTER_DEVICE_IDLE_SECONDS: '132' }, { idleSeconds: { device: 132 } }],
    [{ MUSTER_OPS_IDLE_SECONDS: '604800' }, { idleSeconds: { ops: 604_800 } }],
    [{ MUSTER_PANEL_IDLE_SECONDS: '120' }, { idleSeconds: { panel: 120 } }],
    [{ MUSTER_LOG_LEVEL: 'debug' }, { logLevel: 'debug' }],
    [{ MUSTER_RATE_WINDOW: 'local' }, { rateWindow: 'local' }],
    [{ MUSTER_ROLES: 'api' }, { roles: new Set(['api']) }],
    [{ MUSTER_ROLES: 'controller,device' }, { roles: new Set(['device', 'controller']) }],
    [{ MUSTER_METERING_DELAY_SECONDS: '0' }, { metering: { delaySeconds: 0 } }],
    [{ MUSTER_METERING_DELAY_SECONDS: '3600' }, { metering: { delaySeconds: 3600 } }],
    [{ MUSTER_PRICE_PER_DAEMON_MONTH: '2' }, { metering: { pricePerDaemonMonth: '2' } }],
    [{ MUSTER_PRICE_PER_DAEMON_MONTH: '999999999.123456' }, { metering: { pricePerDaemonMonth: '999999999.123456' } }],
    [{ MUSTER_CURRENCY: 'JPY' }, { metering: { currency: 'JPY' } }],
    [{ MUSTER_ACCOUNT_QUOTA_MB: '0' }, { accountQuotaMb: 0 }],
    [{ MUSTER_AUDIT_RETENTION_DAYS: '1' }, { auditRetentionDays: 1 }],
  ])('%j', (env, expected) => {
    expect(readConfig(env)).toMatchObject(expected);
  });

  test.each<[Record<string, string>, object]>([
    [{ MUSTER_STORE: 'etcd:https://a:2379,https://b:2379' }, { endpoints: ['https://a:2379', 'https://b:2379'] }],
    [{ MUSTER_STORE: 'etcd:http://a:2379/' }, { endpoints: ['http://a:2379'] }],
    [{ MUSTER_STORE: 'etcd: http://a:2379 ,\n  http://b:2379/ ' }, { endpoints: ['http://a:2379', 'http://b:2379'] }],
    [{ MUSTER_STORE: 'etcd:HTTPS://Etcd-0.Etcd:2379' }, { endpoints: ['https://etcd-0.etcd:2379'] }],
    [{ MUSTER_STORE: 'etcd:HTTP://[FD00::A]:2379/' }, { endpoints: ['http://[fd00::a]:2379'] }],
    [{ MUSTER_ETCD_COMPACT: 'never' }, { compact: false }],
    [{ MUSTER_ETCD_PREFIX: 'team-a/muster_1.2/' }, { prefix: 'team-a/muster_1.2/' }],
    [{ MUSTER_ETCD_QUOTA_BYTES: '8589934592' }, { quotaBytes: 8_589_934_592 }],
    [{ MUSTER_ETCD_USERNAME: 'm', MUSTER_ETCD_PASSWORD: 'p w' }, { auth: { username: 'm', password: 'p w' } }],
    [
      { MUSTER_ETCD_USERNAME: 'm', MUSTER_ETCD_PASSWORD_FILE: file('from a file\n') },
      { auth: { username: 'm', password: 'from a file' } },
    ],
    [{ MUSTER_STORE: 'etcd:http://[::1]:65535' }, { endpoints: ['http://[::1]:65535'] }],
    [{ MUSTER_STORE: 'etcd:https://a:1', MUSTER_ETCD_CA_FILE: file('CA') }, { tls: { ca: Buffer.from('CA') } }],
    [
      {
        MUSTER_STORE: 'etcd:https://a:1',
        MUSTER_ETCD_CERT_FILE: file('CERT'),
        MUSTER_ETCD_KEY_FILE: file('KEY'),
      },
      { tls: { certificate: Buffer.from('CERT'), key: Buffer.from('KEY') } },
    ],
  ])('with etcd: %j', (env, expected) => {
    expect(readConfig(onEtcd(env)).store).toMatchObject(expected);
  });
});

describe('a bad value is refused by the variable’s name and the rule', () => {
  test.each([
    ['MUSTER_STORE', 'postgres://db', /sqlite:PATH or etcd:URL/],
    ['MUSTER_STORE', 'etcd:', /sqlite:PATH or etcd:URL/],
    ['MUSTER_STORE', 'etcd:127.0.0.1:2379', /http:\/\/ or https:\/\//],
    ['MUSTER_STORE', 'etcd:http://a:1,', /sqlite:PATH or etcd:URL/],
    ['MUSTER_STORE', 'etcd:http://root:hunter2@a:1', /sqlite:PATH or etcd:URL/],
    ['MUSTER_STORE', 'etcd:http://a:1/path', /sqlite:PATH or etcd:URL/],
    ['MUSTER_STORE', 'etcd:http://a:1//', /sqlite:PATH or etcd:URL/],
    ['MUSTER_STORE', 'etcd:http://a b:1', /sqlite:PATH or etcd:URL/],
    ['MUSTER_STORE', 'etcd:http://a:1, ,http://b:1', /sqlite:PATH or etcd:URL/],
    ['MUSTER_STORE', 'etcd:http://a:1?x', /sqlite:PATH or etcd:URL/],
    ['MUSTER_STORE', 'etcd:http://:2379', /sqlite:PATH or etcd:URL/],
    ['MUSTER_STORE', 'etcd:http://etcd', /end in a port/],
    ['MUSTER_STORE', 'etcd:http://a:1,http://b', /end in a port/],
    ['MUSTER_STORE', 'etcd:http://a:65536', /end in a port/],
    ['MUSTER_STORE', 'etcd:http://a:0', /end in a port/],
    ['MUSTER_STORE', 'etcd:http://etcd/', /end in a port/],
    ['MUSTER_STORE', 'etcd:http://a:1,HTTPS://b:1', /all http:\/\/ or all https:\/\//],
    ['MUSTER_STORE', 'etcd:http://a:1,https://b:1', /all http:\/\/ or all https:\/\//],
    ['MUSTER_ETCD_CA_FILE', file('CA'), /need https:\/\/ URLs/],
    ['MUSTER_EGRESS_ALLOW', 'collector.monitoring', /addresses or ranges, as in 10\.0\.0\.0\/8/],
    ['MUSTER_EGRESS_ALLOW', '10.0.0.0/33', /addresses or ranges/],
    ['MUSTER_EGRESS_ALLOW', '0x7f.1', /addresses or ranges/],
    ['MUSTER_EGRESS_ALLOW', Array(101).fill('10.0.0.1').join(','), /at most 100/],
    ['MUSTER_EGRESS_PROXY', 'proxy.example:3128', /http:\/\/HOST:PORT or https:\/\/HOST:PORT/],
    ['MUSTER_EGRESS_PROXY', 'socks5://hunter2@proxy.example:1080', /http:\/\/HOST:PORT/],
    ['MUSTER_EGRESS_PROXY', 'http://me:hunter2@', /http:\/\/HOST:PORT/],
    ['MUSTER_EGRESS_PROXY', 'http://proxy.example:3128/path', /http:\/\/HOST:PORT/],
    ['MUSTER_EGRESS_PROXY', 'http://proxy.example:3128?x', /http:\/\/HOST:PORT/],
    ['MUSTER_EGRESS_PROXY', 'http://proxy.example:99999', /http:\/\/HOST:PORT/],
    ['MUSTER_API_LISTEN', '8080', /host:port/],
    ['MUSTER_API_LISTEN', ':8080', /host:port/],
    ['MUSTER_DEVICE_LISTEN', '127.0.0.1:65536', /at most 65535/],
    ['MUSTER_DEVICE_LISTEN', '::1:8080', /host:port/],
    ['MUSTER_OPS_LISTEN', 'http://127.0.0.1:8082', /host:port/],
    ['MUSTER_OPS_LISTEN', '127.0.0.1:-1', /host:port/],
    ['MUSTER_OPERATOR_TOKEN', 'x'.repeat(31), /at least 32/],
    ['MUSTER_OPERATOR_TOKEN', `${'x'.repeat(31)} y`, /without spaces/],
    ['MUSTER_OPERATOR_TOKEN', 'ü'.repeat(40), /printable ASCII/],
    ['MUSTER_OPERATOR_TOKEN', 'x'.repeat(1025), /1024/],
    ['MUSTER_OPERATOR_TOKEN_FILE', '/nowhere/token', /cannot be read \(ENOENT\)/],
    ['MUSTER_OPERATOR_TOKEN_FILE', tmpdir(), /it is a directory/],
    ['MUSTER_OPERATOR_TOKEN_FILE', file('\n\n'), /no token/],
    ['MUSTER_OPERATOR_TOKEN_FILE', file(`${TOKEN}\nshort\n`), /line 2 must have at least 32/],
    ['MUSTER_KEY_FILE', '/nowhere/keys', /cannot be read \(ENOENT\)/],
    ['MUSTER_POLL_INTERVAL_SECONDS', '0', /from 1 to 86400/],
    ['MUSTER_POLL_INTERVAL_SECONDS', '86401', /from 1 to 86400/],
    ['MUSTER_POLL_INTERVAL_SECONDS', '60s', /whole number/],
    ['MUSTER_POLL_INTERVAL_SECONDS', '1e2', /whole number/],
    ['MUSTER_DEVICE_RATE_PER_MINUTE', '0', /from 1 to 100000/],
    ['MUSTER_DEVICE_RATE_PER_MINUTE', '100001', /from 1 to 100000/],
    ['MUSTER_DEVICE_RATE_PER_MINUTE', ' 60', /whole number/],
    ['MUSTER_ROLES', 'api,', /api,device,controller/],
    ['MUSTER_ROLES', 'api,panel', /api,device,controller/],
    ['MUSTER_ROLES', 'api,api', /api,device,controller/],
    ['MUSTER_METERING_DELAY_SECONDS', '3601', /from 0 to 3600/],
    ['MUSTER_PRICE_PER_DAEMON_MONTH', '1.0000001', /6 after it/],
    ['MUSTER_PRICE_PER_DAEMON_MONTH', '-1', /decimal/],
    ['MUSTER_PRICE_PER_DAEMON_MONTH', '1,50', /decimal/],
    ['MUSTER_PRICE_PER_DAEMON_MONTH', '1e3', /decimal/],
    ['MUSTER_CURRENCY', 'eur', /ISO 4217/],
    ['MUSTER_CURRENCY', 'XXY', /ISO 4217/],
    ['MUSTER_ACCOUNT_QUOTA_MB', '1.5', /from 0 to 1000000/],
    ['MUSTER_AUDIT_RETENTION_DAYS', '0', /from 1 to 36500/],
    ['MUSTER_OPS_CONNECTIONS_PER_ADDRESS', '-1', /from 0 to 1000000/],
    ['MUSTER_API_IDLE_SECONDS', '4', /from 5 to 604800/],
    ['MUSTER_PANEL_IDLE_SECONDS', '604801', /from 5 to 604800/],
    ['MUSTER_DEVICE_IDLE_SECONDS', '131', /at least 132, twice the longest poll interval/],
    ['MUSTER_TRUSTED_PROXIES', '10.0.0.0/33', /10\.0\.0\.0\/8/],
    ['MUSTER_TRUSTED_PROXIES', 'fd00::/129', /addresses or ranges/],
    ['MUSTER_TRUSTED_PROXIES', '10.0.0.0/8,', /addresses or ranges/],
    ['MUSTER_TRUSTED_PROXIES', 'proxy.internal', /addresses or ranges/],
    ['MUSTER_TRUSTED_PROXIES', Array.from({ length: 101 }, () => '10.0.0.1').join(), /at most 100/],
    ['MUSTER_RATE_WINDOW', 'global', /local or shared/],
    ['MUSTER_LOG_LEVEL', 'INFO', /debug, info, warn, error or silent/],
    ['MUSTER_ETCD_COMPACT', 'yes', /own or never/],
    ['MUSTER_ETCD_PREFIX', '/muster', /must end in \//],
    ['MUSTER_ETCD_PREFIX', '/mu ster/', /A-Z a-z 0-9/],
    ['MUSTER_ETCD_PREFIX', `${'x'.repeat(200)}/`, /at most 200/],
    ['MUSTER_ETCD_CA_FILE', '/nowhere/ca', /cannot be read/],
    ['MUSTER_ETCD_CERT_FILE', file('CERT'), /set both or neither/],
    ['MUSTER_ETCD_KEY_FILE', file('KEY'), /set both or neither/],
    ['MUSTER_ETCD_USERNAME', 'm', /together with MUSTER_ETCD_PASSWORD/],
    ['MUSTER_ETCD_PASSWORD', 'p', /MUSTER_ETCD_USERNAME/],
    ['MUSTER_ETCD_PASSWORD_FILE', file('p'), /MUSTER_ETCD_USERNAME/],
    ['MUSTER_ETCD_PASSWORD_FILE', '/nowhere/password', /cannot be read/],
    ['MUSTER_ETCD_PASSWORD_FILE', file('\n'), /no password in it/],
    ['MUSTER_ETCD_QUOTA_BYTES', '999999', /from 1000000 to/],
    ['MUSTER_ETCD_QUOTA_BYTES', '2GB', /whole number/],
  ])('%s=%.40s', (name, value, rule) => {
    const words = refusal(onEtcd({ [name]: value }));
    expect(words).toContain(name);
    expect(words).toMatch(rule);
  });

  test('a client certificate for etcd without TLS', () => {
    const pair = { MUSTER_ETCD_CERT_FILE: file('CERT'), MUSTER_ETCD_KEY_FILE: file('KEY') };
    expect(refusal(onEtcd(pair))).toMatch(/^MUSTER_ETCD_CERT_FILE: certificates need https:\/\/ URLs/);
  });

  test('a password of etcd that is set twice', () => {
    const words = refusal(
      onEtcd({ MUSTER_ETCD_USERNAME: 'm', MUSTER_ETCD_PASSWORD: 'p', MUSTER_ETCD_PASSWORD_FILE: file('p') }),
    );
    expect(words).toMatch(/^MUSTER_ETCD_PASSWORD and MUSTER_ETCD_PASSWORD_FILE: set one/);
  });

  test('several at once, each on a line', () => {
    const words = refusal({
      MUSTER_LOG_LEVEL: 'loud',
      MUSTER_API_LISTEN: 'here',
      MUSTER_POLL_INTERVAL_SECONDS: 'often',
    });
    const named = words.split('\n').map((line) => line.split(':')[0]);
    expect(named).toEqual(['MUSTER_API_LISTEN', 'MUSTER_POLL_INTERVAL_SECONDS', 'MUSTER_LOG_LEVEL']);
  });

  test.each(VARIABLES)('never by its value: a secret that was pasted into %s', (name) => {
    for (const secret of [
      'hunter2 is my\u0001 password',
      'etcd:http://root:hunter2@host',
      `hunter2${'é'.repeat(1100)}`,
    ]) {
      try {
        readConfig(onEtcd({ [name]: secret }));
      } catch (error) {
        expect(error).toBeInstanceOf(ConfigError);
        expect((error as Error).message).toContain('MUSTER_');
        expect((error as Error).message).not.toContain('hunter2');
        expect(String((error as Error).cause)).not.toContain('hunter2');
      }
    }
  });
});

describe('the operator’s tokens', () => {
  test('a file may hold several, for rotation: each is valid, beside that of the variable', () => {
    const env = {
      MUSTER_OPERATOR_TOKEN: TOKEN,
      MUSTER_OPERATOR_TOKEN_FILE: file(`${'a'.repeat(32)}\r\n\n${'b'.repeat(40)}\n`),
    };
    expect(readConfig(env).operatorTokens).toEqual(
      [TOKEN, 'a'.repeat(32), 'b'.repeat(40)].map((token) => ({ name: undefined, role: 'operator', token })),
    );
  });

  const secret = 'hunter2hunter2hunter2hunter2hunter2';
  test.each([
    [`Alice:${secret}`, 'a capital'],
    [`:${secret}`, 'an empty name'],
    [`-a:${secret}`, 'a hyphen at the beginning'],
    [`${'n'.repeat(33)}:${secret}`, 'a name of 33 characters'],
    [`ci:operator:${secret}:${secret}`, 'a colon in the token'],
    [`:operator:${secret}`, 'an empty name before a role'],
  ])('a line whose name is none is refused, without its text, and is no token of its own: %.20s (%s)', (line) => {
    const words = refusal({ MUSTER_OPERATOR_TOKEN_FILE: file(`${TOKEN}\n${line}\n`) });
    expect(words).toMatch(/line 2 must be a token, name:token or name:role:token/);
    expect(words).not.toContain('hunter2');
    const longest = 'n'.repeat(32);
    expect(readConfig({ MUSTER_OPERATOR_TOKEN_FILE: file(`${longest}:${secret}`) }).operatorTokens).toEqual([
      { name: longest, role: 'operator', token: secret },
    ]);
  });

  test.each(OPERATOR_ROLES)('a token has the role that stands before it: %s', (role) => {
    const expected = [{ name: 'ci', role, token: secret }];
    expect(readConfig({ MUSTER_OPERATOR_TOKEN_FILE: file(`ci:${role}:${secret}\n`) }).operatorTokens).toEqual(expected);
    expect(readConfig({ MUSTER_OPERATOR_TOKEN: `ci:${role}:${secret}` }).operatorTokens).toEqual(expected);
  });

  test.each([
    [`ci:owner:${secret}`, /line 2 has an unknown role: the roles are operator, support, billing, auditor, metrics/],
    [`ci:Auditor:${secret}`, /line 2 has an unknown role/],
    [`ci::${secret}`, /line 2 has an unknown role/],
    [`ci:${secret}:auditor`, /line 2 has an unknown role/],
    [`auditor:${secret}`, /line 2 names a token like another role: write name:role:token, with a name that is no role/],
    [`billing:operator:${secret}`, /line 2 names a token like another role: /],
    [`ci:auditor:hunter2`, /line 2 must have at least 32 characters/],
  ])('a line whose role is none refuses the start, without its text: %.14s', (line, words) => {
    const said = refusal({ MUSTER_OPERATOR_TOKEN_FILE: file(`${TOKEN}\n${line}\n`) });
    expect(said).toMatch(words);
    expect(said).not.toMatch(/hunter2|owner|Auditor/);
    const neighbour = file(`operator:${secret}\nauditor:auditor:${secret}x\n`);
    expect(readConfig({ MUSTER_OPERATOR_TOKEN_FILE: neighbour }).operatorTokens).toMatchObject([
      { name: 'operator', role: 'operator' },
      { name: 'auditor', role: 'auditor' },
    ]);
  });

  test.each<readonly [string, string, string | undefined]>([
    ['in one file, under two roles', `ci:auditor:${secret}\nci:operator:${secret}`, undefined],
    ['in one file', `ci:${secret}\nnight:${secret}`, undefined],
    ['once without a name', `${secret}\nnight:${secret}`, undefined],
    ['in the variable and in the file', `ci:${secret}`, secret],
  ])('one token under two names is refused, as nobody could tell who acted: %s', (_, lines, own) => {
    const env = { MUSTER_OPERATOR_TOKEN_FILE: file(lines), ...(own !== undefined && { MUSTER_OPERATOR_TOKEN: own }) };
    const words = refusal(env);
    expect(words).toMatch(/the same token stands there under two names or roles/);
    expect(words).not.toContain('hunter2');
    const rotated = { MUSTER_OPERATOR_TOKEN_FILE: file(`ci:${secret}\nci:${secret}x`) };
    expect(readConfig(rotated).operatorTokens).toHaveLength(2);
  });

  test('as many tokens as there may be are read at once, and one more is refused', () => {
    const tokens = (count: number): string => Array.from({ length: count }, (_, n) => `${TOKEN}${n}`).join('\n');
    expect(readConfig({ MUSTER_OPERATOR_TOKEN_FILE: file(tokens(1000)) }).operatorTokens).toHaveLength(1000);
    expect(refusal({ MUSTER_OPERATOR_TOKEN_FILE: file(tokens(1001)) })).toMatch(
      /there may be 1000 tokens: remove some/,
    );
  });

  test('a line that is none is refused by its number, never by its text', () => {
    const words = refusal({ MUSTER_OPERATOR_TOKEN_FILE: file(`${TOKEN}\nhunter2\n`) });
    expect(words).toMatch(/line 2/);
    expect(words).not.toContain('hunter2');
  });
});

describe('with etcd nothing is made up, since every replica must have the same', () => {
  test.each([
    ['MUSTER_OPERATOR_TOKEN', /MUSTER_OPERATOR_TOKEN or MUSTER_OPERATOR_TOKEN_FILE: .*must be set/],
    ['MUSTER_KEY_FILE', /MUSTER_KEY_FILE: .*must be set.*openssl rand -base64 32/],
  ])('without %s it is refused, in words that say what to do', (name, words) => {
    const env = onEtcd();
    delete env[name];
    expect(refusal(env)).toMatch(words);
    expect(readConfig({ ...env, MUSTER_STORE: 'sqlite:' })).toMatchObject({ store: { kind: 'sqlite' } });
  });

  test('without both, both are named', () => {
    expect(refusal({ MUSTER_STORE: 'etcd:http://a:1' }).split('\n')).toHaveLength(2);
  });

  test('a token from a file is enough', () => {
    const { MUSTER_OPERATOR_TOKEN: _token, ...env } = onEtcd({ MUSTER_OPERATOR_TOKEN_FILE: file(TOKEN) });
    expect(readConfig(env).operatorTokens).toEqual([{ name: undefined, role: 'operator', token: TOKEN }]);
  });
});

describe('variables that begin with MUSTER_ and mean nothing', () => {
  test.each([
    ['MUSTER_API_LISTENN', 'MUSTER_API_LISTEN', 'a letter too many'],
    ['MUSTER_API_LISTN', 'MUSTER_API_LISTEN', 'one too few'],
    ['MUSTER_LOG_LEVLE', 'MUSTER_LOG_LEVEL', 'two that are swapped'],
    ['MUSTER_LGO_LEVLE', 'MUSTER_LOG_LEVEL', 'two such swaps'],
    ['MUSTER_STOER', 'MUSTER_STORE', 'a short one'],
    ['MUSTER_ROLE', 'MUSTER_ROLES', 'the singular'],
    ['MUSTER_CLIENT_OPS_URI', 'MUSTER_CLIENT_OPS_URL', 'one that the command reads'],
  ])('%s stops the start, and %s is named (%s)', (name, nearest) => {
    const message = refusal({ [name]: 'hunter2' });
    expect(message).toBe(`${name}: there is no such variable; it is ${nearest} that was meant, or remove it`);
  });

  test('slips are told together with what else is wrong', () => {
    expect(refusal({ MUSTER_STOER: 'x', MUSTER_LOG_LEVEL: 'x' })).toMatch(/^MUSTER_STOER: .*\nMUSTER_LOG_LEVEL: /);
  });

  test.each([
    ['MUSTER_COLOUR', 'blue', ['MUSTER_COLOUR'], 'far from every name'],
    ['MUSTER_LGO_LVEEEL', 'x', ['MUSTER_LGO_LVEEEL'], 'three letters away'],
    ['MUSTER_COLOUR', '', [], 'empty is as not set'],
    ['MUSTER_CLIENT_OPS_URL', 'http://127.0.0.1:8082', [], 'the command reads it'],
    ['MUSTERING', 'x', [], "not Muster's"],
    ['MUSTER_SERVICE_HOST', '10.0.0.1', [], 'a service link'],
    ['MUSTER_SERVICE_PORT', '8080', [], 'a service link'],
    ['MUSTER_SERVICE_PORT_HTTP', '8080', [], 'a service link with the name of a port'],
    ['MUSTER_API_SERVICE_PORT', '8080', [], 'a service link of muster-api'],
    ['MUSTER_PORT', 'tcp://10.0.0.1:8080', [], 'a service link, by its value'],
    ['MUSTER_PORT', '8080', ['MUSTER_PORT'], 'somebody meant this one'],
    ['MUSTER_PORT_8080_TCP', 'tcp://10.0.0.1:8080', [], 'a service link'],
    ['MUSTER_DEVICE_PORT_8081_TCP_ADDR', '10.0.0.1', [], 'a service link of muster-device'],
    ['MUSTER_OPS_PORT_8082_UDP_PROTO', 'udp', [], 'a service link of muster-ops'],
  ])('%s=%s → %j (%s)', (name, value, unknown) => {
    expect(readConfig({ [name]: value }).unknownVariables).toEqual(unknown);
  });
});

test.each([
  [{ MUSTER_API_LISTEN: '127.0.0.1:8082' }, /^MUSTER_API_LISTEN and MUSTER_OPS_LISTEN: both are port 8082; give each/],
  [{ MUSTER_DEVICE_LISTEN: '0.0.0.0:8080' }, /^MUSTER_DEVICE_LISTEN and MUSTER_API_LISTEN: both are port 8080/],
  [{ MUSTER_API_LISTEN: '[::]:8081' }, /^MUSTER_DEVICE_LISTEN and MUSTER_API_LISTEN: both are port 8081/],
  [{ MUSTER_API_LISTEN: '[0:0:0:0:0:0:0:0]:8081' }, /both are port 8081/],
  [{ MUSTER_API_LISTEN: '[::ffff:127.0.0.1]:8081' }, /both are port 8081/],
  [{ MUSTER_API_LISTEN: '[0:0:0:0:0:FFFF:7f00:1]:8081' }, /both are port 8081/],
  [{ MUSTER_API_LISTEN: '[::ffff:0.0.0.0]:8081' }, /both are port 8081/],
  [{ MUSTER_API_LISTEN: '[::1]:8081', MUSTER_DEVICE_LISTEN: '[0:0:0:0:0:0:0:1]:8081' }, /both are port 8081/],
  [{ MUSTER_API_LISTEN: 'localhost:80', MUSTER_DEVICE_LISTEN: 'LocalHost:80' }, /both are port 80/],
  [{ MUSTER_API_LISTEN: 'localhost:80', MUSTER_DEVICE_LISTEN: '[::]:80' }, /both are port 80/],
])('two listeners on one port are refused: %j', (env, words) => {
  expect(refusal(env)).toMatch(words);
});

test.each<readonly [Record<string, string>, string]>([
  [{ MUSTER_API_LISTEN: '127.0.0.2:8082' }, 'one port of two addresses'],
  [{ MUSTER_API_LISTEN: '[::1]:8082', MUSTER_OPS_LISTEN: '0.0.0.0:8082' }, 'one of all of IPv4, and one of IPv6'],
  [{ MUSTER_API_LISTEN: '[::ffff:127.0.0.2]:8082' }, 'one port of two addresses, one spelt as IPv6'],
  [{ MUSTER_API_LISTEN: 'localhost:8082' }, 'a name may be of another address'],
  [{ MUSTER_API_LISTEN: '127.0.0.1:0', MUSTER_DEVICE_LISTEN: '127.0.0.1:0' }, 'ports that the system chooses'],
  [{ MUSTER_DEVICE_LISTEN: '127.0.0.1:8080', MUSTER_ROLES: 'api' }, 'a listener that is not opened'],
])('%j is taken: %s', (env) => {
  expect(() => readConfig(env)).not.toThrow();
});

describe('idle times', () => {
  test.each([
    ['1', 65],
    ['29', 65],
    ['30', 66],
    ['60', 132],
    ['600', 1320],
    ['86400', 190_080],
  ])('with the poll interval %s daemons’ connections are kept for %i s: twice the longest interval', (poll, device) => {
    expect(readConfig({ MUSTER_POLL_INTERVAL_SECONDS: poll }).idleSeconds).toEqual({
      api: 65,
      device,
      ops: 65,
      panel: 65,
    });
  });

  test('behind proxies they are longer than those of the proxies, and still twice the longest poll interval', () => {
    const proxied = { MUSTER_TRUSTED_PROXIES: '10.0.0.0/8' };
    expect(readConfig(proxied).idleSeconds).toEqual({ api: 620, device: 620, ops: 620, panel: 620 });
    expect(readConfig({ ...proxied, MUSTER_POLL_INTERVAL_SECONDS: '600' }).idleSeconds.device).toBe(1320);
    expect(readConfig({ ...proxied, MUSTER_API_IDLE_SECONDS: '70' }).idleSeconds.api).toBe(70);
  });

  test('a poll interval whose daemons would meet closed connections is refused, and a longer idle time is taken', () => {
    const env = { MUSTER_POLL_INTERVAL_SECONDS: '600', MUSTER_DEVICE_IDLE_SECONDS: '1000' };
    expect(refusal(env)).toMatch(/^MUSTER_DEVICE_IDLE_SECONDS: must be at least 1320/);
    expect(readConfig({ ...env, MUSTER_DEVICE_IDLE_SECONDS: '1400' }).idleSeconds.device).toBe(1400);
  });
});
