import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Certificates {
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

/** A certificate that expires in a day, of a key of its own, for 127.0.0.1 or another name as in `DNS:a.example`. */
export const selfSigned = (directory: string, name: string, alternative = 'IP:127.0.0.1'): SelfSigned =>
  made(directory, name, alternative, []);

/** One that a self-signed certificate of the same directory has issued, for 127.0.0.1. */
export const issuedBy = (directory: string, authority: string, name: string): SelfSigned =>
  made(directory, name, 'IP:127.0.0.1', [
    ...['-CA', join(directory, `${authority}.crt`)],
    ...['-CAkey', join(directory, `${authority}.key`)],
  ]);

function made(directory: string, name: string, alternative: string, authority: readonly string[]): SelfSigned {
  const [key, cert] = [join(directory, `${name}.key`), join(directory, `${name}.crt`)];
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', key];
  const forItself = ['-days', '1', '-subj', `/CN=${name}`, '-addext', `subjectAltName=${alternative}`];
  execFileSync('openssl', ['req', '-x509', ...newKey, '-out', cert, ...forItself, ...authority], { stdio: 'pipe' });
  return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
}
