import { useState } from 'preact/hooks';
import { anyText, oneOf, type QueryState } from '../../address/use-query.ts';
import type { AuditFilters, AuditNames, AuditQuestion } from '../../api/panel.ts';
import { shownName } from '../../../src/text/shown-name.ts';
import { audit as texts } from '../../text/audit.ts';
import { Button, Select, TextField, type Option } from '../../ui/controls.tsx';

/* Which entries of an audit are shown. */

const OTHER = 'other';

/** In the address; `group` is a group of actions, such as `app.`, or `other` for the one that is typed. */
export const AUDIT_FILTERS = {
  actor: anyText(600),
  group: oneOf('', ...Object.keys(texts.groups), OTHER),
  action: anyText(60),
  target: anyText(60),
  from: anyText(10),
  to: anyText(10),
};
type Filters = QueryState<typeof AUDIT_FILTERS>;
const NO_FILTERS: Filters = { actor: '', group: '', action: '', target: '', from: '', to: '' };

/** Whether anything is asked for, or is being typed. */
export const isFiltered = (filters: Filters): boolean => Object.values(filters).some((value) => value !== '');

const PAGE = 50;

/** The instant at which a day of the browser begins; undefined where the text is no such day. */
function beginningOf(day: string, daysLater = 0): string | undefined {
  if (!/^\d{4}-\d\d-\d\d$/.test(day)) return undefined;
  const at = new Date(`${day}T00:00:00`);
  // Days are added as days: one in which the clocks change has another length.
  at.setDate(at.getDate() + daysLater);
  if (Number.isNaN(at.getTime())) return undefined;
  const instant = at.toISOString();
  // A year of more than four digits, or before the first one, has a sign, which the service does not take.
  return /^\d/.test(instant) ? instant : undefined;
}

/** A page of what the filters ask for. */
export const questionOf = (filters: Filters): AuditQuestion => ({ limit: PAGE, ...filtersOf(filters) });

/** What the filters ask for; a field that is not whole yet asks for nothing. */
export function filtersOf({ actor, group, action, target, from, to }: Filters): AuditFilters {
  const asked = group === OTHER ? action.trim() : group;
  const since = beginningOf(from);
  const until = beginningOf(to, 1);
  return {
    ...(actor.trim() !== '' && { actor: actor.trim() }),
    ...(asked !== '' && { action: asked }),
    ...(target.startsWith('app:') ? { appId: target.slice(4) } : target !== '' && { target }),
    ...(since !== undefined && { from: since }),
    ...(until !== undefined && { to: until }),
  };
}

interface FilterBarProps {
  readonly filters: Filters;
  readonly onFilters: (part: Partial<Filters>) => void;
  /** Whom and what one can ask for; empty until it is read. */
  readonly names: AuditNames;
}

/** The known ones by name, and the one that a link asks for. */
function optionsOf(any: string, known: AuditNames['actors'], asked: string): readonly Option[] {
  const isKnown = asked === '' || known.some(({ id }) => id === asked);
  return [['', any], ...(isKnown ? [] : [[asked, asked] as const]), ...known.map(optionOf)];
}

/** By the name alone, under what it is: whoever types the beginning of a name finds it. */
function optionOf({ id, name }: AuditNames['actors'][number]): Option {
  const kind = id.slice(0, Math.max(0, id.indexOf(':'))) || id;
  const group = (texts.filters.kinds as Readonly<Record<string, string>>)[kind];
  const says = (texts.actors as Readonly<Record<string, string>>)[kind] ?? kind;
  return group === undefined ? [id, says] : [id, shownName(name ?? '', id.slice(kind.length + 1)), group];
}

const TIMES = texts.filters.times;
type Time = keyof typeof TIMES;
const DAYS = 'days';
const LAST = { today: 1, week: 7, month: 30 } as const;
const LATELY = ['today', 'week', 'month'] as const;

/** So many days of the browser, today among them; without an end. */
function lastDays(count: number): Pick<Filters, 'from' | 'to'> {
  const first = new Date();
  first.setDate(first.getDate() - (count - 1));
  const [year, month, day] = [first.getFullYear(), first.getMonth() + 1, first.getDate()];
  return { from: [year, month, day].map((part) => String(part).padStart(2, '0')).join('-'), to: '' };
}

/** The choice that stands for the days. */
function timeOf({ from, to }: Pick<Filters, 'from' | 'to'>): Time {
  if (from === '' && to === '') return 'any';
  return LATELY.find((time) => to === '' && lastDays(LAST[time]).from === from) ?? DAYS;
}

export function FilterBar({ filters, onFilters: set, names }: FilterBarProps) {
  const { actor, group, action, target, from, to } = filters;
  const said = texts.filters;
  // Both days are empty until one is chosen.
  const [isBetween, setBetween] = useState(false);
  const time = isBetween ? DAYS : timeOf(filters);
  const setTime = (chosen: Time): void => {
    setBetween(chosen === DAYS);
    if (chosen !== DAYS) set(chosen === 'any' ? { from: '', to: '' } : lastDays(LAST[chosen]));
  };
  return (
    <div class="toolbar" role="search" aria-label={said.label}>
      <Select
        label={said.action}
        value={group}
        options={[['', texts.anyAction], ...Object.entries(texts.groups), [OTHER, texts.otherAction]]}
        onValue={(chosen) => set({ group: chosen, action: '' })}
      />
      {group === OTHER && (
        <TextField
          label={said.exactly}
          placeholder={said.exactlyHint}
          value={action}
          onValue={(typed) => set({ action: typed })}
          maxLength={60}
          autocomplete="off"
          spellcheck={false}
          autofocus
        />
      )}
      <Select
        label={said.actor}
        value={actor}
        options={optionsOf(said.anybody, names.actors, actor)}
        onValue={(chosen) => set({ actor: chosen })}
      />
      <Select
        label={said.target}
        value={target}
        options={optionsOf(said.anything, names.targets, target)}
        onValue={(chosen) => set({ target: chosen })}
      />
      <Select label={said.time} value={time} options={Object.entries(TIMES) as [Time, string][]} onValue={setTime} />
      {time === DAYS && (
        <>
          <TextField label={said.from} type="date" value={from} onValue={(day) => set({ from: day })} />
          <TextField
            label={said.to}
            type="date"
            value={to}
            onValue={(day) => set({ to: day })}
            fault={from !== '' && to !== '' && to < from ? said.order : undefined}
          />
        </>
      )}
      {isFiltered(filters) && (
        <Button
          onClick={() => {
            setBetween(false);
            set(NO_FILTERS);
          }}
        >
          {said.clear}
        </Button>
      )}
    </div>
  );
}
