import type { Delivery, PanelApp } from '../../api/panel.ts';
import { Link } from '../../shell/link.tsx';
import { pathOfApp } from '../../shell/router.ts';
import { apps as texts } from '../../text/apps.ts';
import { common } from '../../text/common.ts';
import { Badge } from '../../ui/controls.tsx';
import { DistinctName } from '../../ui/distinct-name.tsx';
import { Name, Time } from '../../ui/page.tsx';
import { Popover } from '../../ui/popover.tsx';
import type { Column } from '../../ui/table.tsx';
import { isBlank } from '../../../src/text/shown-name.ts';
import { inNumericOrder } from '../../ui/table-order.ts';
import { DELIVERY_STATES, type Deliveries } from './filter.ts';

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

/** The state of the configuration at a daemon, with its words where it could not apply it. */
const DeliveryState = ({ delivery }: { delivery: Delivery | undefined }) => (
  <div class="delivery">
    {delivery && (
      <Badge tone={DELIVERY_TONES[delivery.state]} icon={DELIVERY_ICONS[delivery.state]}>
        {texts.deliveries[delivery.state]}
      </Badge>
    )}
    {delivery?.error !== undefined && (
      <Popover small kind="words" label={<bdi>{delivery.error}</bdi>} role="group" heard={texts.said} first="p">
        {() => (
          <p tabIndex={-1}>
            <bdi>{delivery.error}</bdi>
          </p>
        )}
      </Popover>
    )}
  </div>
);

/** The status of an app in a word. */
export const AppStatus = ({ status }: { status: PanelApp['status'] }) => (
  <Badge tone={TONES[status]} icon={ICONS[status]}>
    {texts.statuses[status]}
  </Badge>
);

/** Tells whether a daemon has ever enrolled: until then its connection is not known. */
export const hasEnrolled = ({ status, lastSeenAt }: PanelApp): boolean => status === 'active' || lastSeenAt !== null;

/** The columns of the apps. */
export function columnsOf(accountId: string, deliveries: Deliveries): readonly Column<PanelApp>[] {
  const { columns } = texts;
  return [
    {
      name: columns.name,
      names: true,
      by: ({ appId, name }) => inNumericOrder(isBlank(name) ? appId : name),
      cell: ({ appId, name }) => (
        <Link to={pathOfApp(accountId, appId)} aria-label={isBlank(name) ? appId : name}>
          <DistinctName otherwise={appId}>{name}</DistinctName>
        </Link>
      ),
    },
    { name: columns.status, by: ({ status }) => status, cell: ({ status }) => <AppStatus status={status} /> },
    {
      name: columns.configuration,
      by: ({ appId }) => {
        const state = deliveries.get(appId)?.state;
        return state === undefined ? null : DELIVERY_STATES.indexOf(state);
      },
      cell: ({ appId }) => <DeliveryState delivery={deliveries.get(appId)} />,
    },
    {
      name: columns.platform,
      by: ({ platform }) => inNumericOrder(platform) || null,
      cell: ({ platform }) => <Name>{platform}</Name>,
    },
    {
      name: columns.version,
      by: ({ agentVersion }) => inNumericOrder(agentVersion) || null,
      cell: ({ agentVersion }) => <Name>{agentVersion}</Name>,
    },
    {
      name: columns.connection,
      atFirst: false,
      by: (app) => (hasEnrolled(app) ? app.connection : null),
      cell: (app) => (hasEnrolled(app) ? texts.connections[app.connection] : <span class="quiet">{common.none}</span>),
    },
    {
      name: columns.lastSeen,
      by: ({ lastSeenAt }) => lastSeenAt,
      cell: ({ lastSeenAt }) => <Time at={lastSeenAt} />,
    },
    {
      name: columns.created,
      atFirst: false,
      by: ({ createdAt }) => createdAt,
      cell: ({ createdAt }) => <Time at={createdAt} />,
    },
  ];
}
