import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Certificates {
  /** Where they lie. */
  readonly directory: string;
  readonly ca: Buffer;
  readonly certificate: Buffer;
  readonly key: Buffer;
  /** For etcd: serve with a certificate and ask for one. */
  readonly serverFlags: readonly string[];
}

/** An authority with one certificate for 127.0.0.1 and the address, and one for a client, valid for a day. */
export function makeCertificates(directory: string, address = '127.0.0.1'): Certificates {
  const file = (name: string) => join(directory, name);
  const openssl = (...parameters: string[]) => execFileSync('openssl', parameters, { cwd: directory, stdio: 'pipe' });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl(
    'req',
    '-x509',
    ...newKey,
    '-keyout',
    'ca.key',
    '-out',
    'ca.crt',
    '-days',
    '1',
    '-subj',
    '/CN=test authority',
  );
  const issue = (name: string, usage: string) => {
    const extensions = `subjectAltName=IP:127.0.0.1,IP:${address}\nextendedKeyUsage=${usage}\n`;
    writeFileSync(file(`${name}.ext`), extensions);
    openssl('req', ...newKey, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`);
    const authority = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '1'];
    openssl('x509', '-req', '-in', `${name}.csr`, ...authority, '-extfile', `${name}.ext`, '-out', `${name}.crt`);
  };
  // etcd's gateway is a client of its own server with the server's certificate.
  issue('server', 'serverAuth,clientAuth');
  issue('client', 'clientAuth');
  const serving = ['--cert-file', file('server.crt'), '--key-file', file('server.key')];
  return {
    directory,
    ca: readFileSync(file('ca.crt')),
    certificate: readFileSync(file('client.crt')),
    key: readFileSync(file('client.key')),
    serverFlags: [...serving, '--client-cert-auth', '--trusted-ca-file', file('ca.crt')],
  };
}

export interface SelfSigned {
  /** PEM: its own authority, too. */
  readonly cert: string;
  readonly key: string;
}

interface SelfSignedOptions {
  /** Days that it is valid for; -1 for one that has expired. */
  readonly days?: string;
  /** The subject's alternative names, as in `DNS:a.example`. */
  readonly names?: string | undefined;
  /** An RSA key in place of one on P-256. */
  readonly isRsa?: boolean;
}

/** A certificate for 127.0.0.1 that expires in a day, of a key of its own. */
export const selfSigned = (directory: string, name: string, options: SelfSignedOptions = {}): SelfSigned =>
  made(directory, name, options, ['-signkey', join(directory, `${name}.key`)]);

/** One that a self-signed certificate of the same directory has issued, for 127.0.0.1. */
export const issuedBy = (
  directory: string,
  authority: string,
  name: string,
  options: SelfSignedOptions = {},
): SelfSigned =>
  made(directory, name, options, [
    '-CA',
    join(directory, `${authority}.crt`),
    '-CAkey',
    join(directory, `${authority}.key`),
    '-CAcreateserial',
  ]);

function made(
  directory: string,
  name: string,
  { days = '1', names = 'IP:127.0.0.1', isRsa = false }: SelfSignedOptions,
  signer: readonly string[],
): SelfSigned {
  const [key, cert, csr] = [
    join(directory, `${name}.key`),
    join(directory, `${name}.crt`),
    join(directory, `${name}.csr`),
  ];
  const openssl = (...parameters: string[]) => execFileSync('openssl', parameters, { stdio: 'pipe' });
  const kind = isRsa ? ['-newkey', 'rsa:2048'] : ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
  openssl('req', ...kind, '-nodes', '-keyout', key, '-subj', `/CN=${name}`, '-out', csr);
  const extensions = join(directory, `${name}.ext`);
  writeFileSync(extensions, `subjectAltName=${names}\nbasicConstraints=CA:TRUE\n`);
  openssl('x509', '-req', '-in', csr, ...signer, '-days', days, '-extfile', extensions, '-out', cert);
  return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
}
