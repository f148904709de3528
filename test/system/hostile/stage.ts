import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { expect, type TestContext } from 'vitest';
import { selfSigned } from '../../support/http/certificates.ts';
import { userLink } from '../../support/panel/seeded-panel.ts';
import { guard } from '../../support/run/guard.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { timedVerdict } from '../../support/run/timed-verdict.ts';
import { MusterProcess } from '../../support/service/muster-process.ts';
import { call, createApp, enroll, tenant, type Tenant } from '../../support/service/muster.ts';
import { seedFullLists, type FullAccount } from './full-lists.ts';
import { IN_SMALL_NETWORK } from './network.ts';
import { Probes, type ProbeFigures } from './probes.ts';

/** The longest time in which a probe must have its answer, whatever an attacker does, on a processor of its own. */
const ANSWER_MS_MAX = 1000;
const ATTACKERS = join(import.meta.dirname, 'attackers');

/** What an attacker may have of its own: an account with an API key and a daemon, and an operator's session. */
interface Credentials {
  readonly apiKey: string;
  readonly credential: string;
  readonly session: string;
  readonly accountId: string;
}

/** The ports of the service, and credentials of another account than the probes'. */
export interface Target extends Credentials {
  readonly api: number;
  readonly device: number;
  readonly ops: number;
  readonly panel: number;
}

/** What an attack asks of the service's set-up, and how long it lasts once the attacker says that it is in place. */
export interface AttackOptions {
  /** The attacker's account has as many apps and entries of its audit as a page has at most. */
  readonly fullLists?: boolean;
  /** Further variables of the service. */
  readonly env?: Readonly<Record<string, string>>;
  /** Every listener speaks TLS. */
  readonly tls?: boolean;
  /** Further arguments of the attacker, as JSON. */
  readonly args?: Readonly<Record<string, unknown>>;
  readonly ms?: number;
}

/** What the probes saw, and the lines that the attacker wrote. */
interface AttackFigures extends ProbeFigures {
  readonly attacker: readonly string[];
  /** How much more of the machine's memory the service had at the end of the attack, in MB. */
  readonly grownMb: number;
  /** How much slower the service was than on a processor of its own, since other processes used it too. */
  readonly slowdown: number;
}

/**
 * Runs a service, its probes and `attackers/NAME.ts`, each in a process of its own but the probes, and prints the worst
 * times. The verdict is that each probe was answered rightly and within a second throughout.
 */
export async function withstands(
  name: string,
  { task }: TestContext,
  { network = false, args = {}, ...rest }: AttackOptions & { readonly network?: boolean } = {},
): Promise<AttackFigures> {
  return await timedVerdict(
    async () => {
      const figures = await (network ? attackedInNetwork : attacked)(name, { ...rest, args });
      process.stdout.write(`hostile: ${name} ${JSON.stringify(args).slice(0, 200)}: ${describe(figures)}\n`);
      expect(figures.wrong.slice(0, 10), 'answers that a probe must not get').toEqual([]);
      for (const [probe, worst] of Object.entries(figures.worstMs)) {
        expect(worst / figures.slowdown, `the worst time of ${probe}, in ms`).toBeLessThan(ANSWER_MS_MAX);
      }
      return figures;
    },
    { task },
  );
}

/** Runs the service, its probes and the attacker. */
export async function attacked(name: string, options: AttackOptions): Promise<AttackFigures> {
  await using stage = await Stage.start(options);
  return await stage.attackedBy(name, options);
}

