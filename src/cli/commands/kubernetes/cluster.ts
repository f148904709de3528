import { ApiException, type KubeConfig } from '@kubernetes/client-node';
import { safeSecretWords } from '../../../controller/kubernetes/client/secret-error.ts';
import { Http1KubeConfig } from '../../../controller/kubernetes/client/http1-kube-config.ts';
import { TokenFile } from '../../../controller/kubernetes/client/token-file.ts';
import { systemClock } from '../../../time/clock.ts';
import { CommandFault, EXIT, wordsOf } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';

const NOWHERE = 'http://localhost:8080';

/**
 * Finds the cluster of KUBECONFIG or ~/.kube/config; in a pod its own, with the service account's token.
 * @throws CommandFault with the exit code of wrong usage where there is none
 */
export async function cluster({ env }: Pick<Invocation, 'env'>): Promise<KubeConfig> {
  const config = new Http1KubeConfig();
  try {
    if (env['KUBECONFIG']) config.loadFromFiles(env['KUBECONFIG']);
    else config.loadFromDefault();
  } catch (error) {
    throw new CommandFault(`The kubeconfig cannot be used: ${wordsOf(error)}`, EXIT.usage);
  }
  // The client falls back to this address where it finds no cluster.
  if ((config.getCurrentCluster()?.server ?? NOWHERE) === NOWHERE) {
    throw new CommandFault('No cluster: run it in a pod, or set KUBECONFIG.', EXIT.usage);
  }
  const path = config.tokenFilePath;
  if (path !== undefined) await giveToken(config, path);
  return config;
}

/** The client would ask without the token of a file, as a user who may do nothing. */
async function giveToken(config: KubeConfig, path: string): Promise<void> {
  const token = await new TokenFile(path, systemClock).current();
  if (token === undefined) {
    throw new CommandFault(`The kubeconfig cannot be used: its tokenFile ${path} has no token.`, EXIT.usage);
  }
  const { name } = config.getCurrentUser() ?? {};
  config.users = config.users.map((user) => (user.name === name ? { ...user, token } : user));
}

/** The HTTP status of an API server's refusal; undefined for any other error. */
export const statusOf = (error: unknown): number | undefined =>
  error instanceof ApiException ? error.code : undefined;

/** The API server's refusal in words, without the request, which may have held a secret. */
export function refusedBy(error: unknown, doing: string): CommandFault {
  if (!(error instanceof ApiException)) return new CommandFault(`${doing}: ${wordsOf(error)}`);
  return new CommandFault(`${doing}: the API server answered ${error.code}${messageIn(error.body)}`);
}

/**
 * The same for a request for a Secret: only those words that cannot quote what is in it, which a policy that admits it
 * sees.
 */
export function secretRefusedBy(error: unknown, doing: string): CommandFault {
  if (!(error instanceof ApiException)) return refusedBy(error, doing);
  const message = messageIn(error.body).replace(/^: /, '');
  return new CommandFault(`${doing}: ${safeSecretWords({ message, status: error.code })}`);
}

function messageIn(body: unknown): string {
  try {
    const status: unknown = typeof body === 'string' ? JSON.parse(body) : body;
    const { message } = status as { message?: unknown };
    return typeof message === 'string' ? `: ${message}` : '';
  } catch {
    return '';
  }
}
