import { rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ConfigError } from '../../../src/config/config.ts';
import { configuredFile } from '../../../src/config/files/configured-file.ts';
import { authoritiesUse, certificateUse, type Certificate } from '../../../src/service/files/tls-certificate.ts';
import { selfSigned, type SelfSigned } from '../../support/http/certificates.ts';
import { MountedSecret } from '../../support/records/mounted-secret.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { Watching } from '../../support/files/watching.ts';

const DAY_MS = 86_400_000;

let dir: string;
let [first, second]: SelfSigned[] = [];
let mounts = 0;
let secret: MountedSecret;
let watching: Watching;
let presented: string[];
beforeAll(() => {
  dir = scratchDirectory('muster');
  [first, second] = [selfSigned(dir, 'first'), selfSigned(dir, 'second')];
});
afterAll(() => rmSync(dir, { recursive: true }));
beforeEach(() => {
  watching = new Watching();
  presented = [];
  secret = new MountedSecret(join(dir, `mount-${(mounts += 1)}`), files(first));
});

const files = ({ cert = '', key = '' }: Partial<SelfSigned> = {}): Record<string, string> => ({
  'tls.crt': cert,
  'tls.key': key,
});

function watched(): { readonly current: Certificate; readonly reread: () => Promise<void> } {
  const pair = [
    configuredFile('MUSTER_API_TLS_CERT_FILE', secret.path('tls.crt')),
    configuredFile('MUSTER_API_TLS_KEY_FILE', secret.path('tls.key')),
  ] as const;
  const { files } = watching;
  const taken = ({ pair: { cert } }: Certificate): void => void presented.push(cert.toString());
  const { current } = files.add(certificateUse(pair, watching, taken));
  return { current, reread: () => files.round() };
}

describe('a renewal', () => {
  test('of a mounted Secret is presented, with its expiry', async () => {
    const { reread, current } = watched();
    expect(Math.abs(current.expiresAt - Date.now() - DAY_MS)).toBeLessThan(DAY_MS / 2);
    secret.renew(files(second));
    await reread();
    expect(presented).toEqual([second?.cert]);
    expect(watching.faults).toEqual([]);
  });

  test('with the same content is no change', async () => {
    const { reread } = watched();
    secret.renew(files(first));
    await reread();
    expect([presented, watching.logged]).toEqual([[], []]);
  });

  test('file by file: not before both are there', async () => {
    const { reread } = watched();
    secret.renew(files({ ...first, cert: second?.cert ?? '' }));
    await reread();
    expect([presented, watching.faults]).toEqual([[], ['the key is not that of the certificate']]);
    secret.renew(files(second));
    await reread();
    expect(presented).toEqual([second?.cert]);
    expect(watching.lines.at(-1)?.msg).toBe('a file of the configuration can be used again');
  });
});

describe('an unusable pair leaves the old one in use, is logged once, and is taken once it is usable', () => {
  test.each([
    ['no certificate', () => files({ ...second, cert: 'hunter2' }), 'the certificate is no PEM certificate'],
    ['an empty certificate', () => files({ ...second, cert: '' }), 'the certificate is no PEM certificate'],
    ['no key', () => files({ ...second, key: 'hunter2' }), /^certificate and key are no PEM pair \(\w+\)$/],
    ['the key of another', () => files({ ...second, key: first?.key ?? '' }), 'the key is not that of the certificate'],
    ['a certificate without end', () => files({ ...second, cert: 'x'.repeat(1_048_577) }), /more than 1048576 bytes/],
  ])('%s', async (_what, content, words) => {
    const { reread } = watched();
    secret.renew(content());
    await reread();
    await reread();
    expect(presented).toEqual([]);
    expect(watching.faults).toEqual([expect.stringMatching(words)]);
    expect(watching.logged.join()).not.toContain('hunter2');
    secret.renew(files(second));
    await reread();
    expect(presented).toEqual([second?.cert]);
  });

  test('a file that is gone', async () => {
    const { reread } = watched();
    unlinkSync(secret.path('tls.key'));
    await reread();
    expect([presented, watching.faults]).toEqual([[], ['MUSTER_API_TLS_KEY_FILE: the file cannot be read (ENOENT)']]);
  });

  test('one that has expired meanwhile', async () => {
    const { reread } = watched();
    secret.renew(files(second));
    watching.clock.advance(2 * DAY_MS);
    await reread();
    expect([presented, watching.faults]).toEqual([
      [],
      [expect.stringMatching(/^the new certificate has expired, \d{4}-/)],
    ]);
  });
});

describe('at the start', () => {
  test('an unusable pair is refused with the names of the variables and the rule', () => {
    secret.renew(files({ ...first, key: second?.key ?? '' }));
    expect(watched).toThrow(ConfigError);
    expect(watched).toThrow(
      'MUSTER_API_TLS_CERT_FILE, MUSTER_API_TLS_KEY_FILE: the key is not that of the certificate',
    );
    secret.renew({ 'tls.crt': first?.cert ?? '' });
    expect(watched).toThrow('MUSTER_API_TLS_KEY_FILE: the file cannot be read (ENOENT)');
  });

  test('one that has expired is presented all the same, and is an error in the log', () => {
    watching.clock.advance(2 * DAY_MS);
    expect(watched().current.pair.cert.toString()).toBe(first?.cert);
    expect(watching.lines.map(({ level, msg }) => [level, msg])).toEqual([
      ['error', 'a certificate has expired: renew it'],
    ]);
  });
});

describe('authorities', () => {
  const authorities = (...certificates: readonly (string | undefined)[]) => {
    const path = join(dir, 'authorities');
    writeFileSync(path, certificates.join(''), { mode: 0o600 });
    return watching.files.add(authoritiesUse(configuredFile('MUSTER_ETCD_CA_FILE', path), watching));
  };

  test('the first one to expire is told, where it has not expired already', () => {
    const [long, expired] = [selfSigned(dir, 'long', { days: '9' }), selfSigned(dir, 'expired', { days: '-1' })];
    const told = (): number =>
      Math.round(((watching.expiry.get('MUSTER_ETCD_CA_FILE') ?? 0) * 1000 - Date.now()) / DAY_MS);
    authorities(long.cert, first?.cert);
    expect(told()).toBe(1);
    authorities(long.cert, expired.cert);
    expect(told()).toBe(9);
    authorities(expired.cert);
    expect(told()).toBe(-1);
  });

  test('a key beside them is refused, with what to do', () => {
    expect(() => authorities(first?.cert, first?.key)).toThrow(/^MUSTER_ETCD_CA_FILE: .*without a key/);
  });
});
