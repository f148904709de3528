import { isKubeError, type KubeApi } from './kube-api.ts';

/** The UID of a namespace; undefined where there is none, or it may not be read. @throws KubeError for other reasons */
export async function readableNamespaceUid(
  api: Pick<KubeApi, 'namespaceUid'>,
  namespace: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    return await api.namespaceUid(namespace, signal);
  } catch (error) {
    if (isKubeError(error, 'refused')) return undefined;
    throw error;
  }
}
