import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A directory as a kubelet mounts a Secret: each name leads through `..data` to a folder of its own, and a renewal
 * leads `..data` to the next one, so that all names change at once.
 */
export class MountedSecret {
  readonly #directory: string;
  #version = 0;

  constructor(directory: string, content: Readonly<Record<string, string>>) {
    this.#directory = directory;
    mkdirSync(directory, { recursive: true });
    this.renew(content);
    for (const name of Object.keys(content)) symlinkSync(join('..data', name), this.path(name));
  }

  path(name: string): string {
    return join(this.#directory, name);
  }

  renew(content: Readonly<Record<string, string>>): void {
    const version = `..${(this.#version += 1)}`;
    mkdirSync(join(this.#directory, version));
    for (const [name, text] of Object.entries(content)) writeFileSync(join(this.#directory, version, name), text);
    symlinkSync(version, join(this.#directory, '..next'));
    renameSync(join(this.#directory, '..next'), join(this.#directory, '..data'));
  }
}

/** The variables of a service that reaches etcd by the files of a Secret. */
export const etcdFilesOf = (secret: MountedSecret, username: string): Readonly<Record<string, string>> => ({
  MUSTER_ETCD_CA_FILE: secret.path('ca.crt'),
  MUSTER_ETCD_CERT_FILE: secret.path('tls.crt'),
  MUSTER_ETCD_KEY_FILE: secret.path('tls.key'),
  MUSTER_ETCD_USERNAME: username,
  MUSTER_ETCD_PASSWORD_FILE: secret.path('password'),
});
