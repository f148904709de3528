import { useEffect, useState } from 'preact/hooks';
import { account, type Configuration } from '../../api/panel.ts';
import { useResource } from '../../hooks/use-resource.ts';
import type { PageProps } from '../../shell/page-props.ts';
import { useIsOwner } from '../../shell/rights.ts';
import { useSession } from '../../shell/session.tsx';
import { common } from '../../text/common.ts';
import { configuration as texts } from '../../text/configuration.ts';
import { rollout } from '../../text/rollout.ts';
import { Button } from '../../ui/controls.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Card, Page, Time } from '../../ui/page.tsx';
import { Shown } from '../../ui/state.tsx';
import { Timeline } from '../audit/timeline.tsx';
import { TestCollector } from './collector-test.tsx';
import { ConfigurationForm } from './form.tsx';
import { Revisions } from './revisions.tsx';
import { RolloutDetail } from './rollout.tsx';

const PURGE_EVERY_MS = 5000;

/** The configuration of the fleet: its form, its rollout, its history and its purge. */
export function ConfigurationPage({ accountId }: PageProps) {
  const stored = useResource(`configuration ${accountId}`, (signal) => account(accountId).configuration({ signal }), {
    of: accountId,
    topics: ['config', 'account'],
  });
  const isOwner = useIsOwner(accountId);
  const isForgetting = stored.data?.purge === 'in-history';
  useEffect(() => {
    if (!isForgetting) return undefined;
    const timer = setInterval(stored.reload, PURGE_EVERY_MS);
    return () => clearInterval(timer);
  }, [isForgetting, stored.reload]);
  return (
    <Page title={texts.title} lead={texts.lead}>
      {!isOwner && <p class="quiet">{common.viewerOnly}</p>}
      <Shown of={stored}>
        {(data) => (
          <>
            <div class="grid two">
              <Card title={texts.form}>
                {data.entitlement === 'enterprise' ? (
                  <ConfigurationForm accountId={accountId} stored={data} isOwner={isOwner} onStored={stored.reload} />
                ) : (
                  <p>{texts.notEntitled}</p>
                )}
              </Card>
              <Card title={rollout.title}>
                <div class="stack">
                  {data.changedAt !== null && (
                    <span class="quiet">
                      {texts.changed} <Time at={data.changedAt} />
                    </span>
                  )}
                  <RolloutDetail accountId={accountId} />
                  {isOwner && data.entitlement === 'enterprise' && (
                    <TestCollector accountId={accountId} stored={data} />
                  )}
                </div>
              </Card>
            </div>
            <Revisions accountId={accountId} stored={data} isOwner={isOwner} onRestored={stored.reload} />
            <Card title={texts.history}>
              <Timeline
                key={data.tag}
                empty={texts.noHistory}
                read={(before, signal) =>
                  account(accountId).audit(
                    { action: 'otel.', limit: 10, ...(before !== undefined && { before }) },
                    { signal },
                  )
                }
              />
            </Card>
            <PurgeCard accountId={accountId} stored={data} isOwner={isOwner} onPurged={stored.reload} />
          </>
        )}
      </Shown>
    </Page>
  );
}

interface PurgeCardProps {
  readonly accountId: string;
  readonly stored: Configuration;
  readonly isOwner: boolean;
  readonly onPurged: () => void;
}

function PurgeCard({ accountId, stored, isOwner, onPurged }: PurgeCardProps) {
  const [isAsking, setAsking] = useState(false);
  const { say } = useSession();
  const isThere = stored.revision > 0 && stored.purge === 'none';
  return (
    <Card title={texts.purgeTitle}>
      <div class="stack">
        <p>{texts.purgeLead}</p>
        {stored.purge !== 'none' && (
          <p class={`note ${stored.purge === 'forgotten' ? 'good' : 'warn'}`} role="status">
            {texts.purgeStates[stored.purge]}
          </p>
        )}
        {isOwner && (
          <div>
            <Button kind="danger" disabled={!isThere} onClick={() => setAsking(true)}>
              {texts.purge}
            </Button>
          </div>
        )}
      </div>
      {isAsking && (
        <Confirm
          title={texts.purgeTitle}
          action={texts.purgeAction}
          typed={texts.purgeWord}
          work={async () => {
            await account(accountId).purgeConfiguration();
            say(texts.purged);
            onPurged();
          }}
          onClose={() => setAsking(false)}
        >
          <p>{texts.purgeLead}</p>
          <p>{texts.dialog.devices(stored.devices)}</p>
        </Confirm>
      )}
    </Card>
  );
}
