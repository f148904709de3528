import { describe, expect, test } from 'vitest';
import { collectorTemplate, DEFAULT_TEMPLATE } from '../../../src/domain/opamp/collector-template.ts';
import {
  emptied,
  offerFor,
  parseHash,
  remoteConfigOf,
  type RemoteConfig,
} from '../../../src/domain/opamp/remote-config.ts';
import type { DeliveredContent } from '../../../src/domain/otel-config/delivered-config.ts';

const TEMPLATE = collectorTemplate(DEFAULT_TEMPLATE);
const OTHER_TEMPLATE = collectorTemplate(`${DEFAULT_TEMPLATE}# another one\n`);

function content(revision: number, name: string, enabled = true): DeliveredContent {
  const settings = { enabled, endpoint: 'https://otel.example.com', headers: {}, evidenceLevel: 'hashes' } as const;
  return { revision, name, changedAt: 1, settings: () => settings };
}
const config = (revision = 3, name = `${revision}-tag_-x`, template = TEMPLATE, since = 1000): RemoteConfig =>
  remoteConfigOf(content(revision, name), { template, since });
/** Soon after the templates came into use. */
const NOW_AT = 5000;
const [OLD, NOW, NONE] = [config(2), config(3), config(0, '0')];
const RENAMED = config(3, '3-tag_-x', OTHER_TEMPLATE, 2000);

describe('the hash', () => {
  test('is the revision’s name, the template’s fingerprint and the instant of the template', () => {
    expect(NOW.hash).toBe(`3-tag_-x~${TEMPLATE.fingerprint}~${(1000).toString(36)}`);
    expect(parseHash(NOW.hash)).toEqual({
      key: NOW.key,
      revision: 3,
      content: '3-tag_-x',
      templateSince: 1000,
      isEmptied: false,
    });
    expect(parseHash(emptied(NOW).hash)).toMatchObject({ key: NOW.key, isEmptied: true });
  });

  test.each(['', '?', '3-tag', '3-tag~short~1', `${NOW.hash}~full`, ` ${NOW.hash}`, `${NOW.hash}\n`, 'x'.repeat(500)])(
    '%.40j is none of Muster’s',
    (text) => expect(parseHash(text)).toBeUndefined(),
  );
});

describe('an agent is offered', () => {
  const failed = NOW.key;
  test.each<[string, string | undefined, string | undefined, RemoteConfig, 'it' | 'empty' | 'nothing']>([
    ['has said nothing of what it has', undefined, undefined, NOW, 'it'],
    ['has none', '', undefined, NOW, 'it'],
    ['has the one before', OLD.hash, undefined, NOW, 'it'],
    ['has that of another server', '?', undefined, NOW, 'it'],
    ['has it', NOW.hash, undefined, NOW, 'nothing'],
    [
      'has it, from a replica that has loaded the same template later',
      config(3, '3-tag_-x', TEMPLATE, 9).hash,
      undefined,
      NOW,
      'nothing',
    ],
    [
      'has one of the same revision and another tag, as after a restore',
      config(3, '3-other').hash,
      undefined,
      NOW,
      'it',
    ],
    ['could not load it', NOW.hash, failed, NOW, 'empty'],
    ['could not load it, and has the empty one', emptied(NOW).hash, failed, NOW, 'nothing'],
    ['could not load it, and has forgotten all', '', failed, NOW, 'empty'],
    ['could not load the one before', OLD.hash, OLD.key, NOW, 'it'],
    ['could not load it, with another template', NOW.hash, failed, RENAMED, 'it'],
    ['has the empty one, though it can load it now', emptied(NOW).hash, undefined, NOW, 'it'],
    ['has none, and none was ever stored', '', undefined, NONE, 'nothing'],
    ['has a stored one, and none is to be had', NOW.hash, undefined, NONE, 'it'],
    ['has that of another server, and none was ever stored', '?', undefined, NONE, 'it'],
    ['has it by an older template', NOW.hash, undefined, RENAMED, 'it'],
    ['has it by a newer template than this replica has', RENAMED.hash, undefined, NOW, 'nothing'],
    ['has an older revision by a newer template', config(2, '2-tag', OTHER_TEMPLATE, 2000).hash, undefined, NOW, 'it'],
  ])('that %s', (_, hash, failedKey, wanted, expected) => {
    const offer = offerFor(wanted, { hash, failed: failedKey }, NOW_AT);
    expect(offer?.hash).toBe({ it: wanted.hash, empty: emptied(wanted).hash, nothing: undefined }[expected]);
  });

  test('its own template, where it has had a newer one for a quarter of an hour: that is the one which is left', () => {
    const known = { hash: RENAMED.hash, failed: undefined };
    expect(offerFor(NOW, known, 2000 + 900_000 - 1)).toBeUndefined();
    expect(offerFor(NOW, known, 2000 + 900_000)?.hash).toBe(NOW.hash);
  });

  test('one that is switched off as the empty one', () => {
    const off = remoteConfigOf(content(4, '4-tag', false), { template: TEMPLATE, since: 1 });
    expect(off.body()).toBe('{}\n');
    expect(NOW.body()).toContain('https://otel.example.com');
    expect(emptied(NOW).body()).toBe('{}\n');
  });
});
