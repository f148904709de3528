/* The rules by which tools of GitOps tell whether a custom resource is as its spec says. */

/** An object as the API server sends it. */
export interface Observed {
  readonly metadata: { readonly generation?: number; readonly deletionTimestamp?: string | undefined };
  readonly status?:
    | {
        readonly observedGeneration?: number | undefined;
        readonly conditions?: readonly { readonly type: string; readonly status: string }[] | undefined;
      }
    | undefined;
}

export type Verdict = 'Current' | 'InProgress' | 'Failed' | 'Terminating';

/**
 * The rules of kstatus (sigs.k8s.io/cli-utils, pkg/kstatus/status) for a kind that it does not know: a resource without
 * a status is Current.
 */
export function kstatusOf({ metadata, status = {} }: Observed): Verdict {
  if (metadata.deletionTimestamp !== undefined) return 'Terminating';
  const { observedGeneration, conditions = [] } = status;
  if (observedGeneration !== undefined && observedGeneration !== metadata.generation) return 'InProgress';
  for (const { type, status: is } of conditions) {
    if (type === 'Reconciling' && is === 'True') return 'InProgress';
    if (type === 'Stalled' && is === 'True') return 'Failed';
  }
  const ready = conditions.find(({ type }) => type === 'Ready');
  return ready === undefined || ready.status === 'True' ? 'Current' : 'InProgress';
}
