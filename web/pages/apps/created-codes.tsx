import { useMemo } from 'preact/hooks';
import type { CreatedApp } from '../../api/panel.ts';
import { apps as texts } from '../../text/apps.ts';
import { common } from '../../text/common.ts';
import { formatInstant } from '../../text/format.ts';
import { DownloadButton } from '../../ui/controls.tsx';
import { EnrollmentLines, SecretText } from './enrollment-lines.tsx';
import { csvOf } from './ways.ts';

/** The codes that are shown one by one; the file has all. */
const SHOWN_MAX = 50;

/** The codes of new apps, which are shown once, and how daemons enroll with them. */
export function CreatedCodes({ created }: { created: readonly CreatedApp[] }) {
  const { dialog } = texts;
  const enrollable = useMemo(
    () => created.map(({ appId, name, enrollCode }) => ({ appId, name, code: enrollCode })),
    [created],
  );
  const [first] = created.map(({ enrollCodeExpiresAt }) => enrollCodeExpiresAt).sort();
  return (
    <div class="stack">
      <p>
        {common.shownOnce} {first !== undefined && dialog.validUntil(formatInstant(first))}
      </p>
      {created.length > 1 && (
        <div class="row">
          <DownloadButton label={dialog.csv} text={csvOf(created)} file="enrollment-codes.csv" type="text/csv" />
        </div>
      )}
      {created.length > SHOWN_MAX && <p>{dialog.shownSome(SHOWN_MAX, created.length)}</p>}
      {created.slice(0, SHOWN_MAX).map(({ appId, name, enrollCode }) => (
        <SecretText
          key={appId}
          label={created.length === 1 ? dialog.code : name === '' ? appId : name}
          secret={enrollCode}
        />
      ))}
      <EnrollmentLines apps={enrollable} />
    </div>
  );
}
