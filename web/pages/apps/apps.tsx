import { useMemo, useState } from 'preact/hooks';
import { useQuery } from '../../address/use-query.ts';
import { useNew } from '../../address/use-new.ts';
import { account, type Delivery, type PanelApp } from '../../api/panel.ts';
import { useNow } from '../../hooks/use-now.ts';
import { useResource } from '../../hooks/use-resource.ts';
import type { PageProps } from '../../shell/page-props.ts';
import { Link } from '../../shell/link.tsx';
import { pathOfApp } from '../../shell/router.ts';
import { useIsOwner } from '../../shell/session.tsx';
import { apps as texts } from '../../text/apps.ts';
import { common } from '../../text/common.ts';
import { Badge, Button, Select, TextField } from '../../ui/controls.tsx';
import { Card, Name, Page, Time } from '../../ui/page.tsx';
import { Empty, Shown } from '../../ui/state.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { ChangeMany } from './change-many.tsx';
import { CreateApps } from './create-apps.tsx';
import { useDeliveries, type DeliveriesRead } from './deliveries.ts';
import {
  APP_FILTER,
  DELIVERY_STATES,
  inNumericOrder,
  type Deliveries,
  optionsOf,
  shownApps,
  type AppFilter,
} from './filter.ts';
import { useSelection } from './selection.ts';
import { isBlank } from '../../../src/text/shown-name.ts';

/** All apps of the account: found, chosen, changed, created. */
export function AppsPage({ accountId }: PageProps) {
  const apps = useResource(`apps ${accountId}`, (signal) => account(accountId).apps({ signal }), {
    of: accountId,
    topics: ['apps', 'seen'],
  });
  const [deliveries, delivered] = useDeliveries(accountId);
  const isOwner = useIsOwner(accountId);
  const [isCreating, setCreating] = useNew('app');
  const create = (
    <Button kind="primary" onClick={() => setCreating(true)}>
      {texts.create}
    </Button>
  );
  return (
    <Page title={texts.title} lead={texts.lead} actions={isOwner ? create : undefined}>
      <Shown of={apps} lines={12}>
        {({ apps: all }) =>
          all.length === 0 ? (
            <Card>
              <Empty title={texts.empty}>
                <p class="quiet">{texts.emptyLead}</p>
                {isOwner && create}
              </Empty>
            </Card>
          ) : (
            <AppTable
              accountId={accountId}
              apps={all}
              deliveries={deliveries}
              delivered={delivered}
              isOwner={isOwner}
              onChanged={apps.reload}
            />
          )
        }
      </Shown>
      {isCreating && isOwner && (
        <CreateApps accountId={accountId} onClose={() => setCreating(false)} onCreated={apps.reload} />
      )}
    </Page>
  );
}

interface AppTableProps {
  readonly accountId: string;
  readonly apps: readonly PanelApp[];
  readonly deliveries: Deliveries;
  readonly delivered: DeliveriesRead;
  readonly isOwner: boolean;
  readonly onChanged: () => void;
}

function AppTable({ accountId, apps, deliveries, delivered, isOwner, onChanged }: AppTableProps) {
  const { state: filter, change: setFilter } = useQuery(APP_FILTER);
  const [chosen, setChosen] = useSelection();
  const [change, setChange] = useState<'revoke' | 'delete'>();
  const now = useNow(60_000);
  const shown = useMemo(() => shownApps(apps, deliveries, filter, now), [apps, deliveries, filter, now]);
  const columns = useMemo(() => columnsOf(accountId, deliveries), [accountId, deliveries]);
  const none = <Empty title={texts.nothingFits} />;
  const chosenApps = apps.filter(({ appId }) => chosen.has(appId));
  const hidden = chosenApps.length - shown.filter(({ appId }) => chosen.has(appId)).length;
  return (
    <>
      <Filters apps={apps} filter={filter} onFilter={setFilter} />
      {isOwner && (
        <div class="row">
          <span role="status">
            {texts.chosen(chosenApps.length)}
            {hidden > 0 && `; ${texts.hidden(hidden)}`}
          </span>
          {chosenApps.length > 0 && (
            <>
              <Button small kind="quiet" onClick={() => setChosen(new Set())}>
                {texts.clear}
              </Button>
              <Button small kind="danger" onClick={() => setChange('revoke')}>
                {texts.revoke}
              </Button>
              <Button small kind="danger" onClick={() => setChange('delete')}>
                {texts.remove}
              </Button>
            </>
          )}
        </div>
      )}
      <Card flush>
        <Table
          caption={`${texts.caption}: ${common.rows(shown.length, apps.length, 'apps')}`}
          columns={columns}
          rows={shown}
          idOf={({ appId }) => appId}
          orderIn="sort"
          long={shown.length > 60}
          choice={
            isOwner
              ? {
                  chosen,
                  onChosen: setChosen,
                  labelOf: ({ appId, name }) => texts.chooseOne(isBlank(name) ? appId : name),
                  all: texts.chooseAll,
                }
              : undefined
          }
        />
        {shown.length === 0 && (filter.configuration === '' ? none : <Shown of={delivered}>{() => none}</Shown>)}
      </Card>
      {change && (
        <ChangeMany
          accountId={accountId}
          apps={chosenApps}
          change={change}
          onClose={(left) => {
            setChange(undefined);
            setChosen(new Set(left));
            onChanged();
          }}
        />
      )}
    </>
  );
}

