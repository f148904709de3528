import { args, inPlace, openMany } from './attacker.ts';

/* Connections that have asked once, and then keep their place. */
const { connections, ...target } = args();
await openMany(target[target.listener], connections, (socket) => {
  socket.write('GET /livez HTTP/1.1\r\nHost: a\r\n\r\n');
});
inPlace();
