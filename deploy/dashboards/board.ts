import type { Panel, Row, Step } from './panel.ts';
import { INSTALLATION, series } from './query.ts';

/*
 * A board of Grafana as the JSON that it loads (schema version 39: Grafana 11 and newer). Grafana's own builders,
 * `@grafana/grafana-foundation-sdk` 0.0.21, made 167 lines of the 219, with 1815 files of 12 MB: all is spelled again
 * as calls. They name schema 42, give every row the id 0 and no panel one unless they are told, and hide the links and
 * the leader changes in a menu of Grafana 12 (`placement`), around which they offer no way.
 */

export interface Board {
  /** The name of the file, and a part of the address. */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly rows: readonly Row[];
}

const RUNBOOK = 'https://muster.dev/docs/runbook';
const COLUMNS = 24;
const DATASOURCE = { type: 'prometheus', uid: '${datasource}' };

const LEADING = `${series('muster_controller_leading')} == 1`;
/** A replica that leads and did not a minute ago. */
const LEADER_CHANGES = {
  name: 'Leader changes',
  datasource: DATASOURCE,
  enable: true,
  iconColor: 'purple',
  expr: `(${LEADING}) unless (${series('muster_controller_leading')} offset 1m == 1)`,
  step: '1m',
  titleFormat: 'Another leader',
  textFormat: '{{instance}} leads',
};

export function boardJson({ name, title, description, rows }: Board): object {
  return {
    uid: `muster-${name}`,
    title,
    description,
    tags: ['muster'],
    schemaVersion: 39,
    version: 1,
    editable: true,
    graphTooltip: 1,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    timezone: 'utc',
    links: [
      {
        type: 'dashboards',
        title: 'Muster',
        tags: ['muster'],
        asDropdown: true,
        includeVars: true,
        keepTime: true,
        targetBlank: false,
        url: '',
        icon: 'external link',
        tooltip: '',
      },
    ],
    annotations: { list: [LEADER_CHANGES] },
    templating: { list: variables() },
    panels: placed(rows),
  };
}

/** `All` is `.*`, which also matches where there is no such label: without Kubernetes nothing has a namespace. */
function variables(): object[] {
  const choice = (name: string, label: string, query: string): object => ({
    type: 'query',
    name,
    label,
    datasource: DATASOURCE,
    query: { query, refId: name },
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    allValue: '.*',
    current: { selected: true, text: ['All'], value: ['$__all'] },
  });
  return [
    {
      type: 'datasource',
      name: 'datasource',
      label: 'Data source',
      query: 'prometheus',
      refresh: 1,
      current: { selected: true, text: 'default', value: 'default' },
    },
    choice('cluster', 'Cluster', 'label_values(muster_build_info, cluster)'),
    choice('namespace', 'Namespace', 'label_values(muster_build_info{cluster=~"$cluster"}, namespace)'),
    choice('job', 'Job', 'label_values(muster_build_info{cluster=~"$cluster",namespace=~"$namespace"}, job)'),
    choice('instance', 'Instance', `label_values(muster_build_info{${INSTALLATION}}, instance)`),
  ];
}

/** Rows from the top, and in each the panels from left to right. */
function placed(rows: readonly Row[]): object[] {
  const all: object[] = [];
  let [x, y, lineHeight] = [0, 0, 0];
  for (const row of rows) {
    y += lineHeight;
    all.push({
      id: all.length + 1,
      type: 'row',
      title: row.title,
      collapsed: false,
      gridPos: { x: 0, y, w: COLUMNS, h: 1 },
      panels: [],
    });
    [x, y, lineHeight] = [0, y + 1, 0];
    for (const panel of row.panels) {
      if (x + panel.width > COLUMNS) [x, y, lineHeight] = [0, y + lineHeight, 0];
      all.push(panelJson(panel, all.length + 1, { x, y, w: panel.width, h: panel.height }));
      x += panel.width;
      lineHeight = Math.max(lineHeight, panel.height);
    }
  }
  return all;
}

function panelJson(panel: Panel, id: number, gridPos: object): object {
  const { type, title, description, unit, steps, max, alert, targets, columns } = panel;
  return {
    id,
    type,
    title,
    description,
    datasource: DATASOURCE,
    gridPos,
    links: [
      {
        title: alert === undefined ? 'Runbook' : `Runbook: ${alert}`,
        url: alert === undefined ? RUNBOOK : `${RUNBOOK}#${alert.toLowerCase()}`,
        ...PLAIN_LINK,
      },
    ],
    fieldConfig: {
      defaults: {
        unit,
        min: 0,
        ...(max !== undefined && { max }),
        color: { mode: type === 'timeseries' ? 'palette-classic' : 'thresholds' },
        thresholds: { mode: 'absolute', steps: steps.map((step) => stepJson(step)) },
        ...(type === 'timeseries' && { custom: lineStyle(panel) }),
      },
      overrides: [],
    },
    options: OPTIONS[type],
    ...(columns && { transformations: inColumns(columns) }),
    targets: targets.map(({ expr, legend }, index) => ({
      refId: letterOf(index),
      datasource: DATASOURCE,
      expr,
      legendFormat: `${legend === '' ? title : legend} {{cluster}}`,
      range: type === 'timeseries',
      instant: type !== 'timeseries',
      ...(type === 'table' && { format: 'table' }),
    })),
  };
}

const stepJson = ({ color, from }: Step): object => ({ color, value: from });

const lineStyle = ({ steps, stacked = false }: Panel): object => ({
  drawStyle: 'line',
  lineWidth: 1,
  fillOpacity: stacked ? 30 : 10,
  showPoints: 'never',
  spanNulls: false,
  stacking: { mode: stacked ? 'normal' : 'none', group: 'A' },
  thresholdsStyle: { mode: steps.length > 1 ? 'dashed' : 'off' },
});

const STAT_OPTIONS = {
  reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
  colorMode: 'value',
  graphMode: 'none',
  textMode: 'auto',
  orientation: 'auto',
};

/** Each target is a frame with the labels and a value: they are joined by the label of the rows. */
function inColumns({ row, names }: NonNullable<Panel['columns']>): object[] {
  const named = names.map((name, index) => [names.length === 1 ? 'Value' : `Value #${letterOf(index)}`, name] as const);
  return [
    ...(names.length === 1 ? [] : [{ id: 'joinByField', options: { byField: row, mode: 'outer' } }]),
    {
      id: 'organize',
      options: {
        excludeByName: Object.fromEntries(['Time', 'Time 1', 'Time 2', 'Time 3'].map((name) => [name, true])),
        renameByName: Object.fromEntries(named),
      },
    },
  ];
}

const letterOf = (index: number): string => String.fromCodePoint(65 + index);

/** Grafana's schema wants all of them. */
const PLAIN_LINK = {
  type: 'link',
  icon: 'external link',
  tooltip: '',
  tags: [],
  targetBlank: true,
  asDropdown: false,
  includeVars: false,
  keepTime: false,
};

const LINE_OPTIONS = {
  legend: { displayMode: 'list', placement: 'bottom', showLegend: true },
  tooltip: { mode: 'multi', sort: 'desc' },
};

const OPTIONS: Readonly<Record<Panel['type'], object>> = {
  stat: STAT_OPTIONS,
  timeseries: LINE_OPTIONS,
  table: { showHeader: true, cellHeight: 'sm', footer: { show: false, reducer: ['sum'], countRows: false } },
};
