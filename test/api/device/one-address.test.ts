import { expect, test } from 'vitest';
import { connectRaw, type RawConnection } from '../../support/http/raw-http.ts';
import { metric } from '../../support/service/daemon.ts';
import { createApp, enroll, Muster, tenant } from '../../support/service/muster.ts';

/* A site whose daemons all come from the address of one NAT: the bound of an address is for strangers. */

const DAEMONS = 1_000;
const CREDENTIALS = 20;
const STRANGERS_MAX = 40;
/** Daemons that connect at once; fetch has connections of its own. */
const AT_ONCE = 25;

async function statusOfPoll(connection: RawConnection, credential: string): Promise<number> {
  await connection.send(
    `GET /device/v1/config HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${credential}\r\nConnection: keep-alive\r\n\r\n`,
  );
  return (await connection.answer()).status;
}

test('1,000 valid daemons behind one address all poll, each on its connection, again and again', async () => {
  await using muster = await Muster.start({
    env: {
      MUSTER_DEVICE_CONNECTIONS_PER_ADDRESS: String(STRANGERS_MAX),
      MUSTER_DEVICE_RATE_PER_MINUTE: '100000',
    },
  });
  const { apiKey } = await tenant(muster);
  const credentials: string[] = [];
  for (let made = 0; made < CREDENTIALS; made += 1) {
    credentials.push(await enroll(muster, await createApp(muster, apiKey, `app ${made}`)));
  }
  const credentialOf = (daemon: number): string => credentials[daemon % CREDENTIALS] ?? '';
  await using opened = new AsyncDisposableStack();
  const connections: RawConnection[] = [];
  while (connections.length < DAEMONS) {
    const first = connections.length;
    const some = await Promise.all(
      Array.from({ length: AT_ONCE }, async (_, index) => {
        const connection = await connectRaw(muster.service.device.port);
        expect(await statusOfPoll(connection, credentialOf(first + index))).toBe(200);
        return connection;
      }),
    );
    for (const connection of some) connections.push(opened.use(connection));
  }
  const again = await Promise.all(
    connections.map((connection, index) => statusOfPoll(connection, credentialOf(index))),
  );
  expect(again.filter((status) => status === 200)).toHaveLength(DAEMONS);
  const rejected = 'muster_http_rejected_total{listener="device",why="address_bound"}';
  expect(await metric(muster, rejected)).toBe(0);
});
