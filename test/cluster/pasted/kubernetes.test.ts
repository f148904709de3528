import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { Pasted, putPrograms } from '../../support/panel/pasted.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { findChromium, NO_CHROMIUM } from '../../system/browser/chromium.ts';
import { openPage, openWorld, type PanelWorld } from '../../system/panel/panel-browser.ts';
import type { ApiAccess } from '../support/api-access.ts';
import { sharedPlane } from '../support/control-plane/shared-plane.ts';
import { describeOn, toolPath } from '../support/control-plane/tools.ts';
import { Namespace } from '../support/operated.ts';

/* The commands of the panel for a daemon in Kubernetes, as they stand in its dialog, on a real API server. */

const chromium = findChromium();
const title = `a daemon’s pod by the panel’s commands${chromium === undefined ? ` (skipped: ${NO_CHROMIUM})` : ''}`;

const SET = z.object({
  spec: z.object({
    template: z.object({
      metadata: z.looseObject({}),
      spec: z.looseObject({
        containers: z.tuple([z.looseObject({ image: z.string(), args: z.array(z.string()) })]),
        volumes: z.array(z.looseObject({})),
      }),
    }),
  }),
});

describeOn('control plane', title, () => {
  let plane: ApiAccess;
  let team: Namespace;
  let world: PanelWorld | undefined;
  let folder: string;
  beforeAll(async () => {
    plane = await sharedPlane();
    team = await Namespace.create(plane, 'pasted');
    folder = scratchDirectory('muster-pasted');
    if (chromium !== undefined) world = await openWorld(chromium, 1);
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
    await plane[Symbol.asyncDispose]();
  });

  test.skipIf(chromium === undefined)('is taken, also where pods are restricted, and its daemon comes', async () => {
    if (!world) return;
    const { muster, account, page } = world;
    const kubectl = `#!/bin/sh\nexec '${toolPath('kubectl')}' --namespace '${team.name}' "$@"\n`;
    putPrograms(folder, { kubectl });
    const env = { KUBECONFIG: plane.kubeconfig };
    await openPage(page, muster, `/accounts/${account.accountId}/apps?new=daemon&by=kubernetes`, /edge-001/);
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('a pod');
    await dialog.getByLabel('Name').press('Enter');
    const code = await dialog.locator('.secret code').innerText();
    const [create = '', forget = ''] = await dialog.locator('pre.command').allInnerTexts();
    const appId = /muster-([a-z0-9]{20})/.exec(create)?.[1] ?? '';
    expect(create).not.toContain(code);

    const created = new Pasted(create, { folder, env }, code);
    expect([await created.ended, created.said]).toEqual([0, created.said]);
    expect((await team.secret(`muster-${appId}`, 'enrollCode'))?.trim()).toBe(code);
    const told: unknown = JSON.parse(await team.kubectl(['get', 'statefulset', `muster-${appId}`, '--output', 'json']));
    const { template } = SET.parse(told).spec;
    await team.kubectl(['label', 'namespace', team.name, 'pod-security.kubernetes.io/enforce=restricted']);
    const volumes = [...template.spec.volumes, { name: 'state', emptyDir: {} }];
    const pod = {
      ...template,
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'one' },
      spec: { ...template.spec, volumes },
    };
    await team.kubectl(['create', '--dry-run=server', '--filename', '-'], JSON.stringify(pod));

    // The container, with its volumes in this folder.
    for (const name of ['code', 'state']) mkdirSync(join(folder, name));
    writeFileSync(join(folder, 'code', 'enrollCode'), `${code}\n`);
    const [{ args }] = template.spec.containers;
    const words = args.map((word) => word.replace('/run/code', 'code').replace('/var/lib/muster', 'state'));
    await using running = new Pasted(`muster ${words.join(' ')}`, { folder });
    const milestones = () => dialog.locator('.milestones').innerText();
    await expect.poll(milestones, { message: running.said }).toContain('Configuration applied: revision');

    const forgotten = new Pasted(forget, { folder, env });
    expect([await forgotten.ended, forgotten.said]).toEqual([0, forgotten.said]);
    expect(await team.get('secret', `muster-${appId}`)).toBeUndefined();
  });
});
