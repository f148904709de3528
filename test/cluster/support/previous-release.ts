import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { laidBuild } from '../../system/neighbours/previous-build.ts';
import { buildImage, type Image } from './node/image.ts';

export interface PreviousRelease {
  readonly image: Image;
  /** The folder of its chart. */
  readonly chart: string;
  /** The format of the records that it writes. */
  readonly format: number;
}

/** The chart and the image of an earlier commit, built as those of this one are. */
export async function previousRelease(commit: string): Promise<PreviousRelease> {
  const folder = laidBuild(commit);
  // Where it stood before, and where it stands now.
  const files = ['records.ts', 'store-records.ts'].map((file) => join(folder, 'src/domain/records', file));
  const at = files.find((file) => existsSync(file)) ?? '';
  const format = Number(/^export const FORMAT = (\d+);$/m.exec(readFileSync(at, 'utf8'))?.[1]);
  return { image: await buildImage(folder), chart: join(folder, 'charts/muster'), format };
}
