import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { makeCertificates, type Certificates } from '../http/certificates.ts';
import { guard } from '../run/guard.ts';
import { freePorts } from '../service/free-ports.ts';
import { environmentWithout } from './environment-without.ts';

interface EtcdClusterOptions {
  readonly binary: string;
  readonly members?: 1 | 3;
  /** Clients need a certificate of the cluster's authority. */
  readonly tls?: boolean;
  /** Faster, and without the promise that what was acknowledged survives a crash. */
  readonly unsafeNoFsync?: boolean;
  readonly flags?: readonly string[];
  /** Where clients find it; 127.0.0.1 by default. */
  readonly address?: string;
}

/**
 * A real etcd on ports and in a directory of its own, which ends with the block, and with the process at the latest.
 */
export class EtcdCluster implements AsyncDisposable {
  readonly members: readonly EtcdMember[];
  readonly certificates: Certificates | undefined;
  readonly directory: string;

  private constructor(members: readonly EtcdMember[], certificates: Certificates | undefined, directory: string) {
    this.members = members;
    this.certificates = certificates;
    this.directory = directory;
  }

  static async start(options: EtcdClusterOptions): Promise<EtcdCluster> {
    const directory = mkdtempSync(join(tmpdir(), 'muster-etcd-'));
    const certificates = options.tls ? makeCertificates(directory, options.address) : undefined;
    const names = Array.from({ length: options.members ?? 1 }, (_, index) => `m${index}`);
    const peers = (await freePorts(names.length)).map((port) => `http://127.0.0.1:${port}`);
    const ports = await freePorts(names.length, options.address);
    const common = [
      `--initial-cluster=${names.map((name, index) => `${name}=${peers[index]}`).join()}`,
      '--logger=zap',
      '--log-level=info',
      '--log-outputs=stderr',
      ...(options.unsafeNoFsync ? ['--unsafe-no-fsync'] : []),
      ...(certificates?.serverFlags ?? []),
      ...(options.flags ?? []),
    ];
    const members = names.map((name, index) => {
      const url = `${certificates ? 'https' : 'http'}://${options.address ?? '127.0.0.1'}:${ports[index]}`;
      const own = [`--name=${name}`, `--data-dir=${join(directory, name)}`, ...addresses(url, peers[index] ?? '')];
      return new EtcdMember(options.binary, [...own, ...common], url, ports[index] ?? 0);
    });
    const cluster = new EtcdCluster(members, certificates, directory);
    await Promise.all(members.map(async (member) => member.start()));
    return cluster;
  }

  get urls(): string[] {
    return this.members.map(({ url }) => url);
  }

  /** The only member, or the first. */
  get member(): EtcdMember {
    const [first] = this.members;
    if (!first) throw new Error('a cluster has members');
    return first;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.members.map(async (member) => member.kill()));
    rmSync(this.directory, { recursive: true, force: true });
  }
}

export class EtcdMember {
  readonly url: string;
  readonly port: number;
  private readonly binary: string;
  private readonly flags: readonly string[];
  private child: ChildProcess | undefined;

  constructor(binary: string, flags: readonly string[], url: string, port: number) {
    this.binary = binary;
    this.flags = flags;
    this.url = url;
    this.port = port;
  }

  get pid(): number | undefined {
    return this.child?.pid;
  }

  /** Starts it on its data; resolves when it serves clients. */
  async start(): Promise<void> {
    // etcd refuses a flag that a variable has as well.
    const env = environmentWithout(/^ETCD_/);
    const child = spawn(this.binary, this.flags, { stdio: ['ignore', 'ignore', 'pipe'], env });
    this.child = child;
    guard(child);
    const log: string[] = [];
    await new Promise<void>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code) => reject(new Error(`etcd ended with ${code}:\n${log.slice(-20).join('\n')}`)));
      createInterface({ input: child.stderr }).on('line', (line) => {
        if (log.length < LOG_LINES_MAX) log.push(line);
        if (/"serving client traffic/.test(line)) resolve();
      });
    });
  }

  /** Without warning, as a crash. */
  async kill(): Promise<void> {
    await this.end('SIGKILL');
  }

  async stop(): Promise<void> {
    await this.end('SIGTERM');
  }

  /** Alive to the network, and doing nothing. */
  freeze(): void {
    this.child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.child?.kill('SIGCONT');
  }

  private async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const { child } = this;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }
}

const LOG_LINES_MAX = 500;

function addresses(url: string, peer: string): string[] {
  return [
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
  ];
}
