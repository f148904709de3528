import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DEFAULT_TEMPLATE } from '../../../src/domain/opamp/collector-template.ts';
import { rolloutOf } from '../../support/opamp/fleet.ts';
import { audited, purge, revokeApp, setExport } from '../../support/opamp/owner.ts';
import { OtlpReceiver, sendTrace } from '../../support/opamp/otlp-receiver.ts';
import { findCollector, NO_COLLECTOR } from '../../support/opamp/peers.ts';
import { DebugCollector, Supervisor } from '../../support/opamp/supervisor.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { metric, readApp } from '../../support/service/daemon.ts';
import { freePorts } from '../../support/service/free-ports.ts';
import { createApp, Muster, tenant, type CreatedApp, type Tenant } from '../../support/service/muster.ts';
import { until } from '../../support/time/until.ts';

/*
 * The OpenTelemetry Collector under its supervisor, both as their project gives them away: what Muster delivers is what
 * arrives at a receiver of OTLP.
 */

const programs = findCollector();
const TITLE = 'the stock supervisor with its collector';
const ENV = { MUSTER_POLL_INTERVAL_SECONDS: '1', MUSTER_DEVICE_RATE_PER_MINUTE: '100000' };
/** Where a collector with the built-in template takes traces from programs on the machine. */
const LOCAL = 'http://127.0.0.1:4318';
const REFUSED = 'muster_opamp_messages_total{result="invalid_credential"}';

type Owned = Tenant & CreatedApp;

/** The part of a secret that no writing of it changes. */
const SECRET = 'c0ffee5ecret';
/** What a collector, its supervisor or YAML would make something else of. */
const ODD = `a"b'c: \${env:HOME} \${file:/etc/hostname} $$ $HOME $ #x {y} [z], \\n %41 & *p !t | > - ? @ \` ~ ${SECRET}`;

