import { tokenHash } from '../../../domain/credentials/tokens.ts';
import { supervisorFile } from '../../../opamp/supervisor-file.ts';
import { SUPERVISOR_DEFAULTS, type FleetAppSpec } from '../schema/fleet-app.ts';

/* The Secret of an app whose daemon is an OpAMP supervisor: which keys it has, and what stands in the file. */

/** The key of the credential by itself, by which Muster knows its own again. */
export const CREDENTIAL_KEY = 'credential';
/** The key of the supervisor's file, which has the credential as well. */
export const SUPERVISOR_KEY = 'supervisor.yaml';

/** The address of the OpAMP endpoint, as daemons reach it. */
interface OpampPlace {
  /** The URL of the device listener. */
  readonly deviceUrl: string;
  /** The path of the endpoint on it. */
  readonly opampPath: string;
}

/** The supervisor's file in clear: it is a secret. */
export function supervisorText({ enrollment }: FleetAppSpec, place: OpampPlace, credential: string): string {
  const {
    executable = SUPERVISOR_DEFAULTS.executable,
    storageDirectory = SUPERVISOR_DEFAULTS.storageDirectory,
    configFiles,
    authorityFile,
  } = enrollment?.opamp ?? {};
  return supervisorFile({
    endpoint: place.deviceUrl.replace(/\/+$/, '') + place.opampPath,
    credential,
    executable,
    storage: storageDirectory,
    authorityFile,
    ...(configFiles && { configFiles }),
  });
}

/** The digest of all that the file is made from but the credential: it tells whether a file has to be written again. */
export const supervisorSettings = (spec: FleetAppSpec, place: OpampPlace): string =>
  tokenHash(supervisorText(spec, place, ''));
