import { CoreV1Api } from '@kubernetes/client-node';
import { generateSecretWord, systemRandom } from '../../../domain/credentials/random-ids.ts';
import { newKeyFile } from '../../../domain/keys/key-ring.ts';
import { initializedStore } from '../../../service/initialized-store.ts';
import { say } from '../../terminal/exit.ts';
import { cluster, refusedBy, statusOf } from './cluster.ts';

export interface SecretsOptions {
  readonly name: string;
  readonly namespace: string;
  /** The keys of the Secret under which the operator's token and the key file lie. */
  readonly tokenKey: string;
  readonly keysKey: string;
  /** The key for the id of the store, which is made with the Secret; undefined where the store is not to be made. */
  readonly storeIdKey?: string;
}

/**
 * `muster kubernetes secrets`: creates the Secret with an operator token and a key file where there is none. An
 * existing one is neither read nor changed, since data is encrypted under its keys; so it may run again at any time,
 * beside others, and with a right to create and no other (ADR 0021).
 *
 * With `storeIdKey` the store of the configuration is made first, and its id goes into the Secret. Where the Secret is
 * there, the store is left alone: a store that has lost its data does not become a new one (ADR 0029).
 * @throws CommandFault; as `initializedStore`
 */
export async function makeSecrets(options: SecretsOptions, env: NodeJS.ProcessEnv): Promise<void> {
  const { name, namespace, tokenKey, keysKey, storeIdKey } = options;
  const random = systemRandom();
  const body = {
    metadata: { name, labels: { 'app.kubernetes.io/part-of': 'muster' } },
    type: 'Opaque',
    stringData: { [tokenKey]: `${generateSecretWord(random)}\n`, [keysKey]: newKeyFile(random) },
  };
  const api = cluster().makeApiClient(CoreV1Api);
  try {
    if (storeIdKey !== undefined) {
      // It tells whether the Secret is there without a right to read it. The store comes before the Secret: after a
      // crash between the two, the next attempt finds the store with its id.
      await api.createNamespacedSecret({ namespace, body, dryRun: 'All' });
      body.stringData[storeIdKey] = await initializedStore(env, say);
    }
    await api.createNamespacedSecret({ namespace, body });
    say(`The Secret ${namespace}/${name} is made: keep a copy of its keys where the cluster cannot lose it.`);
  } catch (error) {
    if (statusOf(error) !== 409) throw refusedBy(error, `The Secret ${namespace}/${name} cannot be made`);
    say(`The Secret ${namespace}/${name} is there already, and stays as it is.`);
  }
}
