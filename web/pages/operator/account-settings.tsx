import { useState } from 'preact/hooks';
import { account, type Account, type ConsentedApp } from '../../api/panel.ts';
import { useAction } from '../../hooks/use-action.ts';
import { useResource } from '../../hooks/use-resource.ts';
import type { PageProps } from '../../shell/pages.tsx';
import { useSession } from '../../shell/session.tsx';
import { common } from '../../text/common.ts';
import { accounts, accountSettings as texts } from '../../text/operator.ts';
import { Button, Select, TextField } from '../../ui/controls.tsx';
import { Confirm, Dialog } from '../../ui/dialog.tsx';
import { Card, Name, Page } from '../../ui/page.tsx';
import { Problem, Shown } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';

/** What an operator changes of an account. */
export function AccountSettingsPage({ accountId }: PageProps) {
  const read = useResource(`account ${accountId}`, (signal) => account(accountId).read({ signal }), {
    of: accountId,
    topics: ['account'],
  });
  return (
    <Page title={texts.title} lead={read.data?.name}>
      <Shown of={read}>
        {(data) => (
          <>
            <div class="grid two">
              <Fields key={`${data.name} ${data.entitlement}`} data={data} onChanged={read.reload} />
              <Disabling data={data} onChanged={read.reload} />
              <Adoption data={data} onChanged={read.reload} />
            </div>
            <Consents accountId={accountId} />
          </>
        )}
      </Shown>
    </Page>
  );
}

interface PartProps {
  readonly data: Account;
  readonly onChanged: () => void;
}

function Fields({ data, onChanged }: PartProps) {
  const { say } = useSession();
  const [name, setName] = useState(data.name);
  const [entitlement, setEntitlement] = useState(data.entitlement);
  const { busy, error, run } = useAction(async () => {
    await account(data.accountId).change({ name: name.trim(), entitlement });
    say(texts.saved);
    onChanged();
  });
  const isChanged = name.trim() !== data.name || entitlement !== data.entitlement;
  return (
    <Card title={texts.form}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          run();
        }}
      >
        <TextField label={accounts.name} value={name} onValue={setName} maxLength={200} />
        <Select
          label={accounts.entitlement}
          value={entitlement}
          options={Object.entries(accounts.entitlements) as [Account['entitlement'], string][]}
          onValue={setEntitlement}
        />
        <Problem error={error} />
        <div>
          <Button type="submit" kind="primary" busy={busy} disabled={!isChanged || name.trim() === ''}>
            {texts.save}
          </Button>
        </div>
      </form>
    </Card>
  );
}

function Disabling({ data, onChanged }: PartProps) {
  const { say } = useSession();
  const [isAsking, setAsking] = useState(false);
  const change = async (disabled: boolean): Promise<void> => {
    await account(data.accountId).change({ disabled });
    say(disabled ? texts.disabledNow : texts.enabledNow);
    onChanged();
  };
  const { busy, error, run } = useAction(() => change(false));
  return (
    <Card title={data.disabled ? texts.enable : texts.disable}>
      <div class="stack">
        <p>{texts.disableLead}</p>
        <Problem error={error} />
        <div>
          {data.disabled ? (
            <Button busy={busy} onClick={run}>
              {texts.enable}
            </Button>
          ) : (
            <Button kind="danger" onClick={() => setAsking(true)}>
              {texts.disable}
            </Button>
          )}
        </div>
      </div>
      {isAsking && (
        <Confirm
          title={texts.disableTitle}
          action={texts.disable}
          typed={data.name}
          work={() => change(true)}
          onClose={() => setAsking(false)}
        >
          <p>{texts.disableLead}</p>
        </Confirm>
      )}
    </Card>
  );
}

function Adoption({ data, onChanged }: PartProps) {
  const { say } = useSession();
  const [resource, setResource] = useState(data.adoptableBy ?? '');
  const { busy, error, run } = useAction(async (adoptableBy: string | null) => {
    await account(data.accountId).change({ adoptableBy });
    say(texts.saved);
    onChanged();
  });
  return (
    <Card title={texts.adopt}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          run(resource.trim());
        }}
      >
        <p>{texts.adoptLead}</p>
        {data.managedBy !== undefined && <p>{texts.managedBy(data.managedBy)}</p>}
        {data.releasedBy !== undefined && <p>{texts.releasedBy(data.releasedBy)}</p>}
        <TextField
          label={texts.adoptField}
          value={resource}
          onValue={setResource}
          spellcheck={false}
          autocomplete="off"
        />
        <Problem error={error} />
        <div class="row">
          <Button type="submit" busy={busy} disabled={resource.trim() === ''}>
            {texts.allow}
          </Button>
          {(data.adoptableBy ?? data.releasedBy) !== undefined && (
            <Button kind="danger" busy={busy} onClick={() => run(null)}>
              {texts.withdraw}
            </Button>
          )}
        </div>
      </form>
    </Card>
  );
}

const CONSENTS_SHOWN = 100;

function Consents({ accountId }: { accountId: string }) {
  const consents = useResource(
    `consents ${accountId}`,
    (signal) => account(accountId).consents({ limit: CONSENTS_SHOWN }, { signal }),
    { of: accountId, topics: ['apps'] },
  );
  const [changed, setChanged] = useState<ConsentedApp>();
  const { appColumns: columns } = texts;
  return (
    <Card title={texts.apps}>
      <Shown of={consents} lines={3}>
        {({ apps }) =>
          apps.length === 0 ? (
            <p class="quiet">{texts.noApps}</p>
          ) : (
            <Table
              caption={texts.apps}
              rows={apps}
              idOf={({ appId }) => appId}
              long={apps.length > 60}
              columns={[
                {
                  name: columns.app,
                  names: true,
                  cell: ({ appId, name }) => <Name>{name === '' ? appId : name}</Name>,
                },
                { name: columns.status, cell: ({ status }) => status },
                { name: columns.adoptable, cell: ({ adoptableBy = '' }) => <Name>{adoptableBy}</Name> },
                { name: columns.managed, cell: ({ managedBy = '' }) => <Name>{managedBy}</Name> },
                {
                  name: columns.actions,
                  unseen: true,
                  cell: (app) => (
                    <Button small onClick={() => setChanged(app)}>
                      {texts.change}
                    </Button>
                  ),
                },
              ]}
            />
          )
        }
      </Shown>
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

interface ConsentProps {
  readonly accountId: string;
  readonly app: ConsentedApp;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

function Consent({ accountId, app, onClose, onChanged }: ConsentProps) {
  const [resource, setResource] = useState(app.adoptableBy ?? '');
  const { busy, error, run } = useAction(async (adoptableBy: string | null) => {
    await account(accountId).changeConsent(app.appId, adoptableBy);
    onChanged();
    onClose();
  });
  return (
    <Dialog title={texts.apps} onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          run(resource.trim());
        }}
      >
        <TextField
          label={texts.appField}
          value={resource}
          onValue={setResource}
          spellcheck={false}
          autocomplete="off"
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
          <Button type="submit" kind="primary" busy={busy} disabled={resource.trim() === ''}>
            {texts.allow}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