/** The same in a network of their own, with small packets. */
async function attackedInNetwork(name: string, options: AttackOptions): Promise<AttackFigures> {
  const script = join(import.meta.dirname, 'attacked-apart.ts');
  const [command, ...words] = [...IN_SMALL_NETWORK, process.execPath, script, name, JSON.stringify(options)];
  const child = spawn(command, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  guard(child);
  const figures = await text(child.stdout);
  if (figures === '') throw new Error('the attack ended without figures; standard error tells why');
  return JSON.parse(figures) as AttackFigures;
}

function describe({ worstMs, answers, wrong, slowdown, grownMb }: AttackFigures): string {
  const times = Object.entries(worstMs).map(([probe, worst]) => `${probe} ${worst.toFixed(0)} ms`);
  return `worst of ${answers} answers: ${times.join(', ')}; ${wrong.length} wrong; slowed down ${slowdown.toFixed(1)}; ${grownMb.toFixed(0)} MB more`;
}

/** A service in a process of its own with two accounts: one that is probed, and one that belongs to the attacker. */
class Stage implements AsyncDisposable {
  readonly #muster: MusterProcess;
  readonly #owner: Tenant;
  readonly #credential: string;
  readonly #attacker: Credentials;

  private constructor(muster: MusterProcess, owner: Tenant, credential: string, attacker: Credentials) {
    this.#muster = muster;
    this.#owner = owner;
    this.#credential = credential;
    this.#attacker = attacker;
  }

  static async start({ env = {}, tls = false, fullLists = false }: AttackOptions): Promise<Stage> {
    const folder = scratchDirectory('hostile');
    const all = { MUSTER_DATA_DIR: folder, MUSTER_DEVICE_RATE_PER_MINUTE: '100000', ...env };
    let muster = await MusterProcess.start(all);
    let full: FullAccount | undefined;
    if (fullLists) {
      // It has made its key file, which belongs to a new store.
      await muster.end('SIGTERM');
      full = await seedFullLists(folder);
      muster = await MusterProcess.start(all);
    }
    const [owner, { apiKey, accountId }] = [await tenant(muster), full ?? (await tenant(muster))];
    const credential = await enroll(muster, await createApp(muster, owner.apiKey));
    const attacker = {
      apiKey,
      credential: full?.credential ?? (await enroll(muster, await createApp(muster, apiKey))),
      session: await sessionOf(muster),
      accountId,
    };
    if (!tls) return new Stage(muster, owner, credential, attacker);
    await muster.end('SIGTERM');
    const encrypted = await MusterProcess.start({ ...all, ...tlsOf(folder) });
    return new Stage(encrypted, owner, credential, attacker);
  }

  async attackedBy(name: string, { args, ms = 3000 }: AttackOptions): Promise<AttackFigures> {
    const probes = await Probes.start(this.#muster, this.#owner.apiKey, this.#credential);
    const before = processorTime(this.#muster.pid);
    const residentBefore = residentMb(this.#muster.pid);
    await using attacker = await Attacker.start(name, { ...this.#target(), ...args });
    await attacker.isInPlace();
    await probes.forMs(ms);
    const after = processorTime(this.#muster.pid);
    const slowdown = 1 + (after.waited - before.waited) / Math.max(1, after.ran - before.ran);
    const grownMb = residentMb(this.#muster.pid) - residentBefore;
    return { ...(await probes.stop()), attacker: attacker.lines, slowdown, grownMb };
  }

  #target(): Target {
    const port = (url: string): number => Number(new URL(url).port);
    const { api, device, ops, panel } = this.#muster;
    return { api: port(api), device: port(device), ops: port(ops), panel: port(panel), ...this.#attacker };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#muster[Symbol.asyncDispose]();
  }
}

/** The cookie of an operator's session. */
async function sessionOf(muster: MusterProcess): Promise<string> {
  const link = new URL(await userLink(muster, 'ann@example.com', true));
  const body = { token: link.hash.slice(1), password: 'otter lamp quietly folds maps' };
  const accepted = await call(`${muster.panel}/panel/v1/links/accept`, {
    method: 'POST',
    body,
    headers: { origin: muster.panel, 'content-type': 'application/json' },
  });
  const token = accepted.headers.getSetCookie().map((field) => /^muster_\d+=([^;]+)/.exec(field)?.[1]);
  return token.find((value) => value !== undefined) ?? '';
}

/** The memory that the process has; 0 where no system tells it. */
function residentMb(pid: number): number {
  try {
    const [, kilobytes = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kilobytes) / 1024;
  } catch {
    return 0;
  }
}

function tlsOf(folder: string): Record<string, string> {
  selfSigned(folder, 'hostile');
  const [cert, key] = [join(folder, 'hostile.crt'), join(folder, 'hostile.key')];
  const variables = ['API', 'DEVICE', 'OPS', 'PANEL'].flatMap((name) => [
    [`MUSTER_${name}_TLS_CERT_FILE`, cert],
    [`MUSTER_${name}_TLS_KEY_FILE`, key],
  ]);
  return Object.fromEntries(variables) as Record<string, string>;
}

/** How long the process ran, and how long it could have but waited for a processor; zeros where no system tells it. */
function processorTime(pid: number | undefined): { readonly ran: number; readonly waited: number } {
  try {
    const [ran = 0, waited = 0] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ').map(Number);
    return { ran, waited };
  } catch {
    return { ran: 0, waited: 0 };
  }
}

/** A script that attacks until it is killed. Its first line says that the attack is in place. */
class Attacker implements AsyncDisposable {
  readonly lines: string[] = [];
  readonly #child: ReturnType<typeof spawn>;
  readonly #first: Promise<void>;

  private constructor(child: ReturnType<typeof spawn>, first: Promise<void>) {
    this.#child = child;
    this.#first = first;
  }

  static async start(name: string, args: object): Promise<Attacker> {
    const script = join(ATTACKERS, `${name}.ts`);
    const child = spawn(process.execPath, [script, JSON.stringify(args)], { stdio: ['ignore', 'pipe', 'inherit'] });
    guard(child);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const attacker = new Attacker(child, promise);
    promise.catch(() => undefined);
    child.once('exit', (code) => reject(new Error(`the attacker ${name} ended with ${code}`)));
    createInterface({ input: child.stdout }).on('line', (line) => {
      attacker.lines.push(line);
      resolve();
    });
    await once(child, 'spawn');
    return attacker;
  }

  isInPlace(): Promise<void> {
    return this.#first;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }
}
