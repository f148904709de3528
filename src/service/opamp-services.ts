import type { OtherRoute } from '../api/device/device-plane.ts';
import type { DeviceDeps } from '../api/device/deps.ts';
import { AwaitedBodies } from '../api/http/awaited-bodies.ts';
import { InflateQueue } from '../api/http/content-encoding.ts';
import { connectionSettings } from '../api/opamp/connection-settings.ts';
import { createOpampEndpoint, OPAMP_ROUTE } from '../api/opamp/opamp-endpoint.ts';
import { LIMITS } from '../domain/limits.ts';
import { createAgents } from '../domain/opamp/agents.ts';
import type { TemplateInUse } from '../domain/opamp/remote-config.ts';
import type { Core } from './domain-services.ts';
import { watchedTemplate } from './files/collector-template.ts';
import { authoritiesUse } from './files/tls-certificate.ts';

/* The composition of OpAMP: its service of the domain, and its endpoint on the device listener. */

/** Messages of an account that wait to be inflated, each of up to 256 KiB, which takes some 40 ms at worst. */
const INFLATING_MAX = 16;

/** The present contents of the files of OpAMP. */
export interface OpampFiles {
  readonly template: () => TemplateInUse;
  readonly authority: () => Buffer | undefined;
}

/** The files of OpAMP, which are watched. @throws ConfigError */
export function opampFiles({ config, files, clock }: Pick<Core, 'config' | 'files' | 'clock'>): OpampFiles {
  const { MUSTER_OPAMP_TEMPLATE_FILE: template, MUSTER_OPAMP_CA_FILE: ca } = config.files;
  const authorities = ca && files.add(authoritiesUse(ca, { clock }));
  return {
    template: watchedTemplate(files, { file: template, exporter: config.opamp.exporter }, clock),
    authority: () => authorities?.current.pem,
  };
}

/** The endpoint of OpAMP as the device listener serves it. */
export function opampRoute(
  { metrics, replicas, keyRing, config }: Core,
  device: DeviceDeps,
  { template, authority }: OpampFiles,
): OtherRoute {
  const connection = { ...config.opamp, authority };
  const endpoint = createOpampEndpoint({
    ...device,
    metrics,
    keyRing,
    agents: createAgents({ ...device, metrics, template }),
    connection,
    settings: connectionSettings(connection),
    isAlone: () => replicas.isAlone(),
    messages: new AwaitedBodies(LIMITS.opampBytesMax),
    inflating: new InflateQueue(INFLATING_MAX, LIMITS.opampBytesMax),
  });
  return { ...endpoint, method: 'post', path: config.opamp.path, route: OPAMP_ROUTE };
}
