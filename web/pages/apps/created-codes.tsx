import type { CreatedApp } from '../../api/panel.ts';
import { apps as texts } from '../../text/apps.ts';
import { common } from '../../text/common.ts';
import { daemons } from '../../text/daemons.ts';
import { formatInstant } from '../../text/format.ts';
import { DownloadButton } from '../../ui/controls.tsx';
import { csvFile } from '../../ui/csv.ts';
import { EnrollmentLines, SecretText, type Enrollment } from './enrollment-lines.tsx';

/** The codes that are shown one by one; the file has all. */
const SHOWN_MAX = 50;

/** All codes, with the columns of `muster apps create --save-codes`. */
const csvOf = (created: readonly CreatedApp[]): string =>
  csvFile(
    ['number', 'name', 'appId', 'enrollCode', 'enrollCodeExpiresAt'],
    created.map(({ name, appId, enrollCode, enrollCodeExpiresAt }, index) => [
      String(index + 1),
      name,
      appId,
      enrollCode,
      enrollCodeExpiresAt,
    ]),
  );

interface CreatedCodesProps {
  readonly created: readonly CreatedApp[];
  readonly enrollment: Enrollment;
}

/** The codes of many new apps, which are shown once, and how daemons enroll with them. */
export function CreatedCodes({ created, enrollment }: CreatedCodesProps) {
  const { dialog } = texts;
  const [first] = created.map(({ enrollCodeExpiresAt }) => enrollCodeExpiresAt).sort();
  return (
    <div class="stack">
      <p>
        {created.length === 1 ? common.shownOnce : common.manyShownOnce}{' '}
        {first !== undefined && dialog.validUntil(formatInstant(first))}
      </p>
      <div class="row">
        <DownloadButton label={dialog.csv} text={() => csvOf(created)} file="enrollment-codes.csv" type="text/csv" />
      </div>
      {created.length > SHOWN_MAX && <p>{dialog.shownSome(SHOWN_MAX, created.length)}</p>}
      {created.slice(0, SHOWN_MAX).map(({ appId, name, enrollCode }) => (
        <SecretText key={appId} label={name === '' ? appId : name} id={appId} secret={enrollCode} />
      ))}
      <p class="quiet small">{daemons.manyHint}</p>
      <EnrollmentLines appId="APP_ID" of={enrollment} />
    </div>
  );
}
