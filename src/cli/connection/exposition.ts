/** One line of `/metrics`. */
export interface Sample {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}

const LINE = /^([a-z_]\w*)(?:\{(.*)\})? (NaN|[+-]?Inf|[-+.\deE]+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** The samples of an exposition as text, in the order of its lines; what is no sample is left out. */
export function samplesOf(text: string): Sample[] {
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = LINE.exec(line) ?? [];
    if (name === undefined) return [];
    const pairs = [...labels.matchAll(LABEL)].map(([, label = '', shown = '']) => [label, shown] as const);
    return [{ name, labels: new Map(pairs), value: Number(value) }];
  });
}
