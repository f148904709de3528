import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { LONGEST } from './groups.ts';

/** Begins with the files that take minutes, so that the others run beside them; vitest's own order otherwise. */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = ({ moduleId }: TestSpecification): number => {
      const place = LONGEST.findIndex((file) => moduleId.endsWith(`/${file}`));
      return place < 0 ? LONGEST.length : place;
    };
    return sorted.toSorted((one, other) => rank(one) - rank(other));
  }
}
