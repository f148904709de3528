import type { OpampConfig } from '../../config/config.ts';
import type { ConfiguredFile } from '../../config/files/configured-file.ts';
import { collectorTemplate, defaultTemplate } from '../../domain/opamp/collector-template.ts';
import type { TemplateInUse } from '../../domain/opamp/remote-config.ts';
import type { Clock } from '../../time/clock.ts';
import type { WatchedFiles } from './watched-file.ts';

/**
 * The template of the collectors of a running service.
 * @param file undefined where the built-in template is used
 * @returns the template in use, and since when
 * @throws ConfigError where the first template cannot be used
 */
export function watchedTemplate(
  files: WatchedFiles,
  { file, exporter }: { readonly file: ConfiguredFile | undefined; readonly exporter: OpampConfig['exporter'] },
  clock: Pick<Clock, 'now'>,
): () => TemplateInUse {
  if (!file) {
    const builtIn = { template: collectorTemplate(defaultTemplate(exporter)), since: clock.now() };
    return () => builtIn;
  }
  const watched = files.add<TemplateInUse>({
    files: [file],
    parse([content], current) {
      const template = collectorTemplate(content.toString('utf8'));
      return current?.template.fingerprint === template.fingerprint ? current : { template, since: clock.now() };
    },
    taken: ({ template }) => ({ template: template.fingerprint }),
  });
  return () => watched.current;
}
