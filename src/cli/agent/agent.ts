import { DeviceClient, MusterError, type AcknowledgeConfigRequest, type DeviceConfig } from '#client';
import { Application, type Target } from './application.ts';
import { enrolledIdentity, type Enrollment } from './enrollment.ts';
import { changedMs, outageBackoffMs, refusedMs, unchangedMs } from './pace.ts';
import { AgentFault, type Surroundings } from './surroundings.ts';
import { isFinal, isRefusal, metWords } from './verdicts.ts';

/*
 * The reference daemon: enrolls, polls for its configuration, carries it out and acknowledges it, whatever happens in
 * between, until the signal aborts.
 */

export interface AgentOptions extends Enrollment, Target {
  /** The address of the device listener. */
  readonly url: string;
  /** Sends its requests; without it that of the platform. */
  readonly fetch?: typeof fetch;
}

const INSTANCE_BYTES = 16;
/** How long the service may hold a poll: the most that it takes. */
const WAIT_SECONDS = 50;
/** The codes of the client that no later try mends. */
const ENDING: ReadonlySet<string> = new Set(['aborted', 'invalid_argument']);
/** The client has tried again for about so long when an outage is told. */
const TOLD_FROM_ATTEMPT = 3;

/**
 * Runs the daemon; with `once`, one poll and what it brings.
 * @throws AgentFault; MusterError `invalid_argument`; the system's error of the credential file
 */
export async function runAgent(options: AgentOptions, surroundings: Surroundings, signal: AbortSignal): Promise<void> {
  try {
    const outage = new Outage(surroundings.say);
    const device = new DeviceClient({
      url: options.url,
      fetch: options.fetch,
      random: surroundings.jitter,
      onRetry: ({ attempt, error }) => attempt >= TOLD_FROM_ATTEMPT && outage.began(error),
    });
    const { credential } = await enrolledIdentity(device, options, surroundings, signal);
    device.useCredential(credential);
    const daemon = new Daemon(device, options, surroundings, outage);
    if (options.once) await daemon.once(signal);
    else while (!signal.aborted) await daemon.turn(signal);
  } catch (error) {
    // An error after the signal is the end that was asked for.
    if (!signal.aborted) throw error;
  }
}

/** Tells an outage once when it begins and once when it is over. */
class Outage {
  readonly #say: (text: string) => void;
  #lasts = false;
  #isConfigured = false;

  constructor(say: (text: string) => void) {
    this.#say = say;
  }

