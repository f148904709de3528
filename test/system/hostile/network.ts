import { spawnSync } from 'node:child_process';

/*
 * With the packets of 65,536 bytes and the buffers of megabytes of the usual loopback, the kernel takes much of an
 * answer that nobody reads; here the process has it. Where the buffers cannot be set, the packets alone are small.
 */
const SET_UP = [
  'ip link set dev lo mtu 1500 up',
  '{ echo 4096 8192 8192 >/proc/sys/net/ipv4/tcp_rmem; echo 4096 16384 65536 >/proc/sys/net/ipv4/tcp_wmem; } 2>/dev/null || true',
  'exec "$@"',
];

/**
 * The words before a command that runs it in a network of its own, which has small packets and small buffers. It takes
 * no privileges, since the network belongs to a user namespace.
 */
export const IN_SMALL_NETWORK: readonly [string, ...string[]] = [
  'unshare',
  '--user',
  '--map-root-user',
  '--net',
  'sh',
  '-c',
  SET_UP.join(' && '),
  'sh',
];

/** Why this machine has no networks of its own; undefined where it has. */
export function whyNoNetwork(): string | undefined {
  const [command, ...words] = [...IN_SMALL_NETWORK, 'true'];
  const { status } = spawnSync(command, words, { stdio: 'ignore' });
  return status === 0 ? undefined : 'a user namespace has no network here, or there is no ip (Debian: iproute2)';
}
