import type { Socket } from 'node:net';
import type { Target } from '../stage.ts';
import { inPlace, open } from './attacker.ts';

/*
 * One device holds a poll on each of many connections, and asks again at once where one was answered. After the attack
 * is in place each line says how many polls the service held, as its own metric tells, at most.
 */
const SAMPLE_MS = 250;
const { device, ops, credential, connections } = JSON.parse(process.argv[2] ?? '') as Target & { connections: number };
const poll = (more = ''): string =>
  `GET /device/v1/config HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${credential}\r\n${more}\r\n`;
/** So soon a connection that was answered asks again, whatever its answer says of when. */
const AGAIN_MS = 1000;

async function heldNow(): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${ops}/metrics`)).text();
  return Number(/^muster_held_polls (\d+)$/m.exec(text)?.[1]);
}

const first = await open(device, { reads: true });
const etag = await new Promise<string>((resolve) => {
  first.on('data', (answer: Buffer) => resolve(/\r\netag: ([^\r]+)/i.exec(answer.toString('latin1'))?.[1] ?? ''));
  first.write(poll());
});
const held = poll(`If-None-Match: ${etag}\r\nPrefer: wait=50\r\n`);
const holding: Socket[] = [];
for (let number = 0; number < connections; number += 1) {
  const socket = await open(device, { reads: true });
  socket.on('data', () => setTimeout(() => socket.write(held), AGAIN_MS));
  socket.write(held);
  holding.push(socket);
}
inPlace({ held: await heldNow(), connections: holding.length });
setInterval(() => void heldNow().then((now) => inPlace({ held: now })), SAMPLE_MS);
