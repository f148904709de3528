import { FILE_VARIABLES, type FileVariable } from '../../config/files/configured-file.ts';
import type { Sections } from '../../metrics/instruments/sections.ts';

/** A certificate is named by the variable of the certificate, and not of its key. */
const CERTIFICATES = FILE_VARIABLES.filter((variable) => /_(?:CERT|CA)_FILE$/.test(variable));

export function fileMetrics({ files }: Sections) {
  const unusable = files.labelledGauge({
    name: 'muster_file_unusable',
    help: '1 while a file of the configuration cannot be read or used and what it had before is in use, 0 otherwise; a file that is not configured has no series.',
    labels: { file: FILE_VARIABLES },
    unit: '0 or 1',
  });
  const expiry = files.labelledGauge({
    name: 'muster_certificate_expiry_timestamp_seconds',
    help: 'When the certificate in use expires: that of a listener, of the service as a client of etcd, or the first one to expire of the authorities in a file that were valid when it was read.',
    labels: { file: CERTIFICATES },
    unit: 'seconds',
  });
  return {
    fileUnusable: (file: FileVariable, isUnusable: boolean): void => unusable.set({ file }, Number(isUnusable)),
    /** @param timestampSeconds since 1970 */
    certificateExpires: (file: FileVariable, timestampSeconds: number): void => expiry.set({ file }, timestampSeconds),
  };
}
