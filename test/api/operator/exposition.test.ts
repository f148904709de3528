import { readdirSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CONTENT_TYPES, formatOf } from '../../../src/api/operator/exposition.ts';
import { exchange } from '../../support/http/raw-http.ts';
import { runs } from '../../support/run/effort.ts';
import { call, Muster } from '../../support/service/muster.ts';

/** As Prometheus 2.42 and 3 send it. */
const PROMETHEUS_2 =
  'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1';
const PROMETHEUS_3 =
  'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2';

/** As Prometheus 2.42 sends it where it wants native histograms. */
const NATIVE_HISTOGRAMS =
  'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,application/openmetrics-text;version=1.0.0;q=0.8,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1';

describe('the format that a scraper prefers', () => {
  test.each([
    [PROMETHEUS_2],
    [PROMETHEUS_3],
    [NATIVE_HISTOGRAMS],
    ['application/openmetrics-text'],
    ['Application/OpenMetrics-Text; Version=1.0.0'],
    ['text/plain,application/openmetrics-text;version=1.0.0'],
    ['application/openmetrics-text;q=0.001'],
  ])('is OpenMetrics: %s', (accept) => {
    expect(formatOf(accept)).toBe('openmetrics');
  });

  test.each([
    [undefined],
    [''],
    ['*/*'],
    ['text/plain;version=0.0.4'],
    ['text/html,application/xhtml+xml,*/*;q=0.8'],
    ['application/openmetrics-text;version=0.0.1'],
    ['application/openmetrics-text;version=2.0.0'],
    ['application/openmetrics-text;q=0'],
    ['application/openmetrics-text;q=0.5,text/plain'],
    ['application/openmetrics-text;q=2'],
    ['application/openmetrics-text;q=much'],
    [',;,;q=;='],
  ])('is text: %s', (accept) => {
    expect(formatOf(accept)).toBe('text');
  });

  test('is one of the two, whatever is sent', () => {
    fc.assert(
      fc.property(fc.string(), (accept) => Object.keys(CONTENT_TYPES).includes(formatOf(accept))),
      { numRuns: runs(300) },
    );
  });
});

describe('a scrape', () => {
  const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const names = (text: string): Set<string> => new Set(lines(text).map((line) => line.slice(0, line.lastIndexOf(' '))));

  test('of OpenMetrics has the same series as one of text, with each family named as that format wants it', async () => {
    await using muster = await Muster.start();
    const scrape = (accept: string) => call(`${muster.ops}/metrics`, { headers: { accept } });
    await scrape(PROMETHEUS_2);
    await scrape('*/*');
    const around = async () => [await scrape('*/*'), await scrape(PROMETHEUS_2), await scrape('*/*')] as const;
    let [text, open, again] = await around();
    // A series may come between two scrapes, as with the first collection of garbage of a kind: then they are taken
    // anew.
    while (!isDeepStrictEqual(names(again.text), names(text.text))) [text, open, again] = await around();
    expect(text.headers.get('content-type')).toBe(CONTENT_TYPES.text);
    expect(open.headers.get('content-type')).toBe(CONTENT_TYPES.openmetrics);
    expect(open.headers.get('vary')).toBe('Accept, Accept-Encoding');
    expect(names(open.text)).toEqual(names(text.text));
    expect(again.text).toContain('# TYPE muster_polls_total counter\n');
    expect(open.text).toContain('# TYPE muster_polls counter\nmuster_polls_total{');
    expect(open.text).toMatch(/[^\n]\n# EOF\n$/);
    expect(open.text).not.toContain('\n\n');
    const families = [...open.text.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
    expect(new Set(families.map(([, family]) => family)).size).toBe(families.length);
    // Prometheus would store each of these as a series of its own.
    expect([...names(open.text), ...names(text.text)].filter((name) => /_created(?:\{|$)/.test(name))).toEqual([]);
    // A counter with another name could not be told in this format.
    expect(again.text.match(/^# TYPE \S+(?<!_total) counter$/m)).toBeNull();
  });

  test.each([
    ['gzip', true],
    ['GZIP;q=0.5, identity;q=0.1', true],
    ['*', true],
    ['gzip;q=0', false],
    ['identity', false],
    ['br, deflate', false],
    [';;,=', false],
  ])('is compressed where the scraper takes it: %s', async (encoding, compressed) => {
    await using muster = await Muster.start();
    const fields = `Host: a\r\nConnection: close\r\nAccept-Encoding: ${encoding}`;
    const { status, headers, raw } = await exchange(
      muster.service.ops.port,
      `GET /metrics HTTP/1.1\r\n${fields}\r\n\r\n`,
    );
    expect([status, headers.get('content-encoding')]).toEqual([200, compressed ? ['gzip'] : undefined]);
    const body = Buffer.from(raw.slice(raw.indexOf('\r\n\r\n') + 4), 'latin1');
    const text = (compressed ? gunzipSync(body) : body).toString();
    expect(text).toMatch(/^muster_build_info\{/m);
    expect(Number(headers.get('content-length')?.[0])).toBe(body.length);
  });

  test('counts the open file descriptors as they are, and leaves out what would walk over all connections', async () => {
    await using muster = await Muster.start();
    const { text } = await call(`${muster.ops}/metrics`, { headers: { connection: 'close' } });
    const open = Number(/^process_open_fds (\d+)$/m.exec(text)?.[1]);
    // The connection of the scrape is among them at one of the two counts, perhaps.
    expect(Math.abs(open - readdirSync('/proc/self/fd').length)).toBeLessThan(8);
    expect(text).not.toContain('nodejs_active_');
  });
});
