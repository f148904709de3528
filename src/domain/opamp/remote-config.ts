import type { DeliveredContent } from '../otel-config/delivered-config.ts';
import { EMPTY_CONFIGURATION, type CollectorTemplate } from './collector-template.ts';

/*
 * The hash of a configuration is a text: its key, the instant since which its template is in use, and whether the empty
 * one is offered in its place. The key is made of the revision's random tag and of the template's fingerprint, and
 * never of the content, of which a hash would tell who has read an older one whether a secret was in it.
 */

/** A template in use, and since when, in milliseconds since 1970: of two templates the newer one wins. */
export interface TemplateInUse {
  readonly template: CollectorTemplate;
  readonly since: number;
}

/** The configuration that an agent is to have. */
export interface RemoteConfig {
  readonly revision: number;
  readonly changedAt: number | undefined;
  /** Identifies the content. */
  readonly key: string;
  /** The hash to offer it under. */
  readonly hash: string;
  /** The file, as YAML, with the header in clear. */
  readonly body: () => string;
}

/** A hash as agents report it. */
interface ReportedHash {
  readonly key: string;
  readonly revision: number;
  /** The revision and its tag. */
  readonly content: string;
  readonly templateSince: number;
  readonly isEmptied: boolean;
}

const HASH = /^(([0-9A-Za-z_-]{1,120})~[0-9A-Za-z_-]{12})~([0-9a-z]{1,9})(~empty)?$/;

/** Parses a hash that this service has made; undefined for any other text. */
export function parseHash(text: string): ReportedHash | undefined {
  const [, key, content, since, emptied] = HASH.exec(text) ?? [];
  if (key === undefined || content === undefined || since === undefined) return undefined;
  return {
    key,
    revision: Number.parseInt(content, 10),
    content,
    templateSince: Number.parseInt(since, 36),
    isEmptied: emptied !== undefined,
  };
}

/** The configuration of an agent whose content this is. */
export function remoteConfigOf(content: DeliveredContent, { template, since }: TemplateInUse): RemoteConfig {
  const { revision, changedAt, name } = content;
  const key = `${name}~${template.fingerprint}`;
  return {
    revision,
    changedAt,
    key,
    hash: `${key}~${since.toString(36)}`,
    body() {
      const settings = content.settings();
      return settings.enabled ? template.render(settings) : EMPTY_CONFIGURATION;
    },
  };
}

/** The same configuration for an agent that could not load it: it gets the empty one, under a hash of its own. */
export const emptied = (config: RemoteConfig): RemoteConfig => ({
  ...config,
  hash: `${config.hash}~empty`,
  body: () => EMPTY_CONFIGURATION,
});

/**
 * Replicas have two templates for so long at most: a rolling update, or a mounted file that reaches them one by one.
 */
const TEMPLATE_ROLLS_MS = 15 * 60_000;

/** Whether it is the empty one for an agent that could not load it. */
export const isEmptied = ({ hash }: RemoteConfig): boolean => parseHash(hash)?.isEmptied === true;

/** The facts of the configuration that an agent has. */
export interface KnownConfig {
  /** The hash that it reported, or was offered; `''` where it has said that it has none. */
  readonly hash: string | undefined;
  /** The key of the configuration that it could not load. */
  readonly failed: string | undefined;
}

/**
 * Decides what an agent is offered: undefined where it has what it should. An earlier revision is never offered.
 * @param now in milliseconds since 1970
 * @returns the configuration, or the empty one in its place where the agent could not load it
 */
export function offerFor(wanted: RemoteConfig, known: KnownConfig, now: number): RemoteConfig | undefined {
  const offer = known.failed === wanted.key ? emptied(wanted) : wanted;
  if (known.hash === '' && wanted.revision === 0) return undefined;
  const has = known.hash === undefined ? undefined : parseHash(known.hash);
  if (!has) return offer;
  if (has.key === wanted.key) return has.isEmptied === (offer !== wanted) ? undefined : offer;
  const ofTemplate = parseHash(wanted.hash);
  // Another replica has a newer template already, or this one is the older one of a rolling update. That ends:
  // afterwards what this replica has is the template, whichever process started last.
  const isRecent = has.templateSince > now - TEMPLATE_ROLLS_MS && has.templateSince <= now + TEMPLATE_ROLLS_MS;
  const isNewerTemplate =
    isRecent && has.content === ofTemplate?.content && has.templateSince > ofTemplate.templateSince;
  return isNewerTemplate ? undefined : offer;
}
