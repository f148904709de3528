import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The paths of two PEM files. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

interface Subject {
  readonly name: string;
  /** The subject in the syntax of openssl: `/O=group/CN=user`. */
  readonly subject: string;
  /** `DNS:…` and `IP:…`: a server's certificate where there are any, else a client's. */
  readonly hosts?: readonly string[];
}

/**
 * A certificate authority of a cluster's own, in a folder of its own, valid for two days; the one that is there, if
 * any.
 */
export class Authority {
  readonly certificate: string;
  readonly key: string;
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    this.certificate = join(folder, 'ca.crt');
    this.key = join(folder, 'ca.key');
    if (existsSync(this.certificate)) return;
    const use = ['-addext', 'basicConstraints=critical,CA:TRUE', '-addext', 'keyUsage=critical,keyCertSign,cRLSign'];
    this.#openssl(
      'req',
      '-x509',
      ...NEW_KEY,
      '-keyout',
      'ca.key',
      '-out',
      'ca.crt',
      ...VALID,
      '-subj',
      '/CN=ca',
      ...use,
    );
  }

  get pem(): string {
    return readFileSync(this.certificate, 'utf8');
  }

  issue({ name, subject, hosts = [] }: Subject): KeyPair {
    const extensions = [`extendedKeyUsage=${hosts.length > 0 ? 'serverAuth' : 'clientAuth'}`];
    extensions.push('keyUsage=critical,digitalSignature');
    if (hosts.length > 0) extensions.push(`subjectAltName=${hosts.join()}`);
    writeFileSync(join(this.#folder, `${name}.ext`), `${extensions.join('\n')}\n`);
    this.#openssl('req', '-new', ...NEW_KEY, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', subject);
    // A number by chance, since several processes may issue at once.
    const serial = ['-set_serial', `0x${randomBytes(8).toString('hex')}`];
    const signed = ['-CA', 'ca.crt', '-CAkey', 'ca.key', ...serial, ...VALID, '-extfile', `${name}.ext`];
    this.#openssl('x509', '-req', '-in', `${name}.csr`, ...signed, '-out', `${name}.crt`);
    return { certificate: join(this.#folder, `${name}.crt`), key: join(this.#folder, `${name}.key`) };
  }

  /** Signs service accounts' tokens: `<name>.key`, and `<name>.pub` to check them. */
  issueTokenKey(name: string): { readonly key: string; readonly publicKey: string } {
    this.#openssl('genrsa', '-out', `${name}.key`, '2048');
    this.#openssl('rsa', '-in', `${name}.key`, '-pubout', '-out', `${name}.pub`);
    return { key: join(this.#folder, `${name}.key`), publicKey: join(this.#folder, `${name}.pub`) };
  }

  #openssl(...args: string[]): void {
    execFileSync('openssl', args, { cwd: this.#folder, stdio: 'pipe' });
  }
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
const VALID = ['-days', '2'];
