import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { scratchDirectory } from '../support/run/scratch-directory.ts';
import { musterHere } from '../support/service/muster-command.ts';
import { KEY_FILE_TEXT, Muster, OPERATOR_TOKEN } from '../support/service/muster.ts';
import { at, describeWithHelm, listAt, one, render } from './support/render.ts';

/* `helm test`: its command, with the environment that the chart gives it. */

let mounted: string;
beforeAll(() => {
  mounted = scratchDirectory('muster-chart');
  writeFileSync(join(mounted, 'keys'), KEY_FILE_TEXT, { mode: 0o600 });
  writeFileSync(join(mounted, 'operator-token'), OPERATOR_TOKEN, { mode: 0o600 });
});
afterAll(() => rmSync(mounted, { recursive: true }));

describeWithHelm('helm test of the trial', () => {
  test('finds the service well, from a pod that does not mount the data', async () => {
    const container = at(one(await render(), 'Pod', 'muster-test'), 'spec', 'containers', 0);
    const mounts = listAt(container, 'volumeMounts').map((mount) => at(mount, 'mountPath'));
    expect(mounts).not.toContain('/var/lib/muster');
    await using muster = await Muster.start();
    // No directory can be made below a file, as none can in a file system that is read-only.
    const paths = { '/etc/muster/secrets': mounted, '/var/lib/muster': join(mounted, 'keys', 'read-only') };
    const here = (value: string): string =>
      Object.entries(paths).reduce((text, [path, other]) => text.replaceAll(path, other), value);
    const env = Object.fromEntries(
      listAt(container, 'env').map((variable) => [String(at(variable, 'name')), here(String(at(variable, 'value')))]),
    );
    expect(env['MUSTER_CLIENT_OPS_URL']).toBe('http://muster-ops:8082');
    const args = listAt(container, 'args').map(String);
    const { code, stdout } = await musterHere(args, { ...env, MUSTER_CLIENT_OPS_URL: muster.ops });
    expect([code, stdout]).toEqual([0, expect.not.stringMatching(/^warn|^fail/m)]);
  });
});
