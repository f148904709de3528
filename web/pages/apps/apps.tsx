import { useMemo, useState } from 'preact/hooks';
import { useNew } from '../../address/use-new.ts';
import { useQuery } from '../../address/use-query.ts';
import { account, type PanelApp } from '../../api/panel.ts';
import { useNow } from '../../hooks/use-now.ts';
import { useResource } from '../../hooks/use-resource.ts';
import type { PageProps } from '../../shell/page-props.ts';
import { useIsOwner, useMay } from '../../shell/rights.ts';
import { apps as texts } from '../../text/apps.ts';
import { common } from '../../text/common.ts';
import { daemons } from '../../text/daemons.ts';
import { ColumnsMenu, useColumns } from '../../ui/columns.tsx';
import { Button } from '../../ui/controls.tsx';
import { Card, Page } from '../../ui/page.tsx';
import { Empty, Shown } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';
import { columnsOf } from './app-columns.tsx';
import { Filters } from './app-filters.tsx';
import { ChangeMany } from './change-many.tsx';
import { AddDaemon, APPS_MAX, CreateApps } from './create-apps.tsx';
import { IssueCodes } from './issue-codes.tsx';
import { useDeliveries } from './deliveries.ts';
import { DownloadApps } from './download.tsx';
import { APP_FILTER, isFiltered, NO_FILTER, shownApps } from './filter.ts';
import { useSelection } from './selection.ts';
import { isBlank } from '../../../src/text/shown-name.ts';

const CHANGES = ['issue-code', 'revoke', 'delete'] as const;
type Change = (typeof CHANGES)[number];
const CHANGE_NAMES: Readonly<Record<Change, string>> = {
  'issue-code': texts.issueCodes,
  revoke: texts.revoke,
  delete: texts.remove,
};

