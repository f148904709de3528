import { KubeConfig, loadYaml, type RequestContext } from '@kubernetes/client-node';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, dirname, resolve } from 'node:path';
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
    const [file] = args;
    const { users } = usersOf.parse(loadYaml(readFileSync(file, 'utf8')));
    for (const { name, user } of users ?? []) {
      if (user?.tokenFile !== undefined) this.#tokenFiles.set(name, resolve(dirname(file), user.tokenFile));
    }
  }

  /**
   * Loads the files of KUBECONFIG as kubectl does: the first one that has a name, or the current context, decides. One
   * of several may be missing. The client itself takes the last current context, and refuses a name twice.
   */
  loadFromFiles(paths: string): void {
    const all = paths.split(delimiter).filter((path) => path !== '');
    const found = all.filter((path) => existsSync(path));
    for (const path of found.length === 0 ? all : found) {
      const file = new Http1KubeConfig();
      file.loadFromFile(path);
      this.#adopt(file);
    }
  }

  #adopt(file: Http1KubeConfig): void {
    this.currentContext ||= file.currentContext;
    const users = lacking(this.users, file.users);
    for (const { name } of users) {
      const tokenFile = file.#tokenFiles.get(name);
      if (tokenFile !== undefined) this.#tokenFiles.set(name, tokenFile);
    }
    this.users = [...(this.users ?? []), ...users];
    this.clusters = [...(this.clusters ?? []), ...lacking(this.clusters, file.clusters)];
    this.contexts = [...(this.contexts ?? []), ...lacking(this.contexts, file.contexts)];
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

interface Named {
  readonly name: string;
}
const lacking = <T extends Named>(all: readonly Named[] | undefined, more: readonly T[]): readonly T[] =>
  more.filter(({ name }) => all?.every((one) => one.name !== name) ?? true);

const usersOf = z.looseObject({
  users: z
    .array(z.looseObject({ name: z.string(), user: z.looseObject({ tokenFile: z.string().optional() }).nullish() }))
    .nullish(),
});

/**
 * The configuration of kubeconfig files, or of the pod's service account without any.
 * @param kubeconfig the value of KUBECONFIG
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
  } else config.loadFromFiles(kubeconfig);
  if (!config.getCurrentCluster()) throw new Error('KUBECONFIG: it names no current cluster');
  return config;
}
