import { expect, test } from 'vitest';
import { ask, panelMuster, signedIn } from '../../../support/panel/panel-users.ts';
import { Muster } from '../../../support/service/muster.ts';
import { VERSION } from '../../../../src/version.ts';

/* The addresses that the panel's commands name: what an operator has set, else the listeners', never `Host`. */

async function addressesOf(env: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>> = {}) {
  await using panel = await panelMuster({ fresh: (options) => Muster.start(options) }, { env });
  const { status, body } = await ask(panel, await signedIn(panel.store), '/addresses', { headers });
  expect(status).toBe(200);
  const { api, device } = panel.muster.service;
  return { body, api: api.port, device: device.port };
}

test('they are those of the listeners, with the ports that the system chose, whatever a request says', async () => {
  const forwarded = { 'x-forwarded-host': 'elsewhere.example.com', 'x-forwarded-proto': 'https' };
  const { body, api, device } = await addressesOf({}, forwarded);
  expect(body).toEqual({
    api: { url: `http://127.0.0.1:${api}`, configured: false },
    device: { url: `http://127.0.0.1:${device}`, configured: false },
    opampUrl: `http://127.0.0.1:${device}/v1/opamp`,
    image: `muster:${VERSION}`,
  });
});

test('a listener on every address is reached at the machine’s own', async () => {
  const { body, device } = await addressesOf({ MUSTER_DEVICE_LISTEN: '0.0.0.0:0', MUSTER_OPAMP_PATH: '/agents' });
  expect(body).toMatchObject({
    device: { url: `http://127.0.0.1:${device}`, configured: false },
    opampUrl: `http://127.0.0.1:${device}/agents`,
  });
});

test('what an operator has set comes first, each by itself, and agents of OpAMP follow the devices', async () => {
  const { body, api } = await addressesOf({ MUSTER_PUBLIC_DEVICE_URL: 'https://example.com/devices/' });
  expect(body).toMatchObject({
    api: { url: `http://127.0.0.1:${api}`, configured: false },
    device: { url: 'https://example.com/devices', configured: true },
    opampUrl: 'https://example.com/devices/v1/opamp',
  });
  const both = await addressesOf({
    MUSTER_PUBLIC_API_URL: 'https://api.example.com',
    MUSTER_OPAMP_URL: 'https://agents.example.com/opamp',
  });
  expect(both.body).toMatchObject({
    api: { url: 'https://api.example.com', configured: true },
    device: { configured: false },
    opampUrl: 'https://agents.example.com/opamp',
  });
});

test('whoever is not signed in learns nothing of them', async () => {
  await using panel = await panelMuster();
  expect((await ask(panel, undefined, '/addresses')).status).toBe(401);
});
