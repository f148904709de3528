import type { Panel, Row, Step } from './panel.ts';

/* A board of Grafana as the JSON that it loads (schema version 39: Grafana 11 and newer). */

export interface Board {
  /** The name of the file, and a part of the address. */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly rows: readonly Row[];
}

const COLUMNS = 24;
const DATASOURCE = { type: 'prometheus', uid: '${datasource}' };

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
    annotations: { list: [] },
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
    definition: query,
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
      current: {},
    },
    choice('namespace', 'Namespace', 'label_values(muster_build_info, namespace)'),
    choice('job', 'Job', 'label_values(muster_build_info{namespace=~"$namespace"}, job)'),
    choice('instance', 'Instance', 'label_values(muster_build_info{namespace=~"$namespace",job=~"$job"}, instance)'),
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
  const { type, title, description, unit, steps, max, targets } = panel;
  return {
    id,
    type,
    title,
    description,
    datasource: DATASOURCE,
    gridPos,
    fieldConfig: {
      defaults: {
        unit,
        min: 0,
        ...(max !== undefined && { max }),
        color: { mode: type === 'stat' ? 'thresholds' : 'palette-classic' },
        thresholds: { mode: 'absolute', steps: steps.map((step) => stepJson(step)) },
        ...(type === 'timeseries' && { custom: lineStyle(panel) }),
      },
      overrides: [],
    },
    options: type === 'stat' ? STAT_OPTIONS : LINE_OPTIONS,
    targets: targets.map(({ expr, legend }, index) => ({
      refId: String.fromCodePoint(65 + index),
      datasource: DATASOURCE,
      expr,
      legendFormat: legend === '' ? title : legend,
      range: type === 'timeseries',
      instant: type === 'stat',
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

const LINE_OPTIONS = {
  legend: { displayMode: 'list', placement: 'bottom', showLegend: true },
  tooltip: { mode: 'multi', sort: 'desc' },
};