describe.skipIf(programs === undefined)(programs === undefined ? `${TITLE} (${NO_COLLECTOR})` : TITLE, () => {
  let folder: string;
  beforeEach(() => {
    folder = scratchDirectory('muster-supervisor');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  async function startMuster(env: Readonly<Record<string, string>> = {}): Promise<Muster> {
    return await Muster.start({ env: { ...ENV, ...env } });
  }
  async function newApp(muster: Muster): Promise<Owned> {
    const owner = await tenant(muster);
    return { ...owner, ...(await createApp(muster, owner.apiKey)) };
  }
  async function supervise(muster: Muster, app: Owned, configFiles: readonly string[] = []): Promise<Supervisor> {
    if (!programs) throw new Error(NO_COLLECTOR);
    return await Supervisor.start({
      programs,
      folder: join(folder, 'enrolled'),
      device: muster.device,
      app,
      configFiles,
    });
  }
  const untilRollout = (muster: Muster, app: Owned, state: 'applied' | 'failed'): Promise<void> =>
    until(async () => (await rolloutOf(muster, app))[state] === 1);

  test('exports to the delivered endpoint with the delivered header, follows changes, and forgets a purged secret', async () => {
    if (!programs) throw new Error(NO_COLLECTOR);
    await using muster = await startMuster();
    const [port = 0] = await freePorts(1);
    await using printing = await DebugCollector.start(programs, folder, port);
    await using first = await OtlpReceiver.start();
    await using second = await OtlpReceiver.start(printing.endpoint);
    const app = await newApp(muster);
    await setExport(muster, app, { endpoint: first.endpoint, authHeader: `X-Odd: ${ODD}` });
    await using supervisor = await supervise(muster, app);

    await sendTrace(LOCAL, 'span-one');
    const one = await first.exportWith('span-one');
    expect([one.path, one.header('x-odd'), one.header('authorization')]).toEqual(['/v1/traces', [ODD], []]);
    await untilRollout(muster, app, 'applied');
    await until(async () => (await readApp(muster, app.apiKey, app.appId))['platform'] === 'linux');
    expect(await readApp(muster, app.apiKey, app.appId)).toMatchObject({ agentVersion: '0.149.0' });
    expect(await rolloutOf(muster, app)).toMatchObject({ health: { healthy: 1, unhealthy: 0 }, failures: [] });

    await setExport(muster, app, { endpoint: second.endpoint, authHeader: `Basic ${ODD}` });
    await until(() => supervisor.effective().includes(second.endpoint));
    await sendTrace(LOCAL, 'span-two');
    const two = await second.exportWith('span-two');
    expect([two.path, two.header('authorization'), two.header('x-odd')]).toEqual(['/v1/traces', [`Basic ${ODD}`], []]);
    await printing.printedText('span-two');
    expect(first.exports.some(({ body }) => body.includes('span-two'))).toBe(false);
    await untilRollout(muster, app, 'applied');

    expect(supervisor.filesWith(SECRET)).not.toEqual([]);
    await purge(muster, app);
    await until(() => supervisor.filesWith(SECRET).length === 0);
    await untilRollout(muster, app, 'applied');
    expect(supervisor.effective()).not.toContain('otlp_http/muster');
    expect(supervisor.filesWith(SECRET)).toEqual([]);
    // Neither did it tell it to anybody.
    expect(supervisor.says(SECRET) + muster.logged.filter((line) => line.includes(SECRET)).length).toBe(0);

    await revokeApp(muster, app);
    const refused = await metric(muster, REFUSED);
    await supervisor.said('invalid response from server: 401');
    expect(await metric(muster, REFUSED)).toBeGreaterThan(refused);
    expect(await audited(muster, app, 'app.revoked')).toHaveLength(1);
    await setExport(muster, app, { endpoint: second.endpoint, authHeader: `Basic ${ODD}` });
    await supervisor.said(
      'invalid response from server: 401',
      supervisor.says('invalid response from server: 401') + 2,
    );
    expect(supervisor.filesWith(SECRET)).toEqual([]);
  });

  test("leaves the operator's own pipelines as they are, whatever the fleet has", async () => {
    await using muster = await startMuster();
    await using fleets = await OtlpReceiver.start();
    await using own = await OtlpReceiver.start();
    const { local, file } = await ownPipeline(folder, own.endpoint);
    const ownGoesOn = async (span: string): Promise<void> => {
      await sendTrace(local, span);
      await own.exportWith(span);
    };
    const app = await newApp(muster);
    await using supervisor = await supervise(muster, app, [file]);
    await ownGoesOn('own-before');

    await setExport(muster, app, { endpoint: fleets.endpoint });
    await until(() => supervisor.effective().includes(fleets.endpoint));
    await ownGoesOn('own-beside');
    await sendTrace(LOCAL, 'of-the-fleet');
    await fleets.exportWith('of-the-fleet');
    await untilRollout(muster, app, 'applied');

    await setExport(muster, app, { enabled: false, endpoint: '' });
    await until(() => !supervisor.effective().includes(fleets.endpoint));
    await ownGoesOn('own-after');
    await untilRollout(muster, app, 'applied');
    const names = (receiver: OtlpReceiver): string[] =>
      ['own-before', 'own-beside', 'own-after', 'of-the-fleet'].filter((name) =>
        receiver.exports.some(({ body }) => body.includes(name)),
      );
    expect([names(own), names(fleets)]).toEqual([['own-before', 'own-beside', 'own-after'], ['of-the-fleet']]);
  });

  test('goes on without the fleet’s part where it cannot load it, and does not restart for ever', async () => {
    await using fleets = await OtlpReceiver.start();
    await using own = await OtlpReceiver.start();
    const { local, file } = await ownPipeline(folder, own.endpoint);
    const template = join(folder, 'template.yaml');
    writeFileSync(template, DEFAULT_TEMPLATE.replaceAll('otlp_http/muster', 'unheard_of/muster'));
    await using muster = await startMuster({ MUSTER_OPAMP_TEMPLATE_FILE: template });
    const app = await newApp(muster);
    await setExport(muster, app, { endpoint: fleets.endpoint });
    await using supervisor = await supervise(muster, app, [file]);

    await untilRollout(muster, app, 'failed');
    const { failures } = await rolloutOf(muster, app);
    expect(failures).toEqual([expect.objectContaining({ appId: app.appId, emptied: true })]);
    expect(JSON.stringify(failures)).toContain('Agent exited unexpectedly with exit code 1');
    // The supervisor says so once the collector has been healthy for longer than it waits before a restart.
    await until(() => supervisor.applied()?.endsWith('~empty') === true);
    await sendTrace(local, 'own-goes-on');
    await own.exportWith('own-goes-on');
    expect(supervisor.says('Agent starting after start backoff')).toBe(0);
    expect(await rolloutOf(muster, app)).toMatchObject({ failed: 1, health: { healthy: 1, unhealthy: 0 } });
    expect(supervisor.says('Received remote config from server')).toBe(2);

    // The operator mends the template, which is read again every few seconds.
    writeFileSync(template, DEFAULT_TEMPLATE);
    await untilRollout(muster, app, 'applied');
    await sendTrace(LOCAL, 'mended');
    await fleets.exportWith('mended');
  });
});

/** A file of the operator's own with a pipeline of its own. @returns where it takes traces, and the file's path */
async function ownPipeline(folder: string, endpoint: string): Promise<{ local: string; file: string }> {
  const [port = 0] = await freePorts(1);
  const file = join(folder, 'own.yaml');
  const configuration = {
    receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
    exporters: { otlp_http: { endpoint }, debug: {} },
    service: { pipelines: { traces: { receivers: ['otlp'], exporters: ['otlp_http', 'debug'] } } },
  };
  writeFileSync(file, JSON.stringify(configuration));
  return { local: `http://127.0.0.1:${port}`, file };
}
