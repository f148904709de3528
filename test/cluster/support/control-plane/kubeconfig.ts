import { readFileSync } from 'node:fs';
import type { KeyPair } from '../node/authority.ts';

interface Access {
  readonly server: string;
  /** The path of the authority's certificate. */
  readonly authority: string;
  readonly user: KeyPair | { readonly token: string };
}

/** A kubeconfig that needs no other file. It is JSON, which is YAML. */
export function kubeconfig({ server, authority, user }: Access): string {
  const inline = (path: string): string => readFileSync(path).toString('base64');
  const credentials =
    'token' in user
      ? user
      : { 'client-certificate-data': inline(user.certificate), 'client-key-data': inline(user.key) };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server, 'certificate-authority-data': inline(authority) } }],
    users: [{ name: 'test', user: credentials }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    'current-context': 'test',
  };
  return JSON.stringify(config);
}
