import type { PanelApp } from '../../api/panel.ts';
import { useShownAccountName } from '../../shell/account-name.tsx';
import { apps as texts } from '../../text/apps.ts';
import { DownloadButton } from '../../ui/controls.tsx';
import { csvFile } from '../../ui/csv.ts';
import { ordered, orderName, useOrder } from '../../ui/table-order.ts';
import type { Column } from '../../ui/table.tsx';
import { hasEnrolled } from './app-columns.tsx';
import type { Deliveries } from './filter.ts';

const HEAD = [
  'appId',
  'name',
  'status',

  'configuration',
  'configurationError',
  'configurationRevision',
  'platform',
  'agentVersion',
  'connection',
  'createdAt',
  'lastSeenAt',
];

/** @param revision of which the states of the configuration are; undefined where they could not be read */
const rowOf = (app: PanelApp, deliveries: Deliveries, revision: number | undefined): readonly (string | number)[] => {
  const delivery = deliveries.get(app.appId);
  return [
    app.appId,
    app.name,
    app.status,

    delivery?.state ?? '',
    delivery?.error ?? '',
    delivery === undefined ? '' : (revision ?? ''),
    app.platform,
    app.agentVersion,
    hasEnrolled(app) ? app.connection : '',
    app.createdAt,
    app.lastSeenAt ?? '',
  ];
};

/** A name of an account as a part of the name of a file: up to 40 letters and digits. */
const filePart = (name: string): string =>
  /^.{0,40}/u.exec(name.normalize('NFC').replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, '-'))?.[0].replaceAll(/^-|-$/g, '') ?? '';

interface DownloadProps {
  readonly accountId: string;
  /** The apps that the filters let through. */
  readonly shown: readonly PanelApp[];
  readonly chosen: readonly PanelApp[];
  readonly columns: readonly Column<PanelApp>[];
  readonly deliveries: Deliveries;
  readonly revision: number | undefined;
}

/** Saves the chosen apps as a CSV, or all that are shown, in the order of the table. */
export function DownloadApps({ accountId, shown, chosen, columns, deliveries, revision }: DownloadProps) {
  const account = filePart(useShownAccountName() ?? '');
  const [[by, descending]] = useOrder('sort');
  const rows = chosen.length > 0 ? chosen : shown;
  const text = (): string => {
    const inOrder = ordered(rows, columns.find(({ name }) => orderName(name) === by)?.by, descending);
    return csvFile(
      HEAD,
      inOrder.map((app) => rowOf(app, deliveries, revision)),
    );
  };
  return (
    <DownloadButton
      label={texts.csv}
      title={chosen.length > 0 ? texts.csvChosen(chosen.length) : texts.csvShown(shown.length)}
      text={text}
      file={() => `apps-${account === '' ? accountId : account}-${new Date().toISOString().slice(0, 10)}.csv`}
      type="text/csv"
      small={false}
    />
  );
}
