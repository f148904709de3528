import { useState } from 'preact/hooks';
import {
  account,
  operator,
  type AuditPage as Page_,
  type AuditQuestion,
  type AuditVerification,
} from '../../api/panel.ts';
import { useAction } from '../../hooks/use-action.ts';
import type { PageProps } from '../../shell/pages.tsx';
import { audit as texts } from '../../text/audit.ts';
import { common } from '../../text/common.ts';
import { Badge, Button, CopyButton, Select, TextField } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Card, Facts, Page } from '../../ui/page.tsx';
import { Problem } from '../../ui/state.tsx';
import { Timeline } from './timeline.tsx';

/** The audit of an account. */
export const AuditPage = ({ accountId }: PageProps) => (
  <Audit
    title={texts.title}
    lead={texts.lead}
    accountId={accountId}
    read={(question, signal) => account(accountId).audit(question, { signal })}
    verify={() => account(accountId).verifyAudit()}
  />
);

/** The audit of the service. */
export const ServiceAuditPage = () => (
  <Audit
    title={texts.serviceTitle}
    lead={texts.serviceLead}
    read={(question, signal) => operator.audit(question, { signal })}
    verify={() => operator.verifyAudit()}
  />
);

interface AuditProps {
  readonly title: string;
  readonly lead: string;
  readonly accountId?: string;
  readonly read: (question: AuditQuestion, signal: AbortSignal) => Promise<Page_>;
  readonly verify: () => Promise<AuditVerification>;
}

interface Filters {
  readonly actor: string;
  readonly action: string;
  readonly appId: string;
  readonly from: string;
  readonly to: string;
}
const NONE: Filters = { actor: '', action: '', appId: '', from: '', to: '' };
const APP_ID = /^[a-z0-9]{20}$/;
const DAY_MS = 86_400_000;

/** What the fields ask for; a field that is not whole yet asks for nothing. Days are those of the browser. */
function questionOf({ actor, action, appId, from, to }: Filters): AuditQuestion {
  const dayOf = (day: string): number => new Date(`${day}T00:00:00`).getTime();
  return {
    limit: 50,
    ...(actor.trim() !== '' && { actor: actor.trim() }),
    ...(action !== '' && { action }),
    ...(APP_ID.test(appId.trim()) && { appId: appId.trim() }),
    ...(from !== '' && { from: new Date(dayOf(from)).toISOString() }),
    ...(to !== '' && { to: new Date(dayOf(to) + DAY_MS).toISOString() }),
  };
}

function Audit({ title, lead, accountId, read, verify }: AuditProps) {
  const [filters, setFilters] = useState(NONE);
  const [isVerifying, setVerifying] = useState(false);
  const question = questionOf(filters);
  const key = JSON.stringify(question);
  return (
    <Page title={title} lead={lead} actions={<Button onClick={() => setVerifying(true)}>{texts.verify}</Button>}>
      <FilterBar filters={filters} onFilters={setFilters} withApp={accountId !== undefined} />
      <Card title={texts.entries}>
        <Timeline
          key={key}
          empty={filters === NONE ? texts.empty : texts.nothingFits}
          {...(accountId !== undefined && { accountId })}
          read={(before, signal) => read({ ...question, ...(before !== undefined && { before }) }, signal)}
        />
      </Card>
      {isVerifying && <Verification verify={verify} onClose={() => setVerifying(false)} />}
    </Page>
  );
}

interface FilterBarProps {
  readonly filters: Filters;
  readonly onFilters: (filters: Filters) => void;
  readonly withApp: boolean;
}

function FilterBar({ filters, onFilters, withApp }: FilterBarProps) {
  const set = (part: Partial<Filters>): void => onFilters({ ...filters, ...part });
  return (
    <div class="toolbar" role="search">
      <Select
        label={texts.filters.action}
        value={filters.action}
        options={[['', texts.anyAction], ...Object.entries(texts.groups)]}
        onValue={(action) => set({ action })}
      />
      <TextField
        label={texts.filters.actor}
        placeholder={texts.filters.actorHint}
        grow
        value={filters.actor}
        onValue={(actor) => set({ actor })}
      />
      {withApp && (
        <TextField label={texts.filters.app} value={filters.appId} onValue={(appId) => set({ appId })} maxLength={20} />
      )}
      <TextField label={texts.filters.from} type="date" value={filters.from} onValue={(from) => set({ from })} />
      <TextField label={texts.filters.to} type="date" value={filters.to} onValue={(to) => set({ to })} />
    </div>
  );
}

function Verification({ verify, onClose }: { verify: () => Promise<AuditVerification>; onClose: () => void }) {
  const { verification: said } = texts;
  const [found, setFound] = useState<AuditVerification>();
  const { busy, error, run } = useAction(async () => setFound(await verify()));
  return (
    <Dialog title={said.title} onClose={onClose} wide>
      <div role="status" class="stack">
        {found && (
          <>
            <Badge tone={found.faultCount === 0 ? 'good' : 'bad'} icon={found.faultCount === 0 ? 'check' : 'warn'}>
              {found.faultCount === 0 ? said.sound : said.broken(found.faultCount)}
            </Badge>
            <Facts
              facts={[
                [said.entries, found.entries],
                [said.blocks, found.blocks],
                [said.unsealed, found.unsealed],
                [said.head, found.head && <code key="head">{found.head.digest}</code>],
              ]}
            />
            {found.head && (
              <div class="row">
                <CopyButton text={found.head.digest} />
                <span class="quiet small">{said.headHint}</span>
              </div>
            )}
            {found.faults.length > 0 && (
              <ul>
                {found.faults.map(({ says, what }, index) => (
                  <li key={`${what} ${index}`}>{says}</li>
                ))}
              </ul>
            )}
          </>
        )}
      </div>
      <Problem error={error} />
      <div class="actions">
        <Button onClick={onClose}>{common.close}</Button>
        <Button kind="primary" busy={busy} onClick={run}>
          {texts.verify}
        </Button>
      </div>
    </Dialog>
  );
}
