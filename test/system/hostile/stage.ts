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

/** The service that an attack asks for. */
export interface SetUp {
  /** The attacker's account has as many apps and entries of its audit as a page has at most. */
  readonly fullLists?: boolean;
  /** Further variables of the service. */
  readonly env?: Readonly<Record<string, string>>;
  /** Every listener speaks TLS. */
  readonly tls?: boolean;
}

/** Further arguments of the attacker, as JSON. */
export type Arguments = Readonly<Record<string, unknown>>;

interface AttackOptions extends SetUp {
  readonly args?: Arguments;
  /** How long the attack lasts once the attacker says that it is in place. */
  readonly ms?: number | undefined;
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
 * times. The verdict is that each probe was answered rightly and within a second throughout. Attacks that ask for the
 * same set-up meet the same service one after the other; whoever calls this disposes of the last one by `leaveStage`.
 */
export async function withstands(
  name: string,
  { task }: TestContext,
  { args = {}, ms, ...setUp }: AttackOptions = {},
): Promise<AttackFigures> {
  return await timedVerdict(
    async () => {
      try {
        const figures = await (await stageFor(setUp)).attackedBy(name, { args, ms });
        judge(name, args, figures);
        return figures;
      } catch (error) {
        // The attack may have left something there that would be in the way of another one.
        await leaveStage();
        throw error;
      }
    },
    { task },
  );
}

/**
 * The same in a network of its own, with small packets: the attacks come one after the other.
 * @returns how much more of the machine's memory the service had at the end of each
 */
export async function withstandsInNetwork(
  name: string,
  { task }: TestContext,
  setUp: SetUp,
  attacks: readonly Arguments[],
): Promise<readonly number[]> {
  return await timedVerdict(
    async () => {
      const all = await attackedInNetwork(name, setUp, attacks);
      for (const [index, figures] of all.entries()) judge(name, attacks[index] ?? {}, figures);
      return all.map(({ grownMb }) => grownMb);
    },
    { task },
  );
}

function judge(name: string, args: Arguments, figures: AttackFigures): void {
  process.stdout.write(`hostile: ${name} ${JSON.stringify(args).slice(0, 200)}: ${describe(figures)}\n`);
  expect(figures.wrong.slice(0, 10), 'answers that a probe must not get').toEqual([]);
  for (const [probe, worst] of Object.entries(figures.worstMs)) {
    expect(worst / figures.slowdown, `the worst time of ${probe}, in ms`).toBeLessThan(ANSWER_MS_MAX);
  }
}

let last: { readonly setUp: string; readonly stage: Stage } | undefined;

async function stageFor(setUp: SetUp): Promise<Stage> {
  const wanted = JSON.stringify(setUp);
  if (last?.setUp !== wanted) {
    await leaveStage();
    last = { setUp: wanted, stage: await Stage.start(setUp) };
  }
  return last.stage;
}

/** Ends the service of the last attack. */
export async function leaveStage(): Promise<void> {
  const left = last;
  last = undefined;
  await left?.stage[Symbol.asyncDispose]();
}

async function attackedInNetwork(
  name: string,
  setUp: SetUp,
  attacks: readonly Arguments[],
): Promise<readonly AttackFigures[]> {
  const script = join(import.meta.dirname, 'attacked-apart.ts');
  const [command, ...words] = [...IN_SMALL_NETWORK, process.execPath, script, name, JSON.stringify([setUp, attacks])];
  const child = spawn(command, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  guard(child);
  const figures = await text(child.stdout);
  if (figures === '') throw new Error('the attack ended without figures; standard error tells why');
  return JSON.parse(figures) as readonly AttackFigures[];
}

function describe({ worstMs, answers, wrong, slowdown, grownMb }: AttackFigures): string {
  const times = Object.entries(worstMs).map(([probe, worst]) => `${probe} ${worst.toFixed(0)} ms`);
  return `worst of ${answers} answers: ${times.join(', ')}; ${wrong.length} wrong; slowed down ${slowdown.toFixed(1)}; ${grownMb.toFixed(0)} MB more`;
}

interface Staged {
  readonly muster: MusterProcess;
  readonly owner: Tenant;
  readonly credential: string;
  readonly attacker: Omit<Credentials, 'session'>;
  readonly sessions: readonly string[];
}

/** A service in a process of its own with two accounts: one that is probed, and one that belongs to the attacker. */
export class Stage implements AsyncDisposable {
  readonly #muster: MusterProcess;
  readonly #owner: Tenant;
  readonly #credential: string;
  readonly #attacker: Omit<Credentials, 'session'>;
  readonly #sessions: readonly string[];
  #attacks = 0;

  private constructor({ muster, owner, credential, attacker, sessions }: Staged) {
    this.#muster = muster;
    this.#owner = owner;
    this.#credential = credential;
    this.#attacker = attacker;
    this.#sessions = sessions;
  }

  static async start({ env = {}, tls = false, fullLists = false }: SetUp): Promise<Stage> {
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
      accountId,
    };
    const sessions = [await sessionOf(muster, 'ann@example.com'), await sessionOf(muster, 'ben@example.com')];
    if (tls) {
      await muster.end('SIGTERM');
      muster = await MusterProcess.start({ ...all, ...tlsOf(folder) });
    }
    return new Stage({ muster, owner, credential, attacker, sessions });
  }

  async attackedBy(name: string, { args = {}, ms = 3000 }: Omit<AttackOptions, keyof SetUp>): Promise<AttackFigures> {
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
    // A user of the panel has 300 requests in a minute: the next attack is another one's.
    const session = this.#sessions[this.#attacks % this.#sessions.length] ?? '';
    this.#attacks += 1;
    return { api: port(api), device: port(device), ops: port(ops), panel: port(panel), ...this.#attacker, session };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#muster[Symbol.asyncDispose]();
  }
}

/** The cookie of an operator's session. */
async function sessionOf(muster: MusterProcess, login: string): Promise<string> {
  const link = new URL(await userLink(muster, login, 'operator'));
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
