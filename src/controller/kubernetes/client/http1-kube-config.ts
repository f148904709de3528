import { KubeConfig, type RequestContext } from '@kubernetes/client-node';
import process from 'node:process';
import { VERSION } from '../../../version.ts';

/** Names the program in the API server's audit log, as in `muster/0.1.0 (linux/x64)`. */
const USER_AGENT: string = `muster/${VERSION} (${process.platform}/${process.arch})`;

/**
 * A kubeconfig whose requests name the program, and whose connections speak HTTP/1.1. The client offers HTTP/2 by
 * itself, and with it undici 8.12 throws where nobody can catch it when a session has had nothing to do for a while:
 * that would end the process.
 */
export class Http1KubeConfig extends KubeConfig {
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
