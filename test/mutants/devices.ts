import type { Mutant } from './mutant.ts';

/** The device plane. */
export const DEVICES: readonly Mutant[] = [
  {
    name: 'an older contact overwrites a later one',
    file: 'src/domain/devices/heartbeats.ts',
    search: 'if (!alive.has(slot) || at <= (merged.get(slot) ?? 0)) continue;',
    replacement: 'if (!alive.has(slot)) continue;',
    rule: 'A13: lastSeenAt never goes back.',
    caughtBy: ['test/api/device/last-seen.test.ts', 'test/domain/devices/heartbeats.test.ts'],
  },
  {
    name: 'a private device is told the configuration',
    file: 'src/domain/otel-config/delivered-config.ts',
    search: `const entitled = app.connection === 'cloud' && account.record.entitlement === 'enterprise';`,
    replacement: `const entitled = account.record.entitlement === 'enterprise';`,
    rule: 'O11: a private device is told the never-stored configuration.',
    caughtBy: ['test/api/device/poll-config.test.ts'],
  },
  {
    name: 'a known ETag in a list or in its weak form is not recognised',
    file: 'src/api/device/poll-config.ts',
    search: `(known === etag || known.trim() === '*' || entityTags(known).includes(etag));`,
    replacement: `(known === etag || known.trim() === '*');`,
    rule: 'Device plane: If-None-Match with the current ETag is answered with 304.',
    caughtBy: ['test/api/device/poll-config.test.ts'],
  },
  {
    name: 'a change of the app does not wake its held poll',
    file: 'src/domain/devices/change-waits.ts',
    search: 'const leave = [join(byApp, app.id, resolve), join(byAccount, account.id, resolve)];',
    replacement: 'const leave = [join(byAccount, account.id, resolve)];',
    rule: 'Device plane: a revocation ends a held poll at once where the watch lives.',
    caughtBy: ['test/api/device/poll-held.test.ts'],
  },
  {
    name: 'an enrollment is replayed in the instant that its 15 minutes end',
    file: 'src/domain/devices/enrollment.ts',
    search: 'binding.at < before.at + LIMITS.enrollReplayMs',
    replacement: 'binding.at <= before.at + LIMITS.enrollReplayMs',
    rule: 'Device plane: the same code with the same credentialHash answers 200 again for 15 minutes.',
    caughtBy: ['test/api/device/enroll.test.ts'],
  },
  {
    name: 'a repeated detection is written again',
    file: 'src/domain/review-queue/detections.ts',
    search: 'const fresh = [...pending].filter(([digest]) => !known.has(digest));',
    replacement: 'const fresh = [...pending];',
    rule: 'Device plane: the id of a detection removes repeats.',
    caughtBy: ['test/api/device/report-detections.test.ts', 'test/api/operator/review-queue.test.ts'],
  },
  {
    name: 'the review queue holds one entry too many',
    file: 'src/domain/review-queue/capacity.ts',
    search: '(count + 1 > LIMITS.reviewEntriesPerAppMax ||',
    replacement: '(count > LIMITS.reviewEntriesPerAppMax ||',
    rule: 'Device plane: the review queue is bounded per app, and the oldest entries are dropped.',
    caughtBy: ['test/api/device/report-detections.test.ts', 'test/domain/review-queue/capacity.test.ts'],
  },
  {
    name: 'a credential has one request a minute too many',
    file: 'src/domain/devices/device-rate-limit.ts',
    search: 'if (current + last * (1 - elapsed) + 1 <= perMinute) {',
    replacement: 'if (current + last * (1 - elapsed) <= perMinute) {',
    rule: 'Device plane: a credential has at most MUSTER_DEVICE_RATE_PER_MINUTE requests a minute.',
    caughtBy: ['test/api/device/rate-limit.test.ts', 'test/domain/devices/device-rate-limit.test.ts'],
  },
];