const TONES = { active: 'good', pending: 'warn', revoked: 'bad' } as const;
const ICONS = { active: 'check', pending: 'clock', revoked: 'cross' } as const;

const DELIVERY_TONES = { failed: 'bad', unhealthy: 'bad', silent: 'warn', pending: 'calm', applied: 'good' } as const;
const DELIVERY_ICONS = {
  failed: 'cross',
  unhealthy: 'warn',
  silent: 'clock',
  pending: 'clock',
  applied: 'check',
} as const;

/** What a daemon does with the configuration, with its words where it could not. */
const DeliveryState = ({ delivery }: { delivery: Delivery | undefined }) =>
  delivery && (
    <span class="row tight" title={delivery.error}>
      <Badge tone={DELIVERY_TONES[delivery.state]} icon={DELIVERY_ICONS[delivery.state]}>
        {texts.deliveries[delivery.state]}
      </Badge>
      {delivery.error !== undefined && <bdi class="words quiet">{delivery.error}</bdi>}
    </span>
  );

/** The status of an app in a word. */
export const AppStatus = ({ status }: { status: PanelApp['status'] }) => (
  <Badge tone={TONES[status]} icon={ICONS[status]}>
    {texts.statuses[status]}
  </Badge>
);

function columnsOf(accountId: string, deliveries: Deliveries): readonly Column<PanelApp>[] {
  const { columns } = texts;
  return [
    {
      name: columns.name,
      names: true,
      by: ({ name }) => inNumericOrder(name),
      cell: ({ appId, name }) => (
        <Link to={pathOfApp(accountId, appId)}>
          <Name otherwise={appId}>{name}</Name>
        </Link>
      ),
    },
    { name: columns.status, by: ({ status }) => status, cell: ({ status }) => <AppStatus status={status} /> },
    {
      name: columns.configuration,
      by: ({ appId }) => {
        const state = deliveries.get(appId)?.state;
        return state === undefined ? DELIVERY_STATES.length : DELIVERY_STATES.indexOf(state);
      },
      cell: ({ appId }) => <DeliveryState delivery={deliveries.get(appId)} />,
    },
    {
      name: columns.platform,
      by: ({ platform }) => inNumericOrder(platform),
      cell: ({ platform }) => <Name>{platform}</Name>,
    },
    {
      name: columns.version,
      by: ({ agentVersion }) => inNumericOrder(agentVersion),
      cell: ({ agentVersion }) => <Name>{agentVersion}</Name>,
    },
    { name: columns.lastSeen, by: ({ lastSeenAt }) => lastSeenAt ?? '', cell: (app) => <Time at={app.lastSeenAt} /> },
    { name: columns.created, by: ({ createdAt }) => createdAt, cell: ({ createdAt }) => <Time at={createdAt} /> },
  ];
}

interface FiltersProps {
  readonly apps: readonly PanelApp[];
  readonly filter: AppFilter;
  readonly onFilter: (part: Partial<AppFilter>) => void;
}

function Filters({ apps, filter, onFilter: set }: FiltersProps) {
  const { platforms, versions } = useMemo(() => optionsOf(apps), [apps]);
  // A link may ask for one that no app has any longer.
  const named = (values: readonly string[], asked: string) => [
    ['', texts.any] as const,
    ...new Map(
      [...values.map((value) => `=${value}`), asked]
        .filter((value) => value !== '')
        .map((value) => [value, value === '=' ? texts.unknown : value.slice(1)] as const),
    ),
  ];
  const { silentOptions, statuses } = texts;
  return (
    <div class="toolbar" role="search">
      <TextField
        label={texts.search}
        placeholder={texts.searchHint}
        type="search"
        grow
        value={filter.q}
        onValue={(q) => set({ q })}
        maxLength={200}
      />
      <Select
        label={texts.status}
        value={filter.status}
        options={[
          ['', texts.anyStatus],
          ['pending', statuses.pending],
          ['active', statuses.active],
          ['revoked', statuses.revoked],
        ]}
        onValue={(status) => set({ status })}
      />
      <Select
        label={texts.columns.configuration}
        value={filter.configuration}
        options={[['', texts.any], ...DELIVERY_STATES.map((state) => [state, texts.deliveries[state]] as const)]}
        onValue={(configuration) => set({ configuration })}
      />
      <Select
        label={texts.platform}
        value={filter.platform}
        options={named(platforms, filter.platform)}
        onValue={(platform) => set({ platform })}
      />
      <Select
        label={texts.version}
        value={filter.version}
        options={named(versions, filter.version)}
        onValue={(version) => set({ version })}
      />
      <Select
        label={texts.silent}
        value={filter.silent}
        options={[
          ['any', silentOptions.any],
          ['hour', silentOptions.hour],
          ['day', silentOptions.day],
          ['week', silentOptions.week],
          ['never', silentOptions.never],
        ]}
        onValue={(silent) => set({ silent })}
      />
    </div>
  );
}
