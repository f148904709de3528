import { useState } from 'preact/hooks';
import { anyText, useQuery } from '../../address/use-query.ts';
import { account, type Configuration, type ConfigurationRevision } from '../../api/panel.ts';
import { useResource } from '../../hooks/use-resource.ts';
import { audit } from '../../text/audit.ts';
import { configuration } from '../../text/configuration.ts';
import { formatCount } from '../../text/format.ts';
import { Badge, Button, Select } from '../../ui/controls.tsx';
import { Copied } from '../../ui/copied.tsx';
import { isBlank } from '../../../src/text/shown-name.ts';
import { Card, Name, Time } from '../../ui/page.tsx';
import { Shown } from '../../ui/state.tsx';
import { inNumericOrder } from '../../ui/table-order.ts';
import { Table, type Column } from '../../ui/table.tsx';
import { Differences } from './differences.tsx';
import { RestoreDialog } from './restore.tsx';

const texts = configuration.revisions;

interface RevisionsProps {
  readonly accountId: string;
  readonly stored: Configuration;
  readonly isOwner: boolean;
  readonly onRestored: () => void;
}

/** The kept revisions of the configuration: what each had, how any two differ, and the way back to one. */
export function Revisions({ accountId, stored, isOwner, onRestored }: RevisionsProps) {
  const kept = useResource(`revisions ${accountId}`, (signal) => account(accountId).revisions({ signal }), {
    of: accountId,
    topics: ['config', 'rollout', 'account'],
  });
  const [asked, setAsked] = useState<{ readonly revision: ConfigurationRevision; readonly now: Configuration }>();
  return (
    <Card title={texts.title}>
      <div class="stack">
        <p class="quiet">{texts.lead}</p>
        <Shown of={kept} lines={4}>
          {({ revisions }) =>
            revisions.length === 0 ? (
              <p>{texts.none}</p>
            ) : (
              <>
                <div class="short-names">
                  <List
                    revisions={revisions}
                    current={stored.revision}
                    onRestore={
                      isOwner && stored.entitlement === 'enterprise'
                        ? (revision) => setAsked({ revision, now: stored })
                        : undefined
                    }
                  />
                </div>
                {revisions.length > 1 && <Comparison revisions={revisions} />}
              </>
            )
          }
        </Shown>
      </div>
      {asked && (
        <RestoreDialog
          accountId={accountId}
          {...asked}
          onClose={() => setAsked(undefined)}
          onChanged={() => {
            onRestored();
            kept.reload();
          }}
        />
      )}
    </Card>
  );
}

interface ListProps {
  readonly revisions: readonly ConfigurationRevision[];
  /** The number of the revision that is stored now. */
  readonly current: number;
  /** Asks for the restoration of one; undefined for those who may not. */
  readonly onRestore: ((revision: ConfigurationRevision) => void) | undefined;
}

function List({ revisions, current, onRestore }: ListProps) {
  const { columns } = texts;
  const restoring: readonly Column<ConfigurationRevision>[] =
    onRestore === undefined
      ? []
      : [
          {
            name: columns.actions,
            unseen: true,
            cell: (one) =>
              one.revision !== current && (
                <Button small aria-label={texts.restoreNamed(one.revision)} onClick={() => onRestore(one)}>
                  {texts.restore}
                </Button>
              ),
          },
        ];
  return (
    <Table
      caption={texts.table}
      rows={revisions}
      idOf={({ revision }) => String(revision)}
      orderIn="sort"
      keptAs="revisions"
      columns={[
        {
          name: columns.revision,
          names: true,
          by: ({ revision }) => revision,
          cell: ({ revision, restores }) => (
            <span class="row tight">
              {formatCount(revision)} {revision === current && <Badge tone="good">{texts.current}</Badge>}
              {restores !== null && <span class="quiet small">{texts.restored(restores)}</span>}
            </span>
          ),
        },
        { name: columns.at, by: ({ at }) => at, cell: ({ at }) => <Time at={at} /> },
        {
          name: columns.by,
          by: ({ by: { id, name } }) => inNumericOrder(name || id),
          cell: ({ by }) => <Author by={by} />,
        },
        {
          name: columns.endpoint,
          by: ({ endpoint }) => endpoint || null,
          cell: ({ endpoint }) => <Name otherwise={configuration.dialog.none}>{endpoint}</Name>,
        },
        {
          name: columns.evidence,
          atFirst: false,
          by: ({ evidenceLevel }) => evidenceLevel,
          cell: ({ evidenceLevel }) => evidenceLevel,
        },
        {
          name: columns.rollout,
          by: ({ rollout }) => rollout && rollout.applied,
          cell: ({ rollout }) => <Name>{rolloutText(rollout)}</Name>,
        },
        ...restoring,
      ]}
    />
  );
}

/** The author by the name that they had then. */
function Author({ by: { kind, id, name } }: Pick<ConfigurationRevision, 'by'>) {
  const says = kind === 'user' && name !== '' ? '' : `${audit.actors[kind]} `;
  return (
    <span class="row tight" title={id}>
      {says}
      {isBlank(name) ? <Copied text={id} /> : <Name>{name}</Name>}
    </span>
  );
}

function rolloutText(rollout: ConfigurationRevision['rollout']): string {
  if (rollout === null) return texts.rolloutUnknown;
  const states = ['applied', 'failed', 'pending', 'stale'] as const;
  const told = states
    .filter((state) => rollout[state] > 0)
    .map((state) => `${formatCount(rollout[state])} ${texts.counts[state]}`);
  return told.length === 0 ? texts.noDaemons : told.join(', ');
}

/** The numbers of the two that are compared. */
const PAIR = { from: anyText(16), to: anyText(16) };

/** How any two of them differ; at first the newest and the one before it. */
function Comparison({ revisions }: Pick<ListProps, 'revisions'>) {
  const { state, change } = useQuery(PAIR);
  const [to, from] = [numbered(revisions, state.to) ?? revisions[0], numbered(revisions, state.from) ?? revisions[1]];
  if (!from || !to) return null;
  const options = revisions.map(({ revision }) => [String(revision), texts.named(revision)] as const);
  return (
    <div class="stack short-names" role="group" aria-label={texts.compare}>
      <h3>{texts.compare}</h3>
      <div class="row">
        <Select
          label={texts.from}
          value={String(from.revision)}
          options={options}
          onValue={(value) => change({ from: value })}
        />
        <Select
          label={texts.to}
          value={String(to.revision)}
          options={options}
          onValue={(value) => change({ to: value })}
        />
      </div>
      <Differences
        before={from}
        after={to}
        names={[texts.named(from.revision), texts.named(to.revision)]}
        same={texts.same}
      />
    </div>
  );
}

const numbered = (revisions: readonly ConfigurationRevision[], revision: string): ConfigurationRevision | undefined =>
  revisions.find((one) => String(one.revision) === revision);
