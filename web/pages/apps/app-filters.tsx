import { useMemo } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import type { PanelApp } from '../../api/panel.ts';
import { apps as texts } from '../../text/apps.ts';
import { Select, TextField } from '../../ui/controls.tsx';
import { DELIVERY_STATES, optionsOf, type AppFilter } from './filter.ts';

interface FiltersProps {
  readonly apps: readonly PanelApp[];
  readonly filter: AppFilter;
  readonly onFilter: (part: Partial<AppFilter>) => void;
  /** The content beside the filters. */
  readonly children?: ComponentChildren;
}

/** The search and the filters of the apps. */
export function Filters({ apps, filter, onFilter: set, children }: FiltersProps) {
  const { platforms, versions } = useMemo(() => optionsOf(apps), [apps]);
  // A link may ask for one that no app has any longer.
  const named = (values: readonly string[], asked: string) => [
    ['', texts.any] as const,
    ...new Map(
      [...values.map((value) => `=${value}`), asked]
        .filter((value) => value !== '')
        .map((value) => [value, value === '=' ? texts.unknown : value.slice(1)] as const),
    ),
  ];
  const { silentOptions, statuses } = texts;
  return (
    <div class="toolbar" role="search">
      <TextField
        label={texts.search}
        placeholder={texts.searchHint}
        type="search"
        grow
        value={filter.q}
        onValue={(q) => set({ q })}
        maxLength={200}
      />
      <Select
        label={texts.status}
        value={filter.status}
        options={[
          ['', texts.anyStatus],
          ['pending', statuses.pending],
          ['active', statuses.active],
          ['revoked', statuses.revoked],
        ]}
        onValue={(status) => set({ status })}
      />
      <Select
        label={texts.columns.configuration}
        value={filter.configuration}
        options={[['', texts.any], ...DELIVERY_STATES.map((state) => [state, texts.deliveries[state]] as const)]}
        onValue={(configuration) => set({ configuration })}
      />
      <Select
        label={texts.platform}
        value={filter.platform}
        options={named(platforms, filter.platform)}
        onValue={(platform) => set({ platform })}
      />
      <Select
        label={texts.version}
        value={filter.version}
        options={named(versions, filter.version)}
        onValue={(version) => set({ version })}
      />
      <Select
        label={texts.silent}
        value={filter.silent}
        options={[
          ['any', silentOptions.any],
          ['hour', silentOptions.hour],
          ['day', silentOptions.day],
          ['week', silentOptions.week],
          ['never', silentOptions.never],
        ]}
        onValue={(silent) => set({ silent })}
      />
      {children}
    </div>
  );
}
