import type { Profiler } from 'node:inspector/promises';

/** The layers of a request, in the order of the table. */
export const LAYERS = [
  'HTTP: node',
  'HTTP: listener and gateway, or Express',
  'authentication',
  'rate window',
  'plan or operation',
  'encode and parse records',
  'store and its memory',
  'answer',
  'metrics and log',
  'garbage collection',
  'native code outside of JavaScript',
] as const;
export type Layer = (typeof LAYERS)[number];

/** The time of the main thread as the profiler saw it, by the clock and not by the processor. */
interface LayerTimes {
  /** Microseconds by layer. */
  readonly micros: ReadonlyMap<Layer, number>;
  /** Those of them, in the store's layer, in which SQLite ran, and may have waited for the disk. */
  readonly waitable: number;
}

/** The first that fits a frame decides; a frame that none fits belongs to the layer of its caller. */
const RULES: readonly (readonly [RegExp, Layer])[] = [
  [/\/src\/metrics\/|\/src\/log\.ts|\/metrics\.ts$|node_modules\/(pino|prom-client)/, 'metrics and log'],
  [/\/src\/domain\/records\//, 'encode and parse records'],
  [
    /\/src\/store\/|node_modules\/(@grpc|etcd3|@protobufjs|protobufjs|long|cockatiel)|internal\/http2/,
    'store and its memory',
  ],
  [/\/rate-window\/|\/v1\/rate-limit\.ts|device-rate-limit\.ts/, 'rate window'],
  [/\/authenticate\.ts|\/last-uses\.ts|recently-rejected\.ts/, 'authentication'],
  [/\/src\/api\/http\/(response|stream)\.ts/, 'answer'],
  [/\/src\/domain\/|\/v1\/operations\//, 'plan or operation'],
  [/\/src\/api\/|node_modules\/(express|router)|\/bench\/baseline\.ts/, 'HTTP: listener and gateway, or Express'],
];
/** Shared code that belongs to whoever calls it. */
const OF_ITS_CALLER = /\/src\/(concurrency|time|text|packed)\/|\/src\/domain\/(fleet|credentials)\//;
/** Functions of a file of another layer. */
const ANSWERING = new Set(['reply', '#ended', 'refuse']);

/** Adds up the samples of a profile by layer. The deepest frame that has a layer decides. */
export function layerTimes({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): LayerTimes {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const layers = new Map<number, Layer | 'idle'>();
  const layerOf = (id: number): Layer | 'idle' => {
    const known = layers.get(id);
    if (known) return known;
    const node = byId.get(id);
    const parent = parents.get(id);
    const own = node && layerOfFrame(node.callFrame);
    const layer = own ?? (parent === undefined ? 'HTTP: node' : layerOf(parent));
    layers.set(id, layer);
    return layer;
  };
  const micros = new Map<Layer, number>();
  let waitable = 0;
  samples.forEach((id, index) => {
    const layer = layerOf(id);
    const spent = timeDeltas[index + 1] ?? 0;
    if (layer === 'idle') return;
    micros.set(layer, (micros.get(layer) ?? 0) + spent);
    const caller = byId.get(parents.get(id) ?? id)?.callFrame.url ?? '';
    if (byId.get(id)?.callFrame.url === '' && caller.endsWith('/sqlite/database.ts')) waitable += spent;
  });
  return { micros, waitable };
}

function layerOfFrame({
  functionName,
  url,
}: Profiler.Profile['nodes'][number]['callFrame']): Layer | 'idle' | undefined {
  if (functionName === '(idle)') return 'idle';
  if (functionName === '(garbage collector)') return 'garbage collection';
  if (functionName === '(program)') return 'native code outside of JavaScript';
  if (url.endsWith('/exchange.ts') && ANSWERING.has(functionName)) return 'answer';
  if (OF_ITS_CALLER.test(url)) return undefined;
  return RULES.find(([pattern]) => pattern.test(url))?.[1];
}
