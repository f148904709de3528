import { expect, test } from 'vitest';
import * as z from 'zod';
import { fleetApp, type FleetAppSpec } from '../../../../src/controller/kubernetes/schema/fleet-app.ts';
import {
  supervisorSettings,
  supervisorText,
} from '../../../../src/controller/kubernetes/supervisor/supervisor-secret.ts';

const specOf = (opamp: object | undefined): FleetAppSpec =>
  fleetApp.spec.parse({
    accountRef: { name: 'acme' },
    secretFormat: 'opamp',
    enrollment: { secretRef: { name: 'box' }, ...(opamp && { opamp }) },
  });
const PLACE = { deviceUrl: 'https://devices.example.com', opampPath: '/v1/opamp' };

test('the file has the endpoint, the credential and the paths of the images of OpenTelemetry', () => {
  const text = supervisorText(specOf(undefined), PLACE, 'mst_dev_x');
  for (const line of [
    '  endpoint: "https://devices.example.com/v1/opamp"',
    '    Authorization: ["Bearer mst_dev_x"]',
    '  executable: "/otelcol-contrib"',
    '  directory: "/var/lib/otelcol/supervisor"',
  ]) {
    expect(text.split('\n')).toContain(line);
  }
  expect(text).not.toContain('ca_file');
  expect(text).not.toContain('config_files');
});

test('the spec names other paths, and a `$` in them stays one', () => {
  const opamp = {
    executable: '/opt/col$lector',
    storageDirectory: '/data',
    configFiles: ['/etc/otelcol/own.yaml'],
    authorityFile: '/etc/ssl/fleet.pem',
  };
  const lines = supervisorText(specOf(opamp), PLACE, 'mst_dev_x').split('\n');
  expect(lines).toContain('  executable: "/opt/col$$lector"');
  expect(lines).toContain('  directory: "/data"');
  expect(lines).toContain('    - "/etc/otelcol/own.yaml"');
  expect(lines).toContain('    ca_file: "/etc/ssl/fleet.pem"');
});

test.each([
  ['https://devices.example.com/', 'https://devices.example.com/v1/opamp', 'a slash at the end'],
  ['https://example.com/fleet', 'https://example.com/fleet/v1/opamp', 'a path before it'],
])('the endpoint on %s is %s (%s)', (deviceUrl, endpoint, _why) => {
  expect(supervisorText(specOf(undefined), { ...PLACE, deviceUrl }, 'x')).toContain(`endpoint: "${endpoint}"`);
});

test('the settings change with every part of the file but the credential, and are no digest of it', () => {
  const settings = new Set([
    supervisorSettings(specOf(undefined), PLACE),
    supervisorSettings(specOf(undefined), { ...PLACE, deviceUrl: 'https://other.example.com' }),
    supervisorSettings(specOf(undefined), { ...PLACE, opampPath: '/opamp' }),
    supervisorSettings(specOf({ executable: '/other' }), PLACE),
    supervisorSettings(specOf({ configFiles: ['/other'] }), PLACE),
  ]);
  expect(settings.size).toBe(5);
  // The defaults, written out, change nothing.
  expect(settings).toContain(supervisorSettings(specOf({ executable: '/otelcol-contrib' }), PLACE));
});

test.each([
  ['otelcol', 'a relative path'],
  ['/', 'no name'],
  ['/a\nb', 'a line break'],
  [`/${'a'.repeat(512)}`, 'too long'],
])('the path %j is refused (%s)', (executable, _why) => {
  expect(() => specOf({ executable })).toThrow(z.ZodError);
});

test('sixteen files of the collector are taken, and one more is refused', () => {
  const files = (count: number) => ({ configFiles: Array.from({ length: count }, (_, n) => `/${n}`) });
  expect(specOf(files(16)).enrollment?.opamp?.configFiles).toHaveLength(16);
  expect(() => specOf(files(17))).toThrow(z.ZodError);
});
