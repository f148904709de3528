import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FORMAT } from '../../../src/domain/records/store-records.ts';
import { call } from '../../support/service/muster.ts';
import { previousLanding } from '../../system/neighbours/previous-build.ts';
import { Cluster } from '../support/cluster.ts';
import { describeOn } from '../support/control-plane/tools.ts';
import { etcdBeside } from '../support/etcd-beside.ts';
import { daemonPod, ENDPOINT } from '../support/daemon-pod.ts';
import { buildImage, type Image } from '../support/node/image.ts';
import { previousRelease, type PreviousRelease } from '../support/previous-release.ts';
import { etcdCertificates, etcdValues, etcdValuesBefore, imageValues } from '../support/release-values.ts';
import { Release } from '../support/release.ts';
import { SteadyLoad } from '../support/steady-load.ts';

/*
 * The chart and the image of the last landing, with data in their format, are upgraded to those of this tree under
 * load, and back. `MUSTER_TEST_PREVIOUS` names another commit.
 */

const { commit, missing } = previousLanding();
if (missing !== undefined && process.env['CI']) throw new Error(`CI needs the last landing: ${missing}`);
const ACCOUNTS = 8;

describe.skipIf(missing !== undefined)(`from ${commit.slice(0, 12)} (${missing ?? 'the last landing'})`, () => {
  describeOn('cluster', 'an upgrade', () => {
    let previous: PreviousRelease;
    let image: Image;
    let before: Release;
    let now: Release;
    let keys: readonly string[];
    const opened = new AsyncDisposableStack();
    beforeAll(async () => {
      image = await buildImage();
      previous = await previousRelease(commit);
      const cluster = opened.use(await Cluster.start({ nodes: 2 }));
      for (const { archive } of [image, previous.image]) await cluster.load(archive);
      const etcd = opened.use(await etcdBeside(cluster));
      const values = (of: Image): object[] => [imageValues(of), etcdValues(etcd)];
      now = await Release.prepare(cluster, { namespace: 'fleet', values: values(image), helm: 4 });
      before = now.by({ chart: previous.chart, values: [imageValues(previous.image), etcdValuesBefore(etcd)] });
      await now.secretOf('etcd-tls', etcdCertificates(etcd));
    });
    afterAll(() => opened.disposeAsync());

    /** An account with its key, and a daemon that is enrolled and has received a configuration. */
    const fleet = async (name: string): Promise<void> => {
      const accountRef = { name };
      await now.apply('FleetAccount', name, { entitlement: 'enterprise' });
      await now.apply('FleetApiKey', name, { accountRef, secretRef: { name: `${name}-key` } });
      await now.apply('FleetOtelConfig', name, { accountRef, enabled: true, endpoint: ENDPOINT });
      await now.apply('FleetApp', name, { accountRef, enrollment: { secretRef: { name } } });
      await now.kubectl(['create', '--filename=-'], JSON.stringify(daemonPod(await now.image(), name)));
      await now.kubectl(['wait', '--for=jsonpath={.status.phase}=Succeeded', `pod/${name}`, '--timeout=300s']);
      await now.kubectl(['delete', 'pod', name]);
    };
    /** Its apps and its configuration, by its own key, as the API answers. */
    const seen = async (name: string): Promise<unknown> => {
      const { api } = await now.addresses();
      const token = (await now.secret(`${name}-key`))['apiKey'] ?? '';
      const apps = await call(`${api}/v1/apps`, { token });
      const otel = await call(`${api}/v1/otel-config`, { token });
      const states = (apps.body['apps'] as { name: string; status: string }[]).map((app) => [app.name, app.status]);
      return { states, otel: otel.body };
    };
    const underLoad = async (change: () => Promise<unknown>): Promise<readonly string[]> => {
      await using load = new SteadyLoad({ url: `${(await now.addresses()).api}/v1/apps`, tokens: keys });
      await load.goesOn();
      await change();
      await now.settled(2);
      await now.nobodyLeaves();
      await load.goesOn();
      await load.stop();
      process.stdout.write(`${load.summary()}\n`);
      if (load.failures.length > 0) process.stdout.write(`${await now.complaints()}\n`);
      return load.failures.map(({ why }) => why);
    };

    test('loses no request, keeps the data and the secrets, and passes its test', async () => {
      await before.install();
      await before.settled(2);
      expect(await now.image()).toBe(previous.image.name);
      keys = await before.apiKeys(ACCOUNTS);
      await fleet('early');
      const [token, known] = [await now.operatorToken(), await seen('early')];

      expect(await underLoad(() => now.upgrade())).toEqual([]);
      expect(await now.image()).toBe(image.name);
      expect([await now.operatorToken(), await seen('early')]).toEqual([token, known]);
      await now.testPasses();
      await fleet('late');
    });

    test('is taken back where the format of the records is the same, with what was written meanwhile', async () => {
      const known = await Promise.all(['early', 'late'].map(seen));
      if (previous.format === FORMAT) {
        expect(await underLoad(() => now.rollback(1))).toEqual([]);
        expect(await now.image()).toBe(previous.image.name);
      } else {
        // The older pods end instead of reading what they do not know.
        await expect(now.helm('rollback', 'muster', '1', '--wait', '--timeout=90s')).rejects.toThrow();
      }
      expect(await Promise.all(['early', 'late'].map(seen))).toEqual(known);
    });
  });
});
