import { useState } from 'preact/hooks';
import { account, type Account } from '../../api/panel.ts';
import { useAction } from '../../hooks/use-action.ts';
import { useResource } from '../../hooks/use-resource.ts';
import { Link } from '../../shell/link.tsx';
import type { PageProps } from '../../shell/page-props.ts';
import { pathOfAccount, pathOfOperator } from '../../shell/router.ts';
import { useIsOpen } from '../../shell/rights.ts';
import { useSession } from '../../shell/session.tsx';
import { formatInstant } from '../../text/format.ts';
import { accounts, accountSettings as texts } from '../../text/operator.ts';
import { formatCount } from '../../text/format.ts';
import { Button, Select, TextField } from '../../ui/controls.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Form } from '../../ui/form.tsx';
import { Card, Name, Page } from '../../ui/page.tsx';
import { Problem, Shown } from '../../ui/state.tsx';
import { Consents } from './consents.tsx';
import { changed, needed } from '../../ui/tried.ts';

/** What an operator changes of an account. */
export function AccountSettingsPage({ accountId }: PageProps) {
  const isOpen = useIsOpen();
  const read = useResource(`account ${accountId}`, (signal) => account(accountId).read({ signal }), {
    of: accountId,
    topics: ['account'],
  });
  return (
    <Page
      title={texts.title}
      lead={read.data && <Lead account={read.data} />}
      actions={
        <>
          <Link class="button" to={pathOfAccount(accountId)}>
            {texts.toOverview}
          </Link>
          <Link class="button" to={pathOfOperator('accounts')}>
            {texts.toAccounts}
          </Link>
        </>
      }
    >
      <Shown of={read}>
        {(data) => (
          <>
            <div class="grid two">
              {isOpen('changeAccount', { name: '' }) && (
                <Fields key={`${data.name} ${data.entitlement}`} data={data} onChanged={read.reload} />
              )}
              {isOpen('changeAccount', { quotaMb: 0 }) && (
                <Quota key={data.quotaMb} data={data} onChanged={read.reload} />
              )}
              {isOpen('changeAccount', { disabled: !data.disabled }) && (
                <Disabling data={data} onChanged={read.reload} />
              )}
              {isOpen('changeAccount', { adoptableBy: '' }) && (
                <Adoption key={data.adoptableBy ?? ''} data={data} onChanged={read.reload} />
              )}
            </div>
            <Consents accountId={accountId} />
          </>
        )}
      </Shown>
    </Page>
  );
}

const Lead = ({ account: { accountId, name } }: { account: Account }) => (
  <>
    <Name>{name}</Name> <code>{accountId}</code>
  </>
);

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
      <Form unsaved={isChanged} onSend={run}>
        <TextField
          label={accounts.name}
          value={name}
          onValue={setName}
          missing={needed(name) ?? changed(isChanged)}
          maxLength={400}
          autocomplete="off"
        />
        <Select
          label={accounts.entitlement}
          hint={data.entitlement === 'enterprise' && entitlement === 'standard' ? texts.lessSays : undefined}
          value={entitlement}
          options={Object.entries(accounts.entitlements) as [Account['entitlement'], string][]}
          onValue={setEntitlement}
        />
        <Problem error={error} />
        <div>
          <Button type="submit" kind="primary" busy={busy}>
            {texts.save}
          </Button>
        </div>
      </Form>
    </Card>
  );
}

const MIB = 1024 * 1024;
const QUOTA_MB_MAX = 1_000_000;
const isQuota = (text: string): boolean => /^\d{1,7}$/.test(text) && Number(text) <= QUOTA_MB_MAX;

function Quota({ data, onChanged }: PartProps) {
  const { say } = useSession();
  const [quota, setQuota] = useState(String(data.quotaMb));
  const { busy, error, run } = useAction(async (quotaMb: number | null) => {
    await account(data.accountId).change({ quotaMb });
    say(texts.saved);
    onChanged();
  });
  return (
    <Card title={texts.quota}>
      <Form unsaved={quota !== String(data.quotaMb)} onSend={() => run(Number(quota))}>
        <p>{texts.quotaLead(formatCount(Math.ceil(data.storedBytes / MIB)))}</p>
        <TextField
          label={texts.quotaField}
          missing={isQuota(quota) ? changed(Number(quota) !== data.quotaMb) : texts.quotaMissing}
          maxLength={7}
          value={quota}
          onValue={setQuota}
          autocomplete="off"
        />
        <Problem error={error} />
        <div class="row">
          <Button type="submit" busy={busy}>
            {texts.save}
          </Button>
          <Button busy={busy} onClick={() => run(null)}>
            {texts.quotaDefault}
          </Button>
        </div>
      </Form>
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
        <p>{data.disabled ? texts.enableLead : texts.disableLead}</p>
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
          typed={data.name.trim()}
          work={() => change(true)}
          onClose={() => setAsking(false)}
        >
          <p>{texts.disableLead}</p>
          <p>{texts.disableKeeps}</p>
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
      <Form unsaved={resource !== (data.adoptableBy ?? '')} onSend={() => run(resource.trim())}>
        <p>{texts.adoptLead}</p>
        {data.managedBy !== undefined && <p>{texts.managedBy(data.managedBy)}</p>}
        {data.releasedBy !== undefined && <p>{texts.releasedBy(data.releasedBy)}</p>}
        {data.adoptableBy !== undefined && data.adoptableUntil !== undefined && (
          <p>{texts.adoptUntil(data.adoptableBy, formatInstant(data.adoptableUntil))}</p>
        )}
        <TextField
          label={texts.adoptField}
          maxLength={507}
          value={resource}
          onValue={setResource}
          missing={needed(resource)}
          spellcheck={false}
          autocomplete="off"
        />
        <Problem error={error} />
        <div class="row">
          <Button type="submit" busy={busy}>
            {texts.allow}
          </Button>
          {(data.adoptableBy ?? data.releasedBy) !== undefined && (
            <Button kind="danger" busy={busy} onClick={() => run(null)}>
              {texts.withdraw}
            </Button>
          )}
        </div>
      </Form>
    </Card>
  );
}
