import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run, ToolError } from './container-tool.ts';

/*
 * Signatures by cosign, with a key of the operator's: a file, or the address of a key that a service holds. The
 * password of a file is in COSIGN_PASSWORD, which cosign reads itself. What is signed is read back by the public key.
 */

interface Signing {
  /** What cosign takes for `--key`. */
  readonly key: string;
  /** Whether the registry is spoken to by plain HTTP. */
  readonly plainHttp: boolean;
  /** Whether each signature is written to the public log, which names what is signed to everybody and for good. */
  readonly transparencyLog: boolean;
  /** `cosign` by default. */
  readonly program?: string;
}

export class Cosign {
  readonly #signing: Signing;
  readonly #publicKey: string;

  /**
   * @param work a folder that is the caller's own
   * @throws ToolError where cosign is not there, or cannot use the key
   */
  constructor(signing: Signing, work: string) {
    this.#signing = signing;
    this.#publicKey = join(work, 'cosign.pub');
    const [publicKey] = /-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----\n/.exec(
      this.#run('public-key', '--key', signing.key),
    ) ?? [''];
    if (publicKey === '') throw new ToolError(`cosign tells no public key of ${signing.key}.`);
    writeFileSync(this.#publicKey, publicKey);
  }

  /** Signs what a digest names in a registry, where it has no signature of this key. @throws ToolError */
  sign(reference: string): void {
    if (this.#holds(() => this.#verify('verify', reference))) return;
    this.#run('sign', '--yes', ...this.#signs, ...this.#transport, reference);
    this.#verify('verify', reference);
  }

  /** Attests the bill of materials of an image, where it has none by this key. @throws ToolError */
  attest(reference: string, bill: string): void {
    const type = ['--type', 'cyclonedx'];
    if (this.#holds(() => this.#verify('verify-attestation', ...type, reference))) return;
    this.#run('attest', '--yes', ...this.#signs, ...this.#transport, ...type, '--predicate', bill, reference);
    this.#verify('verify-attestation', ...type, reference);
  }

  /** Signs a file; the signature lies beside it. @throws ToolError */
  signFile(file: string): void {
    const bundle = ['--bundle', `${file}.sig.json`];
    this.#run('sign-blob', '--yes', ...this.#signs, ...bundle, file);
    this.#run('verify-blob', '--key', this.#publicKey, ...this.#judged, ...bundle, file);
  }

  #verify(how: 'verify' | 'verify-attestation', ...args: readonly string[]): void {
    this.#run(how, '--key', this.#publicKey, ...this.#judged, ...this.#transport, ...args);
  }

  #holds(verify: () => void): boolean {
    try {
      verify();
      return true;
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      return false;
    }
  }

  get #signs(): readonly string[] {
    const log = this.#signing.transparencyLog ? [] : ['--use-signing-config=false', '--tlog-upload=false'];
    return ['--key', this.#signing.key, OWN_FORMAT, ...log];
  }

  get #judged(): readonly string[] {
    return this.#signing.transparencyLog ? [OWN_FORMAT] : [OWN_FORMAT, '--insecure-ignore-tlog=true'];
  }

  get #transport(): readonly string[] {
    return this.#signing.plainHttp ? ['--allow-http-registry'] : [];
  }

  #run(...args: string[]): string {
    return run(this.#signing.program ?? 'cosign', args);
  }
}

/** The newer format is judged with a root that comes from the internet, for a key of one's own as well. */
const OWN_FORMAT = '--new-bundle-format=false';
