import { collectorScalar } from './collector-scalar.ts';

/** The facts that make a supervisor of the OpenTelemetry Collector a daemon of the fleet. */
interface SupervisorSettings {
  /** The URL of Muster's OpAMP endpoint. */
  readonly endpoint: string;
  /** The credential of the app, in clear: the file is a secret. */
  readonly credential: string;
  /** The path of the collector. */
  readonly executable: string;
  /** The directory in which the supervisor keeps what it has to know after a restart. */
  readonly storage: string;
  /** The file of the authority that signed the endpoint's certificate; undefined where the system knows it. */
  readonly authorityFile?: string | undefined;
  /** The collector's own files, which the configuration of the fleet is merged into. */
  readonly configFiles?: readonly string[];
}

/**
 * The configuration of the stock supervisor (`opampsupervisor`), as YAML. The supervisor takes no offered connection
 * settings: it would forget them at its next start.
 */
export function supervisorFile(settings: SupervisorSettings): string {
  const { endpoint, credential, executable, storage, authorityFile, configFiles = [] } = settings;
  return [
    '# Made by Muster for the OpAMP supervisor. It has the credential of its app: keep it for its owner alone.',
    'server:',
    `  endpoint: ${collectorScalar(endpoint)}`,
    '  headers:',
    `    Authorization: [${collectorScalar(`Bearer ${credential}`)}]`,
    ...(authorityFile === undefined
      ? []
      : ['  tls:', `    ca_file: ${collectorScalar(authorityFile)}`, '    include_system_ca_certs_pool: true']),
    'capabilities:',
    '  accepts_remote_config: true',
    '  reports_remote_config: true',
    '  reports_effective_config: false',
    '  reports_health: true',
    '  reports_heartbeat: true',
    '  accepts_opamp_connection_settings: false',
    '  reports_own_metrics: false',
    'agent:',
    `  executable: ${collectorScalar(executable)}`,
    // A collector that is not healthy by then counts as one that cannot load its configuration: a busy machine needs
    // more than the supervisor's own 5 s.
    '  config_apply_timeout: 15s',
    ...(configFiles.length === 0
      ? []
      : ['  config_files:', ...configFiles.map((path) => `    - ${collectorScalar(path)}`)]),
    'storage:',
    `  directory: ${collectorScalar(storage)}`,
    '',
  ].join('\n');
}
