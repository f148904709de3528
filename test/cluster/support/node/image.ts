import { join } from 'node:path';
import { command } from '../control-plane/command.ts';
import { toolPath } from '../control-plane/tools.ts';

const SCRIPTS = join(import.meta.dirname, '../../../../.ci/kubernetes');

export interface Image {
  /** The name by which pods refer to it. */
  readonly name: string;
  /** The path of the archive that nodes load. */
  readonly archive: string;
}

/**
 * Muster's own image of the files as they are; built when they have changed, which takes minutes the first time.
 * @param folder another tree than this one, such as an earlier commit's
 */
export async function buildImage(folder?: string): Promise<Image> {
  const args = folder === undefined ? [] : [folder];
  const [name = '', archive = ''] = (await command(join(SCRIPTS, 'image.sh'), args)).trim().split('\n');
  return { name, archive };
}

/** The archive of the image that holds a pod's namespaces. */
export async function pauseArchive(): Promise<string> {
  return (await command(join(SCRIPTS, 'pause-image.sh'), [toolPath('pause')])).trim();
}
