import { CoreV1Api } from '@kubernetes/client-node';
import { generateSecretWord, systemRandom } from '../../../domain/credentials/random-ids.ts';
import { newKeyFile } from '../../../domain/keys/key-ring.ts';
import { say } from '../../terminal/exit.ts';
import { cluster, refusedBy, statusOf } from './cluster.ts';

export interface SecretsOptions {
  readonly name: string;
  readonly namespace: string;
  /** The keys of the Secret under which the operator's token and the key file lie. */
  readonly tokenKey: string;
  readonly keysKey: string;
}

/**
 * `muster kubernetes secrets`: creates the Secret with an operator token and a key file where there is none. An
 * existing one is neither read nor changed, since data is encrypted under its keys; so it may run again at any time,
 * beside others, and with a right to create and no other (ADR 0021).
 * @throws CommandFault
 */
export async function makeSecrets({ name, namespace, tokenKey, keysKey }: SecretsOptions): Promise<void> {
  const random = systemRandom();
  const body = {
    metadata: { name, labels: { 'app.kubernetes.io/part-of': 'muster' } },
    type: 'Opaque',
    stringData: { [tokenKey]: `${generateSecretWord(random)}\n`, [keysKey]: newKeyFile(random) },
  };
  const api = cluster().makeApiClient(CoreV1Api);
  try {
    await api.createNamespacedSecret({ namespace, body });
    say(`The Secret ${namespace}/${name} is made: keep a copy of its keys where the cluster cannot lose it.`);
  } catch (error) {
    if (statusOf(error) !== 409) throw refusedBy(error, `The Secret ${namespace}/${name} cannot be made`);
    say(`The Secret ${namespace}/${name} is there already, and stays as it is.`);
  }
}
