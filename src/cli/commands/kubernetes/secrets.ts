import { CoreV1Api } from '@kubernetes/client-node';
import { FIELD_MANAGER } from '../../../controller/kubernetes/client/field-manager.ts';
import { generateSecretWord, systemRandom } from '../../../domain/credentials/random-ids.ts';
import { newKeyFile } from '../../../domain/keys/key-ring.ts';
import { isUnused, NO_NEW_KEY } from '../../../service/files/generated-secrets.ts';
import { initializedStore } from '../../../service/initialized-store.ts';
import { CommandFault } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { cluster, secretRefusedBy, statusOf } from './cluster.ts';

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
 * there, the store is left alone: a store that has lost its data does not become a new one (ADR 0029). Where it is not,
 * and a service has used the store, no Secret is made: it is lost, and new keys would hide that.
 * @throws CommandFault; as `initializedStore`
 */
export async function makeSecrets({ env, say }: Invocation, options: SecretsOptions): Promise<void> {
  const { name, namespace, tokenKey, keysKey, storeIdKey } = options;
  const random = systemRandom();
  const body = {
    metadata: { name, labels: { 'app.kubernetes.io/part-of': 'muster' } },
    type: 'Opaque',
    stringData: { [tokenKey]: `${generateSecretWord(random)}\n`, [keysKey]: newKeyFile(random) },
  };
  const api = (await cluster({ env })).makeApiClient(CoreV1Api);
  // It tells whether the Secret is there without a right to read it.
  const refuseExisting = async (): Promise<void> => {
    await api.createNamespacedSecret({ namespace, body, fieldManager: FIELD_MANAGER, dryRun: 'All' });
  };
  try {
    if (storeIdKey !== undefined) {
      await refuseExisting();
      // The store comes before the Secret: after a crash between the two, the next attempt finds the store with its id,
      // and still unused.
      body.stringData[storeIdKey] = await initializedStore(env, say, async (store) => {
        if (await isUnused(store)) return;
        // Another attempt may have made the Secret meanwhile, and a service have started with it.
        await refuseExisting();
        throw new CommandFault(
          `The Secret ${namespace}/${name} is missing, and the store is not new: restore your copy of the Secret. ${NO_NEW_KEY}`,
        );
      });
    }
    await api.createNamespacedSecret({ namespace, body, fieldManager: FIELD_MANAGER });
    say(`The Secret ${namespace}/${name} is made: keep a copy of its keys where the cluster cannot lose it.`);
  } catch (error) {
    if (error instanceof CommandFault) throw error;
    if (statusOf(error) !== 409) throw secretRefusedBy(error, `The Secret ${namespace}/${name} cannot be made`);
    say(`The Secret ${namespace}/${name} is there already, and stays as it is.`);
  }
}