/** All apps of the account: found, chosen, changed, created. */
export function AppsPage({ accountId }: PageProps) {
  const read = useResource(`apps ${accountId}`, (signal) => account(accountId).apps({ signal }), {
    of: accountId,
    topics: ['apps', 'seen'],
  });
  const [deliveries, delivered] = useDeliveries(accountId);
  const isOwner = useIsOwner(accountId);
  const may = useMay(accountId);
  const changes = CHANGES.filter((one) => isOwner || may('changeApps', { change: one, apps: [] }));
  const [isCreating, setCreating] = useNew('app');
  const [isAdding, setAdding] = useNew('daemon');
  const { state: filter, change: setFilter } = useQuery(APP_FILTER);
  const [chosen, setChosen] = useSelection();
  const [change, setChange] = useState<Change>();
  const now = useNow(60_000);
  const apps = useMemo(() => read.data?.apps ?? [], [read.data]);
  const shown = useMemo(() => shownApps(apps, deliveries, filter, now), [apps, deliveries, filter, now]);
  const columns = useColumns(
    'apps',
    useMemo(() => columnsOf(accountId, deliveries), [accountId, deliveries]),
  );
  const chosenApps = apps.filter(({ appId }) => chosen.has(appId));
  const ended = (left: readonly string[]): void => {
    setChange(undefined);
    setChosen(new Set(left));
    read.reload();
  };
  const room = read.data && Math.max(0, APPS_MAX - apps.length);
  const create = (
    <>
      <Button onClick={() => setCreating(true)}>
        {texts.create}
        <span class="heard">{texts.createHeard}</span>
      </Button>
      <Button kind="primary" onClick={() => setAdding(true)}>
        {daemons.add}
      </Button>
    </>
  );
  const isUnknown = filter.configuration !== '' && delivered.data === undefined && delivered.error !== undefined;
  const counted = isUnknown
    ? common.rowsUnknown(apps.length, texts.rows)
    : common.rows(shown.length, apps.length, texts.rows);
  const clear = (
    <Button small onClick={() => setFilter(NO_FILTER)}>
      {texts.clearFilters}
    </Button>
  );
  const none = <Empty title={texts.nothingFits}>{clear}</Empty>;
  return (
    <Page
      title={texts.title}
      dense={apps.length > 0 || read.data === undefined}
      lead={
        read.data === undefined ? (
          '\u00A0'
        ) : apps.length === 0 ? (
          texts.lead
        ) : (
          <span class="row">
            {counted}
            {isFiltered(filter) && clear}
            {changes.length > 0 && (
              <Chosen
                chosen={chosenApps}
                shown={shown}
                changes={changes}
                onClear={() => setChosen(new Set())}
                onChange={setChange}
              />
            )}
          </span>
        )
      }
      actions={isOwner ? create : undefined}
    >
      <Shown of={read} lines={12}>
        {() =>
          apps.length === 0 ? (
            <Card>
              <Empty title={texts.empty}>
                <p class="quiet">{texts.emptyLead}</p>
              </Empty>
            </Card>
          ) : (
            <>
              <Filters apps={apps} filter={filter} onFilter={setFilter}>
                <div class="row">
                  <ColumnsMenu of={columns} />
                  <DownloadApps
                    {...{ accountId, shown, deliveries }}
                    chosen={chosenApps}
                    columns={columns.all}
                    revision={delivered.data?.revision}
                  />
                </div>
              </Filters>
              <Card flush>
                <Table
                  caption={`${texts.caption}: ${counted}`}
                  captionHeard
                  columns={columns.all}
                  shown={columns.shown}
                  rows={shown}
                  idOf={({ appId }) => appId}
                  orderIn="sort"
                  long={shown.length > 60}
                  choice={
                    changes.length > 0
                      ? {
                          chosen,
                          onChosen: setChosen,
                          labelOf: ({ appId, name }) => texts.chooseOne(isBlank(name) ? appId : name),
                          all: texts.chooseAll,
                        }
                      : undefined
                  }
                />
                {shown.length === 0 &&
                  (filter.configuration === '' ? none : <Shown of={delivered}>{() => none}</Shown>)}
              </Card>
            </>
          )
        }
      </Shown>
      {change === 'issue-code' && isOwner && <IssueCodes accountId={accountId} apps={chosenApps} onClose={ended} />}
      {change !== undefined && change !== 'issue-code' && changes.includes(change) && (
        <ChangeMany accountId={accountId} apps={chosenApps} change={change} onClose={ended} />
      )}
      {isCreating && isOwner && (
        <CreateApps {...{ accountId, room }} onClose={() => setCreating(false)} onCreated={read.reload} />
      )}
      {isAdding && isOwner && (
        <AddDaemon {...{ accountId, room }} onClose={() => setAdding(false)} onCreated={read.reload} />
      )}
    </Page>
  );
}

interface ChosenProps {
  readonly chosen: readonly PanelApp[];
  readonly shown: readonly PanelApp[];
  /** The changes that the user may make. */
  readonly changes: readonly Change[];
  readonly onClear: () => void;
  readonly onChange: (change: Change) => void;
}

/** The number of chosen apps, and the actions on them. It stands in the head, so that no row moves. */
function Chosen({ chosen, shown, changes, onClear, onChange }: ChosenProps) {
  const seen = new Set(shown);
  const hidden = chosen.filter((app) => !seen.has(app)).length;
  return (
    <>
      <span role="status">
        {chosen.length > 0 && texts.chosen(chosen.length)}
        {hidden > 0 && `; ${texts.hidden(hidden)}`}
      </span>
      {chosen.length > 0 && (
        <>
          <Button small kind="quiet" onClick={onClear}>
            {texts.clear}
          </Button>
          {changes.map((change) => (
            <Button
              key={change}
              small
              kind={change === 'issue-code' ? undefined : 'danger'}
              onClick={() => onChange(change)}
            >
              {CHANGE_NAMES[change]}
            </Button>
          ))}
        </>
      )}
    </>
  );
}
