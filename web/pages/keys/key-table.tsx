import { useNow } from '../../hooks/use-now.ts';
import type { ListedApiKey } from '../../api/panel.ts';
import { common } from '../../text/common.ts';
import { formatAge, formatCount, formatInstant } from '../../text/format.ts';
import { keys as texts } from '../../text/keys.ts';
import { Named } from '../../ui/actor.tsx';
import { ActionsMenu } from '../../ui/actions-menu.tsx';
import { Badge } from '../../ui/controls.tsx';
import { Copied } from '../../ui/copied.tsx';
import { Name, Time } from '../../ui/page.tsx';
import { inNumericOrder } from '../../ui/table-order.ts';
import { Table, type Column } from '../../ui/table.tsx';
import { Words } from '../../ui/words.tsx';
import { KEY_ACCESSES } from '../../../src/domain/records/key-access.ts';
import { isBlank } from '../../../src/text/shown-name.ts';

const SOON_MS = 14 * 86_400_000;

/** The actions on a key that is there. */
export const KEY_CHANGES = ['rotate', 'endOverlap', 'expire', 'narrow', 'revoke'] as const;
export type KeyChange = (typeof KEY_CHANGES)[number];

interface KeyTableProps {
  readonly accountId: string;
  readonly keys: readonly ListedApiKey[];
  /** The changes that the user may make; a person who may only look has none. */
  readonly changes: readonly KeyChange[];
  readonly onChange: (change: KeyChange, key: ListedApiKey) => void;
}

const { columns } = texts;

export function KeyTable({ accountId, keys, changes, onChange }: KeyTableProps) {
  const now = useNow(60_000);
  const isLess = keys.some(({ access }) => access !== 'full');
  const isBound = keys.some(({ allowedCidrs }) => allowedCidrs.length > 0);
  const hasFormer = keys.some(({ formerExpiresAt }) => formerExpiresAt !== null);
  return (
    <Table
      caption={texts.caption}
      rows={keys}
      idOf={({ keyId }) => keyId}
      orderIn="sort"
      keptAs="keys"
      columns={[
        {
          name: columns.name,
          names: true,
          by: ({ name }) => (isBlank(name) ? null : inNumericOrder(name)),
          cell: ({ keyId, name }) => <Name otherwise={keyId}>{name}</Name>,
        },
        { name: columns.id, atFirst: false, by: ({ keyId }) => keyId, cell: ({ keyId }) => <Copied text={keyId} /> },
        ...(isLess ? [ACCESS] : []),
        ...(isBound ? [RANGES] : []),
        {
          name: columns.created,
          atFirst: false,
          by: ({ createdAt }) => createdAt,
          cell: ({ createdAt }) => <Time at={createdAt} />,
        },
        {
          name: columns.by,
          atFirst: false,
          by: ({ createdBy, createdByName }) => inNumericOrder(createdByName ?? createdBy ?? '') || null,
          cell: ({ createdBy, createdByName }) =>
            createdBy === undefined ? '—' : <Named of={createdBy} name={createdByName} accountId={accountId} />,
        },
        {
          name: columns.expires,
          by: ({ expiresAt }) => expiresAt,
          cell: ({ expiresAt }) => <Expiry at={expiresAt} now={now} />,
        },
        ...(hasFormer ? [FORMER] : []),
        {
          name: columns.lastUsed,
          by: ({ lastUsedAt }) => lastUsedAt,
          cell: ({ lastUsedAt }) => <Time at={lastUsedAt} />,
        },
        {
          name: columns.calls,
          number: true,
          by: ({ calls7d }) => calls7d,
          cell: ({ calls7d }) => formatCount(calls7d),
        },
        ...(changes.length > 0 ? [actions({ changes, onChange }, now)] : []),
      ]}
    />
  );
}

function Expiry({ at, now }: { at: string | null; now: number }) {
  if (at === null) return <span class="quiet">{common.never}</span>;
  const leftMs = Date.parse(at) - now;
  return (
    <span class="row tight">
      <Time at={at} />
      {leftMs <= 0 ? (
        <Badge tone="bad">{texts.expired}</Badge>
      ) : (
        leftMs < SOON_MS && <Badge tone="warn">{texts.soon}</Badge>
      )}
    </span>
  );
}

/** The access of a key, in a list where one has less than all. */
const ACCESS: Column<ListedApiKey> = {
  name: columns.access,
  by: ({ access }) => KEY_ACCESSES.indexOf(access),
  cell: ({ access }) => (access === 'full' ? texts.scope.accesses.full : <Badge>{texts.scope.accesses[access]}</Badge>),
};

/** The addresses from which a key may be used, in the list where one is bound to some. */
const RANGES: Column<ListedApiKey> = {
  name: columns.ranges,
  cell: ({ allowedCidrs }) =>
    allowedCidrs.length === 0 ? (
      <span class="quiet">{texts.scope.everywhere}</span>
    ) : (
      <Words>{allowedCidrs.join(', ')}</Words>
    ),
};

/** Beside the current secret the previous one works, too, for as long as was chosen at the rotation. */
const FORMER: Column<ListedApiKey> = {
  name: columns.former,
  by: ({ formerExpiresAt }) => formerExpiresAt,
  cell: ({ formerExpiresAt }) =>
    formerExpiresAt === null ? <span class="quiet">{texts.formerNone}</span> : <Until at={formerExpiresAt} />,
};

/** The time for which it works on. The instant is behind it: the column is short-lived and beside two of instants. */
const Until = ({ at }: { at: string }) => (
  <time dateTime={at} title={formatInstant(at)}>
    {formatAge(at, useNow(60_000))}
  </time>
);

/** A key that has expired can only be revoked. */
function actions(
  { changes, onChange }: Pick<KeyTableProps, 'changes' | 'onChange'>,
  now: number,
): Column<ListedApiKey> {
  return {
    name: columns.actions,
    unseen: true,
    cell: (key) => {
      const isLiving = key.expiresAt === null || Date.parse(key.expiresAt) > now;
      return (
        <ActionsMenu
          of={isBlank(key.name) ? key.keyId : key.name}
          actions={changes
            .filter(
              (change) =>
                change === 'revoke' || (isLiving && (change !== 'endOverlap' || key.formerExpiresAt !== null)),
            )
            .map((change) => ({
              name: texts[change],
              ...(change === 'revoke' && { danger: true }),
              onChoose: () => onChange(change, key),
            }))}
        />
      );
    },
  };
}
