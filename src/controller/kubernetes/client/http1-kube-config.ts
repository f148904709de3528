import { KubeConfig, loadYaml, type RequestContext } from '@kubernetes/client-node';
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import process from 'node:process';
import * as z from 'zod';
import { VERSION } from '../../../version.ts';

/** Names the program in the API server's audit log, as in `muster/0.1.0 (linux/x64)`. */
const USER_AGENT: string = `muster/${VERSION} (${process.platform}/${process.arch})`;

/**
 * A kubeconfig whose requests name the program, and whose connections speak HTTP/1.1. The client offers HTTP/2 by
 * itself, and with it undici 8.12 throws where nobody can catch it when a session has had nothing to do for a while:
 * that would end the process.
 */
export class Http1KubeConfig extends KubeConfig {
  readonly #tokenFiles = new Map<string, string>();

  /** The file with the current user's bearer token, which the client itself would ignore. */
  get tokenFilePath(): string | undefined {
    return this.#tokenFiles.get(this.getCurrentUser()?.name ?? '');
  }

  override loadFromFile(...args: Parameters<KubeConfig['loadFromFile']>): void {
    super.loadFromFile(...args);
    this.noteTokenFiles(args[0]);
  }

  /** Notes the token files of a kubeconfig that the client itself has merged into this one. */
  noteTokenFiles(file: string): void {
    const { users } = usersOf.parse(loadYaml(readFileSync(file, 'utf8')));
    for (const { name, user } of users ?? []) {
      if (user?.tokenFile !== undefined) this.#tokenFiles.set(name, resolve(dirname(file), user.tokenFile));
    }
  }

  override async applySecurityAuthentication(context: RequestContext): Promise<void> {
    await super.applySecurityAuthentication(context);
    context.setHeaderParam('User-Agent', USER_AGENT);
  }

  override createDispatcherOptions(
    ...args: Parameters<KubeConfig['createDispatcherOptions']>
  ): ReturnType<KubeConfig['createDispatcherOptions']> {
    const options = super.createDispatcherOptions(...args);
    if (options.type !== 'agent') return options;
    const connect = { ...options.connect, allowH2: false };
    return { ...options, connect };
  }
}

const usersOf = z.looseObject({
  users: z
    .array(z.looseObject({ name: z.string(), user: z.looseObject({ tokenFile: z.string().optional() }).nullish() }))
    .nullish(),
});

/**
 * The configuration of a kubeconfig file, or of the pod's service account without one.
 * @throws Error in words where it cannot be read
 */
export function loadConfig(kubeconfig: string | undefined): Http1KubeConfig {
  const config = new Http1KubeConfig();
  if (kubeconfig === undefined) {
    config.loadFromCluster();
    // Outside of a pod the client makes an address of variables that are not set.
    if (config.getCurrentCluster()?.server.includes('undefined')) {
      throw new Error('There is no service account: run it in a pod, or set KUBECONFIG.');
    }
  } else config.loadFromFile(kubeconfig);
  if (!config.getCurrentCluster()) throw new Error('KUBECONFIG: the file names no current cluster');
  return config;
}
