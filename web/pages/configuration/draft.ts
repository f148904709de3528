import { endpointFault } from '../../../src/domain/otel-config/collector-endpoint.ts';
import { authHeaderFault } from '../../../src/domain/otel-config/collector-header.ts';
import type { Configuration, ConfigurationChange } from '../../api/panel.ts';
import { configuration as texts } from '../../text/configuration.ts';

/** What is typed into the form. */
export interface Draft {
  readonly enabled: boolean;
  readonly endpoint: string;
  readonly header: 'keep' | 'replace' | 'remove';
  /** A secret: it is in the state of the form alone, and goes with it. */
  readonly headerValue: string;
  readonly evidenceLevel: Configuration['evidenceLevel'];
}

export const draftOf = ({ enabled, endpoint, evidenceLevel }: Configuration): Draft => ({
  enabled,
  endpoint,
  evidenceLevel,
  header: 'keep',
  headerValue: '',
});

/** What is wrong with the fields, judged by the service's own rules. */
export function faultsOf(draft: Draft): {
  readonly endpoint?: string | undefined;
  readonly header?: string | undefined;
} {
  const endpoint = draft.endpoint === '' ? (draft.enabled ? texts.required : undefined) : endpointFault(draft.endpoint);
  const header =
    draft.header !== 'replace' ? undefined : draft.headerValue === '' ? '' : authHeaderFault(draft.headerValue);
  return { endpoint, header };
}

/** The request that the draft stands for. */
export const changeOf = (draft: Draft, { tag }: Configuration): ConfigurationChange => ({
  enabled: draft.enabled,
  endpoint: draft.endpoint,
  evidenceLevel: draft.evidenceLevel,
  ...(draft.header === 'replace' && { authHeader: draft.headerValue }),
  ...(draft.header === 'remove' && { authHeader: '' }),
  seen: tag,
});

export interface Difference {
  readonly what: string;
  readonly before: string;
  readonly after: string;
}

/** What the draft changes, field by field; never the value of a header. */
export function differencesOf(draft: Draft, stored: Configuration): readonly Difference[] {
  const { dialog } = texts;
  const rows: readonly (Difference & { readonly isChanged: boolean })[] = [
    {
      what: texts.enabled,
      before: stored.enabled ? dialog.on : dialog.off,
      after: draft.enabled ? dialog.on : dialog.off,
      isChanged: stored.enabled !== draft.enabled,
    },
    {
      what: texts.endpoint,
      before: stored.endpoint || dialog.none,
      after: draft.endpoint || dialog.none,
      isChanged: stored.endpoint !== draft.endpoint,
    },
    {
      what: texts.header,
      before: stored.authHeaderSet ? dialog.headerStored : dialog.none,
      after: draft.header === 'replace' ? dialog.headerNew : dialog.headerGone,
      isChanged: draft.header === 'replace' || (draft.header === 'remove' && stored.authHeaderSet),
    },
    {
      what: texts.evidence,
      before: stored.evidenceLevel,
      after: draft.evidenceLevel,
      isChanged: stored.evidenceLevel !== draft.evidenceLevel,
    },
  ];
  return rows.filter(({ isChanged }) => isChanged);
}

/** What is stored now and differs from what the form began with: somebody else's change. */
export function changedBetween(before: Configuration, now: Configuration): readonly Difference[] {
  return differencesOf(
    {
      ...draftOf(now),
      header: before.authHeaderSet === now.authHeaderSet ? 'keep' : now.authHeaderSet ? 'replace' : 'remove',
    },
    before,
  );
}

/** Whether the form holds anything that is not stored. */
export const isChangedBy = (draft: Draft, stored: Configuration): boolean =>
  draft.header === 'replace' || differencesOf(draft, stored).length > 0;

/** Whether the stored header would go to an endpoint that it was not stored for. */
export const isHeaderMoved = (draft: Draft, { authHeaderSet, endpoint }: Configuration): boolean =>
  authHeaderSet && draft.header === 'keep' && draft.endpoint !== endpoint && draft.endpoint !== '';

/**
 * The draft on top of what somebody else has stored since: what was typed stays, and nothing else undoes the change.
 */
export const rebased = (draft: Draft, base: Configuration, stored: Configuration): Draft => ({
  enabled: draft.enabled === base.enabled ? stored.enabled : draft.enabled,
  endpoint: draft.endpoint === base.endpoint ? stored.endpoint : draft.endpoint,
  evidenceLevel: draft.evidenceLevel === base.evidenceLevel ? stored.evidenceLevel : draft.evidenceLevel,
  header: draft.header === 'remove' && !stored.authHeaderSet ? 'keep' : draft.header,
  headerValue: draft.headerValue,
});
