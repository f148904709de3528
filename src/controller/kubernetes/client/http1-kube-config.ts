import { KubeConfig } from '@kubernetes/client-node';

/**
 * A kubeconfig whose connections speak HTTP/1.1. The client offers HTTP/2 by itself, and with it undici 8.12 throws
 * where nobody can catch it when a session has had nothing to do for a while: that would end the process.
 */
export class Http1KubeConfig extends KubeConfig {
  override createDispatcherOptions(
    ...args: Parameters<KubeConfig['createDispatcherOptions']>
  ): ReturnType<KubeConfig['createDispatcherOptions']> {
    const options = super.createDispatcherOptions(...args);
    if (options.type !== 'agent') return options;
    const connect = { ...options.connect, allowH2: false };
    return { ...options, connect };
  }
}
