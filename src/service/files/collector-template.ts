import { ConfigError, type OpampConfig } from '../../config/config.ts';
import { writableByOthers } from '../../config/trusted-file.ts';
import {
  BadTemplate,
  collectorTemplate,
  defaultTemplate,
  type CollectorTemplate,
} from '../../domain/opamp/collector-template.ts';
import type { TemplateInUse } from '../../domain/opamp/remote-config.ts';
import { LIMITS } from '../../domain/limits.ts';
import type { Log } from '../../log.ts';
import type { Clock } from '../../time/clock.ts';
import { boundedContent, watchedFile, type WatchedFile } from './watched-file.ts';

/** The template in use: after a `reread` it is the one that the file has now. */
export interface TemplateFile extends WatchedFile {
  readonly inUse: () => TemplateInUse;
  /** Why the file cannot be used, in words; undefined while it can. */
  readonly trouble: () => string | undefined;
}

/**
 * The template of the collectors of a running service. A file that cannot be read, or has no usable template, changes
 * nothing, and one error line says why.
 * @throws ConfigError where the first template cannot be used
 */
export function watchedTemplate(
  { template: file, exporter }: Pick<OpampConfig, 'template' | 'exporter'>,
  { clock, log }: { readonly clock: Pick<Clock, 'now'>; readonly log: Log },
): TemplateFile {
  let current = first(file?.text ?? defaultTemplate(exporter), clock.now());
  let why: string | undefined;
  if (!file) return { inUse: () => current, trouble: () => undefined, reread: () => Promise.resolve() };
  const { path } = file;
  /** The text that was judged last, and what was wrong with it: it is judged once. */
  let judged = { text: file.text, fault: undefined as string | undefined };

  async function take(): Promise<void> {
    const content = await boundedContent(path, LIMITS.opampTemplateBytesMax);
    const distrusted = writableByOthers(path);
    if (distrusted !== undefined) throw new Error(distrusted);
    const text = content.toString('utf8');
    if (text === judged.text) {
      if (judged.fault !== undefined) throw new BadTemplate(judged.fault);
      return;
    }
    const template = judge(text);
    if (template.fingerprint === current.template.fingerprint) return;
    current = { template, since: clock.now() };
    log.info({ path, template: template.fingerprint }, 'the template of the collectors has changed');
  }

  function judge(text: string): CollectorTemplate {
    try {
      const template = collectorTemplate(text);
      judged = { text, fault: undefined };
      return template;
    } catch (error) {
      judged = { text, fault: error instanceof Error ? error.message : 'it cannot be used' };
      throw error;
    }
  }

  const watched = watchedFile({
    take,
    failed(reason) {
      why = reason;
      log.error({ path, why }, 'the template of the collectors cannot be used; the one from before stays');
    },
    recovered() {
      why = undefined;
      log.info({ path }, 'the template of the collectors can be used again');
    },
  });
  return {
    inUse: () => current,
    trouble: () => (why === undefined ? undefined : `MUSTER_OPAMP_TEMPLATE_FILE: ${why}`),
    reread: watched.reread,
  };
}

function first(text: string, since: number): TemplateInUse {
  try {
    return { template: collectorTemplate(text), since };
  } catch (error) {
    if (!(error instanceof BadTemplate)) throw error;
    throw new ConfigError(`MUSTER_OPAMP_TEMPLATE_FILE: ${error.message}`);
  }
}
