import { account, type Rollout } from '../../api/panel.ts';
import { useResource } from '../../hooks/use-resource.ts';
import { Link } from '../../shell/link.tsx';
import { pathOfApp, pathOfApps } from '../../shell/router.ts';
import { rollout as texts } from '../../text/rollout.ts';
import { formatCount } from '../../text/format.ts';
import { Name, Shares, Time } from '../../ui/page.tsx';
import { Shown } from '../../ui/state.tsx';
import { Words } from '../../ui/words.tsx';
import { Table } from '../../ui/table.tsx';
import { inNumericOrder } from '../../ui/table-order.ts';

const useRollout = (accountId: string) =>
  useResource(`rollout ${accountId}`, (signal) => account(accountId).rollout({ signal }), {
    of: accountId,
    topics: ['rollout', 'config', 'apps'],
  });

function Bar({ accountId, rollout }: { accountId: string; rollout: Rollout }) {
  const { states, revision } = rollout;
  const { applied, failed, pending, stale, unhealthy } = states;
  // An agent that takes no configuration is in the list of apps where it is unhealthy.
  if (Object.values(states).every((count) => count === 0)) return <p class="quiet">{texts.noDevices}</p>;
  const { parts } = texts;
  const to = (configuration: string): string => pathOfApps(accountId, { configuration });
  return (
    <div class="stack tight" role="status">
      <span class="quiet">{texts.revision(revision)}</span>
      <Shares
        label={texts.title}
        parts={[
          { name: parts.applied, value: applied, tone: 'good', to: to('applied') },
          { name: parts.failed, value: failed, tone: 'bad', to: to('failed') },
          { name: parts.unhealthy, value: unhealthy, tone: 'bad hatched', to: to('unhealthy') },
          { name: parts.pending, value: pending, tone: 'accent', to: to('pending') },
          { name: parts.stale, value: stale, tone: 'warn', to: to('silent') },
        ]}
      />
    </div>
  );
}

/** How far the configuration has come, as a bar. */
export function RolloutBar({ accountId }: { accountId: string }) {
  return (
    <Shown of={useRollout(accountId)} lines={2}>
      {(rollout) => <Bar accountId={accountId} rollout={rollout} />}
    </Shown>
  );
}

interface Troubled {
  readonly appId: string;
  readonly name?: string | undefined;
  readonly error: string;
  readonly at: string;
  readonly emptied?: boolean;
}

/** Daemons with what they report, the latest first; nothing where there are none. */
function Reports({ accountId, caption, rows }: { accountId: string; caption: string; rows: readonly Troubled[] }) {
  if (rows.length === 0) return null;
  return (
    <Table
      caption={caption}
      rows={rows}
      idOf={({ appId }) => appId}
      columns={[
        {
          name: texts.latestColumns.app,
          names: true,
          by: ({ appId, name = '' }) => inNumericOrder(name || appId),
          cell: ({ appId, name = '' }) => (
            <Link to={pathOfApp(accountId, appId)}>
              <Name otherwise={appId}>{name}</Name>
            </Link>
          ),
        },
        {
          name: texts.latestColumns.error,
          by: ({ error }) => error,
          cell: ({ error, emptied = false }) => (
            <>
              <Words>{error}</Words>
              {emptied && <span class="quiet"> {texts.emptied}</span>}
            </>
          ),
        },
        { name: texts.latestColumns.at, by: ({ at }) => at, cell: ({ at }) => <Time at={at} /> },
      ]}
    />
  );
}

/** The same with the failures. */
export function RolloutDetail({ accountId }: { accountId: string }) {
  return (
    <Shown of={useRollout(accountId)} lines={4}>
      {(rollout) => (
        <div class="stack">
          <Bar accountId={accountId} rollout={rollout} />
          {rollout.failuresByError.length > 0 && (
            <Table
              caption={texts.failures}
              rows={rollout.failuresByError}
              idOf={({ error }) => error}
              columns={[
                {
                  name: texts.failureColumns.error,
                  names: true,
                  by: ({ error }) => error,
                  cell: ({ error }) => <Words>{error}</Words>,
                },
                {
                  name: texts.failureColumns.devices,
                  number: true,
                  by: ({ devices }) => devices,
                  cell: ({ devices }) => formatCount(devices),
                },
              ]}
            />
          )}
          <Reports accountId={accountId} caption={texts.latest} rows={rollout.failures} />
          <Reports accountId={accountId} caption={texts.unhealthy} rows={rollout.unhealthy} />
        </div>
      )}
    </Shown>
  );
}
