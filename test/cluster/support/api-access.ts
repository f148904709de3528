import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, request, type RequestOptions } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { command } from './control-plane/command.ts';
import { kubeconfig } from './control-plane/kubeconfig.ts';
import { toolPath } from './control-plane/tools.ts';
import type { Authority } from './node/authority.ts';

/** kubectl with the rights that its kubeconfig gives; resolves to its standard output, throws CommandError. */
export type Kubectl = (args: readonly string[], input?: string) => Promise<string>;

export interface KubeAnswer {
  readonly status: number;
  /** Parsed; of a refusal the `Status`, whose `message` has the API server's words. */
  readonly body: unknown;
}

/**
 * The ways to an API server that tests have: kubectl, helm, and its HTTP, as the administrator or with fewer rights.
 */
export class ApiAccess implements AsyncDisposable {
  readonly directory: string;
  readonly authority: Authority;
  /** The URL of its API; the certificate is valid for 127.0.0.1, too, for a proxy in between. */
  readonly server: string;
  /** The path of the administrator's kubeconfig. */
  readonly kubeconfig: string;
  readonly kubectl: Kubectl;
  #agent: Agent | undefined;

  constructor(directory: string, authority: Authority, server: string) {
    this.directory = directory;
    this.authority = authority;
    this.server = server;
    this.kubeconfig = join(directory, 'admin.kubeconfig');
    if (!existsSync(this.kubeconfig)) {
      this.#keep('admin', { user: authority.issue({ name: 'admin', subject: '/O=system:masters/CN=admin' }) });
    }
    this.kubectl = this.kubectlWith(this.kubeconfig);
  }

  /** kubectl with another kubeconfig, as `serviceAccount` gives one. */
  kubectlWith(path: string): Kubectl {
    const env = { KUBECONFIG: path, KUBECACHEDIR: join(this.directory, 'kubectl-cache') };
    return (args, input) => command(toolPath('kubectl'), args, { input, env });
  }

  /** helm 3 or 4 as the administrator, with caches and plugins of its own: none. */
  helm(major: 3 | 4, args: readonly string[]): Promise<string> {
    const home = join(this.directory, `helm${major}`);
    const env = { KUBECONFIG: this.kubeconfig, HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home, HELM_DATA_HOME: home };
    return command(toolPath(`helm${major}`), args, { env });
  }

  /**
   * One request as the administrator, at a hundredth of the processor time of a kubectl.
   * @param contentType of the body; JSON as it is by default
   */
  async ask(method: string, path: string, body?: object, contentType = 'application/json'): Promise<KubeAnswer> {
    this.#agent ??= new Agent({ keepAlive: true, ca: this.authority.pem, ...this.#administrator() });
    const options = { method, agent: this.#agent, headers: { 'Content-Type': contentType } };
    return await askOnce(`${this.server}${path}`, options, body && JSON.stringify(body));
  }

  /**
   * The path of a kubeconfig with a service account's rights.
   * @param server another way to the API: `https://127.0.0.1:<port of a proxy>`
   */
  async serviceAccount(namespace: string, name: string, server: string = this.server): Promise<string> {
    const token = (await this.kubectl(['create', 'token', name, '--namespace', namespace])).trim();
    return this.#keep(`${namespace}-${name}`, { user: { token }, server });
  }

  /** The path of a kubeconfig with the administrator's rights, by way of a proxy. */
  administrator(name: string, server: string): string {
    const user = { certificate: join(this.directory, 'admin.crt'), key: join(this.directory, 'admin.key') };
    return this.#keep(name, { user, server });
  }

  /** The path of a kubeconfig with a certificate for the subject. */
  access(name: string, subject: string): string {
    return this.#keep(name, { user: this.authority.issue({ name, subject }) });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agent?.destroy();
  }

  #administrator(): { cert: Buffer; key: Buffer } {
    return {
      cert: readFileSync(join(this.directory, 'admin.crt')),
      key: readFileSync(join(this.directory, 'admin.key')),
    };
  }

  #keep(name: string, access: { user: Parameters<typeof kubeconfig>[0]['user']; server?: string }): string {
    const path = join(this.directory, `${name}.kubeconfig`);
    const authority = this.authority.certificate;
    writeFileSync(path, kubeconfig({ server: this.server, authority, ...access }), { mode: 0o600 });
    return path;
  }
}

/** A connection that was kept may have ended meanwhile, with the server that it led to: then another one is opened. */
function askOnce(url: string, options: RequestOptions, body: string | undefined): Promise<KubeAnswer> {
  return new Promise((resolve, reject) => {
    const asking = request(url, { ...options, timeout: ANSWER_MS }, (response) => {
      const answer = text(response).then((told) => ({
        status: response.statusCode ?? 0,
        body: told === '' ? undefined : (JSON.parse(told) as unknown),
      }));
      answer.then(resolve, reject);
    });
    asking.on('timeout', () => asking.destroy(new Error(`${url}: no answer`)));
    asking.on('error', (error: NodeJS.ErrnoException) => {
      if (asking.reusedSocket && error.code === 'ECONNRESET') resolve(askOnce(url, options, body));
      else reject(error);
    });
    asking.end(body);
  });
}

const ANSWER_MS = 60_000;
