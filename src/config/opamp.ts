import * as z from 'zod';
import { ConfigError } from './files/config-error.ts';
import { file } from './rules.ts';

/* The variables of OpAMP, the protocol by which collectors are daemons of the fleet. */

/** Both names of the collector's exporter of OTLP over HTTP: those from 0.144 on warn of the second. */
const EXPORTER_TYPES = ['otlp_http', 'otlphttp'] as const;

const onOrOff = z.enum(['on', 'off'], 'must be on or off');

export const opampVariables = {
  MUSTER_OPAMP_PATH: z
    .string()
    .regex(
      /^\/(?!device\/)[A-Za-z0-9._~-]+(?:\/[A-Za-z0-9._~-]+){0,7}$/,
      'must be a path such as /v1/opamp, not below /device, without a slash at its end',
    )
    .max(200)
    .prefault('/v1/opamp')
    .meta({ description: 'The path of the OpAMP endpoint on the device listener.' }),
  MUSTER_OPAMP_TEMPLATE_FILE: file.optional().meta({
    unset: 'a template of its own: what programs on the machine send to `127.0.0.1:4317` and `4318` is exported',
    description:
      "YAML: the configuration that collectors get, with placeholders for the account's endpoint and headers " +
      '([OPAMP.md](OPAMP.md)). Collectors get a change at their next poll.',
  }),
  MUSTER_OPAMP_EXPORTER: z
    .enum(EXPORTER_TYPES, `must be ${EXPORTER_TYPES.join(' or ')}`)
    .prefault('otlp_http')
    .meta({
      description:
        'The name of the exporter of OTLP over HTTP in the built-in template: `otlphttp` is for collectors before ' +
        '0.144, which do not know the other. A template of its own names its exporters itself.',
    }),
  MUSTER_OPAMP_BOOTSTRAP: onOrOff.prefault('off').meta({
    description:
      'With `on`, an agent may come with an enrollment code in place of a credential, and is offered a credential. It ' +
      'is for agents that keep what they are offered, which the supervisor of the collector does not.',
  }),
  MUSTER_OPAMP_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .max(2048)
    .optional()
    .meta({
      unset: 'agents are offered no address; required for `MUSTER_OPAMP_BOOTSTRAP=on`',
      description: 'The URL of the OpAMP endpoint as agents reach it. Agents that accept connection settings get it.',
    }),
  MUSTER_OPAMP_CA_FILE: file.optional().meta({
    unset: 'agents use the authorities of their system',
    description:
      "PEM: the authorities of that URL's certificate, which are offered with it, and again when they change.",
  }),
};

/** The endpoint of OpAMP, and what its agents are offered. */
export interface OpampConfig {
  readonly path: string;
  /** The exporter of the built-in template. */
  readonly exporter: (typeof EXPORTER_TYPES)[number];
  readonly bootstrap: boolean;
  /** The public URL; undefined where none is offered. */
  readonly url: string | undefined;
}

type Values = z.infer<z.ZodObject<typeof opampVariables>>;

/** The settings of OpAMP. @throws ConfigError */
export function opampOf({
  MUSTER_OPAMP_PATH: path,
  MUSTER_OPAMP_BOOTSTRAP: mode,
  MUSTER_OPAMP_EXPORTER: exporter,
  MUSTER_OPAMP_URL: url,
}: Values): OpampConfig {
  const bootstrap = mode === 'on';
  if (bootstrap && url === undefined) {
    throw new ConfigError('MUSTER_OPAMP_URL: set it with MUSTER_OPAMP_BOOTSTRAP=on: the agents need an address');
  }
  return { path, exporter, bootstrap, url };
}
