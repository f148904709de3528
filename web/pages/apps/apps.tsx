import { useMemo, useState } from 'preact/hooks';
import { account, type PanelApp } from '../../api/panel.ts';
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
import { inNumericOrder, NO_FILTER, optionsOf, shownApps, type AppFilter } from './filter.ts';
import { isBlank } from '../../../src/text/shown-name.ts';

/** All apps of the account: found, chosen, changed, created. */
export function AppsPage({ accountId }: PageProps) {
  const apps = useResource(`apps ${accountId}`, (signal) => account(accountId).apps({ signal }), {
    of: accountId,
    topics: ['apps', 'seen'],
  });
  const isOwner = useIsOwner(accountId);
  const [isCreating, setCreating] = useState(false);
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
            <AppTable accountId={accountId} apps={all} isOwner={isOwner} onChanged={apps.reload} />
          )
        }
      </Shown>
      {isCreating && <CreateApps accountId={accountId} onClose={() => setCreating(false)} onCreated={apps.reload} />}
    </Page>
  );
}

interface AppTableProps {
  readonly accountId: string;
  readonly apps: readonly PanelApp[];
  readonly isOwner: boolean;
  readonly onChanged: () => void;
}

function AppTable({ accountId, apps, isOwner, onChanged }: AppTableProps) {
  const [filter, setFilter] = useState<AppFilter>(NO_FILTER);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [change, setChange] = useState<'revoke' | 'delete'>();
  const now = useNow(60_000);
  const shown = useMemo(() => shownApps(apps, filter, now), [apps, filter, now]);
  const choose = (id: string, isChosen: boolean): void => {
    const next = new Set(chosen);
    if (isChosen) next.add(id);
    else next.delete(id);
    setChosen(next);
  };
  const columns = useMemo(() => columnsOf(accountId, isOwner, chosen, choose), [accountId, isOwner, chosen]);
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
          <Button small onClick={() => setChosen(new Set(shown.map(({ appId }) => appId)))}>
            {texts.chooseAll}
          </Button>
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
          chosen={chosen}
          long={shown.length > 60}
        />
        {shown.length === 0 && <Empty title={texts.nothingFits} />}
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

/** The status of an app in a word. */
export const AppStatus = ({ status }: { status: PanelApp['status'] }) => (
  <Badge tone={TONES[status]} icon={ICONS[status]}>
    {texts.statuses[status]}
  </Badge>
);

function columnsOf(
  accountId: string,
  isOwner: boolean,
  chosen: ReadonlySet<string>,
  choose: (id: string, isChosen: boolean) => void,
): readonly Column<PanelApp>[] {
  const { columns } = texts;
  const chooser: Column<PanelApp> = {
    name: columns.choose,
    unseen: true,
    cell: ({ appId, name }) => (
      <input
        type="checkbox"
        aria-label={texts.chooseOne(isBlank(name) ? appId : name)}
        checked={chosen.has(appId)}
        onChange={(event) => choose(appId, event.currentTarget.checked)}
      />
    ),
  };
  return [
    ...(isOwner ? [chooser] : []),
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
  readonly onFilter: (filter: AppFilter) => void;
}

function Filters({ apps, filter, onFilter }: FiltersProps) {
  const set = (part: Partial<AppFilter>): void => onFilter({ ...filter, ...part });
  const { platforms, versions } = useMemo(() => optionsOf(apps), [apps]);
  const named = (values: readonly string[]) => [
    ['', texts.any] as const,
    ...values.map((value) => [`=${value}`, value === '' ? texts.unknown : value] as const),
  ];
  const { silentOptions, statuses } = texts;
  return (
    <div class="toolbar" role="search">
      <TextField
        label={texts.search}
        placeholder={texts.searchHint}
        type="search"
        grow
        value={filter.text}
        onValue={(text) => set({ text })}
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
        label={texts.platform}
        value={filter.platform}
        options={named(platforms)}
        onValue={(platform) => set({ platform })}
      />
      <Select
        label={texts.version}
        value={filter.version}
        options={named(versions)}
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
