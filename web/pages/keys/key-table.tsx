import { useNow } from '../../hooks/use-now.ts';
import type { ListedApiKey } from '../../api/panel.ts';
import { common } from '../../text/common.ts';
import { formatCount, formatInstant } from '../../text/format.ts';
import { keys as texts } from '../../text/keys.ts';
import { Named } from '../../ui/actor.tsx';
import { Badge, Button } from '../../ui/controls.tsx';
import { Name, Time } from '../../ui/page.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { isBlank } from '../../../src/text/shown-name.ts';

const SOON_MS = 14 * 86_400_000;

/** What can be done with a key that is there. */
export type KeyChange = 'roll' | 'expire' | 'revoke';

interface KeyTableProps {
  readonly accountId: string;
  readonly keys: readonly ListedApiKey[];
  /** Whoever may look alone has none. */
  readonly onChange?: ((change: KeyChange, key: ListedApiKey) => void) | undefined;
}

const { columns } = texts;

export function KeyTable({ accountId, keys, onChange }: KeyTableProps) {
  const now = useNow(60_000);
  const hasFormer = keys.some(({ formerExpiresAt }) => formerExpiresAt !== null);
  return (
    <Table
      caption={texts.caption}
      rows={keys}
      idOf={({ keyId }) => keyId}
      orderIn="sort"
      columns={[
        {
          name: columns.name,
          names: true,
          by: ({ name }) => name,
          cell: ({ name }) => <Name otherwise={texts.unnamed}>{name}</Name>,
        },
        { name: columns.id, cell: ({ keyId }) => <code>{keyId}</code> },
        { name: columns.created, by: ({ createdAt }) => createdAt, cell: ({ createdAt }) => <Time at={createdAt} /> },
        {
          name: columns.by,
          cell: ({ createdBy, createdByName }) =>
            createdBy === undefined ? '—' : <Named of={createdBy} name={createdByName} accountId={accountId} />,
        },
        {
          name: columns.expires,
          by: ({ expiresAt }) => expiresAt ?? '~',
          cell: ({ expiresAt }) => <Expiry at={expiresAt} now={now} />,
        },
        ...(hasFormer ? [FORMER] : []),
        {
          name: columns.lastUsed,
          by: ({ lastUsedAt }) => lastUsedAt ?? '',
          cell: ({ lastUsedAt }) => <Time at={lastUsedAt} />,
        },
        {
          name: columns.calls,
          number: true,
          by: ({ calls7d }) => calls7d,
          cell: ({ calls7d }) => formatCount(calls7d),
        },
        ...(onChange ? [actions(onChange, now)] : []),
      ]}
    />
  );
}

function Expiry({ at, now }: { at: string | null; now: number }) {
  if (at === null) return <span class="quiet">{common.never}</span>;
  const leftMs = Date.parse(at) - now;
  return (
    <span class="row">
      <Time at={at} />
      {leftMs <= 0 ? (
        <Badge tone="bad">{texts.expired}</Badge>
      ) : (
        leftMs < SOON_MS && <Badge tone="warn">{texts.soon}</Badge>
      )}
    </span>
  );
}

/** Beside the present secret the one of before the last roll works, too. */
const FORMER: Column<ListedApiKey> = {
  name: columns.former,
  by: ({ formerExpiresAt }) => formerExpiresAt ?? '~',
  cell: ({ formerExpiresAt }) =>
    formerExpiresAt === null ? (
      <span class="quiet">{texts.formerNone}</span>
    ) : (
      <span>
        {texts.formerWorks} {formatInstant(formerExpiresAt)}
      </span>
    ),
};

/** A key that has expired can only be revoked. */
function actions(onChange: NonNullable<KeyTableProps['onChange']>, now: number): Column<ListedApiKey> {
  return {
    name: columns.actions,
    unseen: true,
    cell: (key) => {
      const named = isBlank(key.name) ? key.keyId : key.name;
      const isLiving = key.expiresAt === null || Date.parse(key.expiresAt) > now;
      return (
        <span class="row">
          {isLiving && (
            <>
              <Button small aria-label={texts.rollOne(named)} onClick={() => onChange('roll', key)}>
                {texts.roll}
              </Button>
              <Button small aria-label={texts.expireOne(named)} onClick={() => onChange('expire', key)}>
                {texts.expire}
              </Button>
            </>
          )}
          <Button small kind="danger" aria-label={texts.revokeOne(named)} onClick={() => onChange('revoke', key)}>
            {texts.revoke}
          </Button>
        </span>
      );
    },
  };
}
