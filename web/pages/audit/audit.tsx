import { useEffect, useRef, useState } from 'preact/hooks';
import { useQuery } from '../../address/use-query.ts';
import {
  account,
  operator,
  type AuditFilters,
  type AuditFormat,
  type AuditNames,
  type AuditPage as Page_,
  type AuditQuestion,
  type AuditVerification,
} from '../../api/panel.ts';
import { useAction } from '../../hooks/use-action.ts';
import { useResource } from '../../hooks/use-resource.ts';
import { useSettled } from '../../hooks/use-settled.ts';
import type { PageProps } from '../../shell/page-props.ts';
import { audit as texts } from '../../text/audit.ts';
import { common } from '../../text/common.ts';
import { formatCount } from '../../text/format.ts';
import { Badge, Button, CopyButton } from '../../ui/controls.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Card, Facts, Page, Time } from '../../ui/page.tsx';
import { Problem } from '../../ui/state.tsx';
import { AUDIT_FILTERS, FilterBar, filtersOf, isFiltered, questionOf } from './filters.tsx';
import { Timeline } from './timeline.tsx';
import { useNewer } from './use-newer.ts';

/** The audit of an account. */
export const AuditPage = ({ accountId }: PageProps) => (
  <Audit
    title={texts.title}
    lead={texts.lead}
    accountId={accountId}
    read={(question, signal) => account(accountId).audit(question, { signal })}
    readNames={async (signal) => {
      const [names, { apps }] = await Promise.all([
        account(accountId).auditNames({ signal }),
        account(accountId).apps({ signal }),
      ]);
      // Apps that there are come by the list of apps.
      const listed = apps.map(({ appId, name }) => ({ id: `app:${appId}`, name }));
      return { ...names, targets: [...names.targets, ...listed] };
    }}
    verify={() => account(accountId).verifyAudit()}
    addressOf={account(accountId).auditAddress}
  />
);

/** The audit of the service. */
export const ServiceAuditPage = () => (
  <Audit
    title={texts.serviceTitle}
    lead={texts.serviceLead}
    read={(question, signal) => operator.audit(question, { signal })}
    readNames={(signal) => operator.auditNames({ signal })}
    verify={() => operator.verifyAudit()}
    addressOf={operator.auditAddress}
  />
);

interface AuditProps {
  readonly title: string;
  readonly lead: string;
  readonly accountId?: string;
  readonly read: (question: AuditQuestion, signal: AbortSignal) => Promise<Page_>;
  readonly readNames: (signal: AbortSignal) => Promise<AuditNames>;
  readonly verify: () => Promise<AuditVerification>;
  /** The address at which the browser downloads what the filters let through. */
  readonly addressOf: (filters: AuditFilters, format: AuditFormat) => string;
}

const NO_NAMES: AuditNames = { actors: [], targets: [], complete: true };

function Audit({ title, lead, accountId, read, readNames, verify, addressOf }: AuditProps) {
  const names = useResource(`audit names ${accountId ?? ''}`, readNames);
  const { state: filters, change: setFilters } = useQuery(AUDIT_FILTERS);
  const [isVerifying, setVerifying] = useState(false);
  const [round, setRound] = useState(0);
  const settled = useSettled(filters);
  const question = questionOf(settled);
  const newer = useNewer(accountId, question, read);
  return (
    <Page
      title={title}
      lead={lead}
      actions={
        <>
          <Downloads addressOf={(format) => addressOf(filtersOf(filters), format)} />
          <Button onClick={() => setVerifying(true)}>{texts.verify}</Button>
        </>
      }
    >
      <FilterBar filters={filters} onFilters={setFilters} names={names.data ?? NO_NAMES} />
      <Card
        title={texts.entries}
        actions={
          <span role="status">
            {newer.isNewer && (
              <Button small onClick={() => setRound(round + 1)}>
                {texts.newer}
              </Button>
            )}
          </span>
        }
      >
        <Timeline
          key={`${JSON.stringify(question)} ${round}`}
          empty={isFiltered(filters) ? texts.nothingFits : texts.empty}
          {...(accountId !== undefined && { accountId })}
          read={(before, signal) => newer.read({ ...question, ...(before !== undefined && { before }) }, signal)}
        />
      </Card>
      {isVerifying && <Verification verify={verify} onClose={() => setVerifying(false)} />}
    </Page>
  );
}

/** The name of the file is the service's. */
const Downloads = ({ addressOf }: { addressOf: (format: AuditFormat) => string }) => (
  <>
    {(['csv', 'jsonl'] as const).map((format) => (
      <a key={format} class="button" href={addressOf(format)} download title={texts.exportHint}>
        {texts[format]}
      </a>
    ))}
  </>
);

interface VerificationProps {
  readonly verify: () => Promise<AuditVerification>;
  readonly onClose: () => void;
}

/** Verifies the chain as soon as it is shown. */
function Verification({ verify, onClose }: VerificationProps) {
  const { verification: said } = texts;
  const [found, setFound] = useState<AuditVerification>();
  const { busy, error, run } = useAction(async () => setFound(await verify()));
  useEffect(run, [run]);
  return (
    <Dialog title={said.title} onClose={onClose} wide>
      <p role="status" class="stack">
        {busy && said.working}
        {!busy && found && (
          <Badge tone={found.faultCount === 0 ? 'good' : 'bad'} icon={found.faultCount === 0 ? 'check' : 'warn'}>
            {found.faultCount === 0 ? said.sound : said.broken(found.faultCount)}
          </Badge>
        )}
      </p>
      {found && <Verified found={found} />}
      <Problem error={error} />
      <div class="actions">
        <Button busy={busy} onClick={run}>
          {texts.verifyAgain}
        </Button>
        <Button data-safest kind="primary" onClick={onClose}>
          {common.close}
        </Button>
      </div>
    </Dialog>
  );
}

function Verified({ found }: { found: AuditVerification }) {
  const { verification: said } = texts;
  const digest = useRef<HTMLElement>(null);
  const { entries, blocks, firstBlock, unsealed, head, faults, faultCount } = found;
  return (
    <>
      <Facts
        facts={[
          [said.entries, formatCount(entries)],
          [said.blocks, firstBlock > 1 ? said.blocksFrom(blocks, firstBlock) : formatCount(blocks)],
          [said.unsealed, formatCount(unsealed)],
          [
            said.head,
            head && (
              <code key="head" ref={digest}>
                {head.digest}
              </code>
            ),
          ],
          [said.sealed, head && <Time key="sealed" at={head.at} />],
        ]}
      />
      {head && (
        <div class="row">
          <CopyButton text={head.digest} label={said.copyHead} shownIn={digest} />
          <span class="quiet small">{said.headHint}</span>
        </div>
      )}
      {faults.length > 0 && (
        <>
          <h3>{said.faults}</h3>
          <ul>
            {faults.map(({ says, what, at }, index) => (
              <li key={`${what} ${index}`}>
                {says} {at !== undefined && at !== null && <Time at={at} />}
              </li>
            ))}
          </ul>
          {faultCount > faults.length && <p>{said.moreFaults(faultCount - faults.length)}</p>}
        </>
      )}
    </>
  );
}
