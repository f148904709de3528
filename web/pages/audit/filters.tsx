import { anyText, oneOf, type QueryState } from '../../address/use-query.ts';
import type { AuditQuestion } from '../../api/panel.ts';
import { audit as texts } from '../../text/audit.ts';
import { Button, Select, TextField } from '../../ui/controls.tsx';

/* Which entries of an audit are shown. */

const OTHER = 'other';

/** In the address; `group` is a group of actions, such as `app.`, or `other` for the one that is typed. */
export const AUDIT_FILTERS = {
  actor: anyText(600),
  group: oneOf('', ...Object.keys(texts.groups), OTHER),
  action: anyText(60),
  app: anyText(20),
  from: anyText(10),
  to: anyText(10),
};
type Filters = QueryState<typeof AUDIT_FILTERS>;
const NO_FILTERS: Filters = { actor: '', group: '', action: '', app: '', from: '', to: '' };

/** Whether anything is asked for, or is being typed. */
export const isFiltered = (filters: Filters): boolean => Object.values(filters).some((value) => value !== '');

const PAGE = 50;
const APP_ID = /^[a-z0-9]{20}$/;

/** The instant at which a day of the browser begins; undefined where the text is no such day. */
function beginningOf(day: string, daysLater = 0): string | undefined {
  if (!/^\d{4}-\d\d-\d\d$/.test(day)) return undefined;
  const at = new Date(`${day}T00:00:00`);
  // Days are added as days: one in which the clocks change has another length.
  at.setDate(at.getDate() + daysLater);
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}

/** What the filters ask for; a field that is not whole yet asks for nothing. */
export function questionOf({ actor, group, action, app, from, to }: Filters): AuditQuestion {
  const asked = group === OTHER ? action.trim() : group;
  const since = beginningOf(from);
  const until = beginningOf(to, 1);
  return {
    limit: PAGE,
    ...(actor.trim() !== '' && { actor: actor.trim() }),
    ...(asked !== '' && { action: asked }),
    ...(APP_ID.test(app.trim()) && { appId: app.trim() }),
    ...(since !== undefined && { from: since }),
    ...(until !== undefined && { to: until }),
  };
}

interface FilterBarProps {
  readonly filters: Filters;
  readonly onFilters: (part: Partial<Filters>) => void;
  /** Whether one can ask for an app: the audit of the service is about none. */
  readonly withApp: boolean;
}

export function FilterBar({ filters, onFilters: set, withApp }: FilterBarProps) {
  const { actor, group, action, app, from, to } = filters;
  const isAppWhole = app.trim() === '' || APP_ID.test(app.trim());
  return (
    <div class="toolbar" role="search" aria-label={texts.filters.label}>
      <Select
        label={texts.filters.action}
        value={group}
        options={[['', texts.anyAction], ...Object.entries(texts.groups), [OTHER, texts.otherAction]]}
        onValue={(chosen) => set({ group: chosen, action: '' })}
      />
      {group === OTHER && (
        <TextField
          label={texts.filters.exactly}
          placeholder={texts.filters.exactlyHint}
          value={action}
          onValue={(typed) => set({ action: typed })}
          maxLength={60}
          autocomplete="off"
          spellcheck={false}
          autofocus
        />
      )}
      <TextField
        label={texts.filters.actor}
        placeholder={texts.filters.actorHint}
        grow
        value={actor}
        onValue={(typed) => set({ actor: typed })}
        maxLength={600}
        autocomplete="off"
        spellcheck={false}
      />
      {withApp && (
        <TextField
          label={texts.filters.app}
          fault={isAppWhole ? undefined : texts.filters.appFault}
          value={app}
          onValue={(typed) => set({ app: typed })}
          maxLength={20}
          autocomplete="off"
          spellcheck={false}
        />
      )}
      <TextField label={texts.filters.from} type="date" value={from} onValue={(day) => set({ from: day })} />
      <TextField
        label={texts.filters.to}
        type="date"
        value={to}
        onValue={(day) => set({ to: day })}
        fault={from !== '' && to !== '' && to < from ? texts.filters.order : undefined}
      />
      {isFiltered(filters) && <Button onClick={() => set(NO_FILTERS)}>{texts.filters.clear}</Button>}
    </div>
  );
}
