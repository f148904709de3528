import { isBlank } from '../../../src/text/shown-name.ts';
import { useState } from 'preact/hooks';
import { account, type ConsentedApp } from '../../api/panel.ts';
import { useAction } from '../../hooks/use-action.ts';
import { useResource } from '../../hooks/use-resource.ts';
import { Link } from '../../shell/link.tsx';
import { pathOfApp } from '../../shell/router.ts';
import { useIsOpen } from '../../shell/rights.ts';
import { useSession } from '../../shell/session.tsx';
import { common } from '../../text/common.ts';
import { accountSettings as texts } from '../../text/operator.ts';
import { Badge, Button, TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Form } from '../../ui/form.tsx';
import { Card, Name, Time } from '../../ui/page.tsx';
import { Problem, Shown } from '../../ui/state.tsx';
import type { Column } from '../../ui/column.ts';
import { Table } from '../../ui/table.tsx';
import { Pager, usePlaces } from './pager.tsx';
import { needed } from '../../ui/tried.ts';

const PAGE = 100;

/** The apps of an account, with the FleetApps that may adopt them or stand for them. */
export function Consents({ accountId }: { accountId: string }) {
  const places = usePlaces();
  const { place } = places;
  const consents = useResource(
    `consents ${accountId} ${place ?? ''}`,
    (signal) => account(accountId).consents({ limit: PAGE, ...(place !== undefined && { after: place }) }, { signal }),
    { of: accountId, topics: ['apps'] },
  );
  const [changed, setChanged] = useState<ConsentedApp>();
  return (
    <Card title={texts.apps}>
      <div class="stack">
        <p class="quiet">{texts.appsLead}</p>
        <Shown of={consents} lines={3}>
          {({ apps, next }) => (
            <>
              {apps.length === 0 && place === undefined ? (
                <p>{texts.noApps}</p>
              ) : (
                <ConsentTable
                  accountId={accountId}
                  apps={apps}
                  isWhole={place === undefined && next === undefined}
                  onChange={setChanged}
                />
              )}
              <Pager places={places} next={next} />
            </>
          )}
        </Shown>
      </div>
      {changed && (
        <Consent
          accountId={accountId}
          app={changed}
          onClose={() => setChanged(undefined)}
          onChanged={consents.reload}
        />
      )}
    </Card>
  );
}

const nameOf = ({ appId, name }: ConsentedApp): string => (isBlank(name) ? appId : name);

interface ConsentTableProps {
  readonly accountId: string;
  readonly apps: readonly ConsentedApp[];
  readonly isWhole: boolean;
  readonly onChange: (app: ConsentedApp) => void;
}

function ConsentTable({ accountId, apps, isWhole, onChange }: ConsentTableProps) {
  const { appColumns: columns } = texts;
  const mayChange = useIsOpen()('changeConsent');
  const change: Column<ConsentedApp> = {
    name: columns.actions,
    unseen: true,
    cell: (app) => (
      <Button small aria-label={texts.changeOne(nameOf(app))} onClick={() => onChange(app)}>
        {texts.change}
      </Button>
    ),
  };
  return (
    <Table
      caption={texts.appsCaption}
      rows={apps}
      idOf={({ appId }) => appId}
      orderIn="sort"
      isPart={!isWhole}
      long={apps.length > 60}
      keptAs="consents"
      columns={[
        {
          name: columns.app,
          names: true,
          by: (app) => nameOf(app).toLowerCase(),
          cell: (app) => (
            <Link to={pathOfApp(accountId, app.appId)}>
              <Name>{nameOf(app)}</Name>
            </Link>
          ),
        },
        { name: columns.status, by: ({ status }) => status, cell: ({ status }) => <Badge>{status}</Badge> },
        {
          name: columns.adoptable,
          by: ({ adoptableBy }) => adoptableBy ?? null,
          cell: ({ adoptableBy = '' }) => <Name>{adoptableBy}</Name>,
        },
        {
          name: columns.until,
          by: ({ adoptableUntil }) => adoptableUntil ?? null,
          cell: ({ adoptableUntil }) => adoptableUntil && <Time at={adoptableUntil} />,
        },
        {
          name: columns.managed,
          by: ({ managedBy }) => managedBy ?? null,
          cell: ({ managedBy = '' }) => <Name>{managedBy}</Name>,
        },
        ...(mayChange ? [change] : []),
      ]}
    />
  );
}

interface ConsentProps {
  readonly accountId: string;
  readonly app: ConsentedApp;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

function Consent({ accountId, app, onClose, onChanged }: ConsentProps) {
  const { say } = useSession();
  const [resource, setResource] = useState(app.adoptableBy ?? '');
  const { busy, error, run } = useAction(async (adoptableBy: string | null) => {
    await account(accountId).changeConsent(app.appId, adoptableBy);
    say(adoptableBy === null ? texts.consentWithdrawn : texts.consentGiven);
    onChanged();
    onClose();
  });
  return (
    <Dialog title={texts.consentTitle} onClose={onClose}>
      <p>
        <Name>{nameOf(app)}</Name>
      </p>
      <p>{texts.consentSays}</p>
      <Form onSend={() => run(resource.trim())}>
        <TextField
          label={texts.appField}
          value={resource}
          onValue={setResource}
          missing={needed(resource)}
          spellcheck={false}
          autocomplete="off"
          maxLength={507}
          autofocus
        />
        <Problem error={error} />
        <div class="actions">
          <Button onClick={onClose}>{common.cancel}</Button>
          {app.adoptableBy !== undefined && (
            <Button kind="danger" busy={busy} onClick={() => run(null)}>
              {texts.withdraw}
            </Button>
          )}
          <Button type="submit" kind="primary" busy={busy}>
            {texts.allow}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
