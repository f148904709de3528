import { args, inPlace, open } from './attacker.ts';

/*
 * Scrapes without end, without a credential. Each connection has sixteen under way, reads what comes, and asks anew
 * about as often as it was answered.
 */
const { ops, connections } = args();
const SCRAPE = 'GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n';
for (let number = 0; number < connections; number += 1) {
  const socket = await open(ops, { reads: true });
  socket.on('data', (bytes: Buffer) => {
    const answers = bytes.toString('latin1').split('HTTP/1.1 200').length - 1;
    socket.write(SCRAPE.repeat(answers));
  });
  socket.write(SCRAPE.repeat(16));
}
inPlace();