  began(error: MusterError): void {
    const has = this.#isConfigured ? 'goes on with what it has' : 'has received no configuration since its start';
    if (!this.#lasts) this.#say(`The service does not answer: ${metWords(error)} The daemon ${has}.`);
    this.#lasts = true;
  }

  /** Notes that there is a configuration to go on with. */
  configured(): void {
    this.#isConfigured = true;
  }

  ended(): void {
    if (this.#lasts) this.#say('The service answers again.');
    this.#lasts = false;
  }
}

class Daemon {
  readonly #device: DeviceClient;
  readonly #options: AgentOptions;
  readonly #surroundings: Surroundings;
  readonly #outage: Outage;
  readonly #application: Application;
  /** Made at each start and kept nowhere, so that a cloned machine has another one. */
  readonly #instanceId: string;
  #etag: string | undefined;
  #config: DeviceConfig | undefined;
  /** The acknowledgement of the configuration; undefined while its outcome is not known. */
  #outcome: AcknowledgeConfigRequest | undefined;
  /** The facts that the service was told last. */
  #told: AcknowledgeConfigRequest | undefined;
  /** The last acknowledgement was not taken, and is sent again. */
  #isTellingLate = false;
  /** How often the configuration was tried again. */
  #tries = 0;
  #failures = 0;
  /** Polls in a row that brought a change and were not held. */
  #unheld = 0;
  #isRefused = false;

  constructor(device: DeviceClient, options: AgentOptions, surroundings: Surroundings, outage: Outage) {
    this.#device = device;
    this.#options = options;
    this.#surroundings = surroundings;
    this.#outage = outage;
    this.#instanceId = surroundings.randomBytes(INSTANCE_BYTES).toString('hex');
    this.#application = new Application(options, surroundings);
  }

  /** One poll, and what it brings. @throws AgentFault where that does not succeed */
  async once(signal: AbortSignal): Promise<void> {
    try {
      await this.#poll(0, signal);
      await this.#work(signal);
    } catch (error) {
      if (!(error instanceof MusterError)) throw error;
      if (!isRefusal(error)) throw new AgentFault('failed', metWords(error));
      const isOfFile = error.code === 'invalid_credential';
      const from = isOfFile ? ` The credential is from ${this.#options.credentialFile}.` : '';
      throw new AgentFault('refused', `${metWords(error)}${from}`);
    }
    if (this.#outcome?.status === 'failed') throw new AgentFault('failed', failedWords(this.#outcome));
  }

  /** One poll, what it brings, and the pause until the next one. */
  async turn(signal: AbortSignal): Promise<void> {
    const { clock } = this.#surroundings;
    try {
      const startedAt = clock.monotonic();
      const { changed, retryAfterSeconds } = await this.#poll(this.#waitSeconds(), signal);
      this.#answered();
      const tookMs = clock.monotonic() - startedAt;
      await this.#work(signal);
      this.#unheld = changed && retryAfterSeconds !== undefined ? this.#unheld + 1 : 0;
      const pauseMs = changed ? changedMs(retryAfterSeconds, this.#unheld) : unchangedMs(retryAfterSeconds, tookMs);
      if (pauseMs > 0) await clock.sleep(pauseMs, signal);
    } catch (error) {
      if (!(error instanceof MusterError) || ENDING.has(error.code)) throw error;
      await clock.sleep(this.#pauseAfter(error), signal);
    }
  }

  async #poll(
    waitSeconds: number,
    signal: AbortSignal,
  ): Promise<{ readonly changed: boolean; readonly retryAfterSeconds?: number | undefined }> {
    const { platform, agentVersion } = this.#options;
    const polled = await this.#device.pollConfig({
      waitSeconds,
      platform,
      agentVersion,
      instanceId: this.#instanceId,
      signal,
      ...(this.#etag !== undefined && { etag: this.#etag }),
      ...(this.#config && { config: this.#config }),
    });
    if (polled.changed) {
      this.#etag = polled.etag;
      this.#config = polled.config;
      this.#outage.configured();
      this.#outcome = undefined;
      this.#tries = 0;
    }
    return polled;
  }

  /** The rest is tried again after the next poll, which is held for 1 s, 2 s, 4 s and so on. */
  #waitSeconds(): number {
    const isDone = this.#outcome?.status === 'applied' && this.#told === this.#outcome;
    this.#tries = isDone || !this.#config ? 0 : this.#tries + 1;
    return this.#tries === 0 ? WAIT_SECONDS : Math.min(WAIT_SECONDS, 2 ** (this.#tries - 1));
  }

  /**
   * Carries out what is not carried out yet, and tells what is not told yet; what fails is tried again after a poll.
   */
  async #work(signal: AbortSignal): Promise<void> {
    if (!this.#config) return;
    if (this.#outcome?.status !== 'applied') {
      const outcome = await this.#application.apply(this.#config, signal);
      if (signal.aborted) return;
      // A failure that goes on is told once.
      if (!this.#outcome || outcome.error !== this.#outcome.error) {
        this.#outcome = outcome;
        this.#surroundings.say(outcome.status === 'applied' ? appliedWords(outcome) : failedWords(outcome));
      }
    }
    if (this.#outcome && this.#told !== this.#outcome) await this.#acknowledge(this.#outcome, signal);
  }

  async #acknowledge(outcome: AcknowledgeConfigRequest, signal: AbortSignal): Promise<void> {
    try {
      await this.#device.acknowledgeConfig(outcome, { signal });
      this.#told = outcome;
      this.#isTellingLate = false;
    } catch (error) {
      if (!(error instanceof MusterError) || ENDING.has(error.code) || isRefusal(error)) throw error;
      const isGivenUp = isFinal(error);
      if (isGivenUp) this.#told = outcome;
      // The service may answer polls and take no acknowledgement, as one with a full store does.
      if (!this.#isTellingLate) this.#surroundings.say(`The acknowledgement is not taken: ${metWords(error)}`);
      this.#isTellingLate = !isGivenUp;
    }
  }

  #answered(): void {
    this.#failures = 0;
    this.#outage.ended();
    if (this.#isRefused) this.#surroundings.say('The service takes the credential again.');
    this.#isRefused = false;
  }

  /** Milliseconds. */
  #pauseAfter(error: MusterError): number {
    const { say, jitter } = this.#surroundings;
    if (isRefusal(error)) {
      if (!this.#isRefused) say(refusedWords(error, this.#options));
      this.#isRefused = true;
      return refusedMs(error.retryAfterSeconds, jitter);
    }
    this.#failures += 1;
    this.#outage.began(error);
    return outageBackoffMs(this.#failures, error.retryAfterSeconds, jitter);
  }
}

const appliedWords = ({ revision }: AcknowledgeConfigRequest): string => `Configuration ${revision} is applied.`;
const failedWords = ({ revision, error }: AcknowledgeConfigRequest): string =>
  `Configuration ${revision} is not applied: ${error ?? ''}.`;

/** Only the owner can change that, so the daemon asks again, as rarely as the service says, and keeps what it has. */
function refusedWords({ code }: MusterError, { credentialFile }: AgentOptions): string {
  if (code === 'account_disabled') return 'The account is disabled. The daemon asks again now and then.';
  return (
    `The service refuses the credential of ${credentialFile}: the app was revoked, deleted or enrolled anew. The daemon asks ` +
    'again now and then. To enroll it anew, stop it, remove that file and start it with a new code.'
  );
}
