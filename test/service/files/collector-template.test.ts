import { chmodSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ConfigError } from '../../../src/config/config.ts';
import { configuredFile } from '../../../src/config/files/configured-file.ts';
import { DEFAULT_TEMPLATE } from '../../../src/domain/opamp/collector-template.ts';
import type { TemplateInUse } from '../../../src/domain/opamp/remote-config.ts';
import { watchedTemplate } from '../../../src/service/files/collector-template.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { Watching } from '../../support/files/watching.ts';

/* CONTRACT.md#opamp-template: the file is read again while the service runs, and one that is wrong changes nothing. */

const OTHER = `${DEFAULT_TEMPLATE}# another one\n`;
const SECRET = 'Api-Key of-another-exporter';

let dir: string;
let path: string;
let watching: Watching;
beforeEach(() => {
  dir = scratchDirectory('muster');
  path = join(dir, 'template.yaml');
  watching = new Watching();
});
afterEach(() => rmSync(dir, { recursive: true }));

const says = (text: string): void => writeFileSync(path, text);
interface Opened {
  readonly inUse: () => TemplateInUse;
  readonly reread: () => Promise<void>;
  readonly trouble: () => string | undefined;
}
function watched(isConfigured: boolean, exporter: 'otlp_http' | 'otlphttp' = 'otlp_http'): Opened {
  const { files, clock } = watching;
  const inUse = watchedTemplate(
    files,
    { file: isConfigured ? configuredFile('MUSTER_OPAMP_TEMPLATE_FILE', path) : undefined, exporter },
    clock,
  );
  return { inUse, reread: () => files.round(), trouble: () => files.trouble() };
}
function opened(text = DEFAULT_TEMPLATE): Opened {
  says(text);
  return watched(true);
}

test('a template that has changed is in use since now', async () => {
  const file = opened();
  const before = file.inUse();
  watching.clock.advance(5000);
  says(OTHER);
  await file.reread();
  expect(file.inUse().template.fingerprint).not.toBe(before.template.fingerprint);
  expect(file.inUse().since).toBe(before.since + 5000);
});

test('one that was written again as it was has been in use since before, and nothing is logged', async () => {
  const file = opened();
  const before = file.inUse();
  watching.clock.advance(5000);
  says(DEFAULT_TEMPLATE);
  await file.reread();
  expect(file.inUse()).toBe(before);
  expect(watching.logged).toEqual([]);
});

test('a mounted ConfigMap: the name leads to another file', async () => {
  const file = opened();
  writeFileSync(join(dir, 'next'), OTHER);
  symlinkSync(join(dir, 'next'), join(dir, 'link'));
  renameSync(join(dir, 'link'), path);
  const { fingerprint } = file.inUse().template;
  await file.reread();
  expect(file.inUse().template.fingerprint).not.toBe(fingerprint);
});

describe('trouble keeps the template from before, and is told once, without what stands in the file', () => {
  test.each<[string, () => void, RegExp]>([
    ['not there', () => unlinkSync(path), /ENOENT/],
    ['no YAML', () => says(`a: [${SECRET}\n`), /line \d+: it is no YAML/],
    ['without an endpoint', () => says(`headers: $(MUSTER_HEADERS)\nb: ${SECRET}\n`), /has no \$\(MUSTER_ENDPOINT\)/],
    ['one that others can write', () => (says(OTHER), chmodSync(path, 0o666)), /others can write/],
    ['more than any template has', () => says(OTHER + '#'.repeat(70_000)), /more than 65536 bytes/],
  ])('%s', async (_what, spoil, words) => {
    const file = opened();
    const before = file.inUse();
    spoil();
    await file.reread();
    await file.reread();
    expect(file.inUse()).toBe(before);
    expect(file.trouble()).toMatch(words);
    expect(watching.faults).toEqual([expect.stringMatching(words)]);
    expect([file.trouble(), ...watching.logged].join()).not.toContain(SECRET);

    rmSync(path, { force: true });
    says(OTHER);
    await file.reread();
    expect(file.trouble()).toBeUndefined();
    expect(file.inUse().template.fingerprint).not.toBe(before.template.fingerprint);
  });
});

test('at a start a wrong one is refused, without what stands in it', () => {
  const start = (): Opened => opened(`exporters: {}\nb: ${SECRET}\n`);
  expect(start).toThrow(ConfigError);
  expect(start).toThrow(/^MUSTER_OPAMP_TEMPLATE_FILE: the template has no \$\(MUSTER_ENDPOINT\)$/);
});

test.each(['otlp_http', 'otlphttp'] as const)(
  'the built-in one exports by %s where the service is told so',
  (exporter) => {
    const { template } = watched(false, exporter).inUse();
    const configuration = template.render({
      enabled: true,
      endpoint: 'http://a',
      headers: {},
      evidenceLevel: 'hashes',
    });
    expect(configuration.match(/otlp_?http\/muster/g)).toEqual(Array<string>(4).fill(`${exporter}/muster`));
  },
);

test('without a file the built-in one is in use, and stays', async () => {
  const file = watched(false);
  const before = file.inUse();
  watching.clock.advance(5000);
  await file.reread();
  expect(file.inUse()).toBe(before);
  expect(file.trouble()).toBeUndefined();
});
