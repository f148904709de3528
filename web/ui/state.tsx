import type { ComponentChildren } from 'preact';
import { ApiError, Unreachable } from '../api/client.ts';
import type { Resource } from '../hooks/use-resource.ts';
import { common } from '../text/common.ts';
import { Button } from './controls.tsx';
import { Icon } from './icons.tsx';

/* What a page shows in the place of its content: loading, empty, failed, forbidden. */

export const Loading = ({ lines = 6 }: { lines?: number }) => (
  <div class="skeleton" role="status">
    <span class="heard">{common.loading}</span>
    {Array.from({ length: lines }, (_, line) => (
      <span key={line} aria-hidden="true" />
    ))}
  </div>
);

export const Empty = ({ title, children }: { title: string; children?: ComponentChildren }) => (
  <div class="placeholder">
    <h2>{title}</h2>
    {children}
  </div>
);

/** Why something failed, in one note; nothing where nothing did. */
export function Problem({ error, children }: { error: unknown; children?: ComponentChildren }) {
  if (error === undefined) return null;
  return (
    <div class="note bad" role="alert">
      <Icon name="warn" />
      <div class="grow">
        <p>{sentenceOf(error)}</p>
        <RequestId error={error} />
        {children}
      </div>
    </div>
  );
}

function sentenceOf(error: unknown): string {
  if (error instanceof Unreachable) return common.failed.unknownChange;
  if (!(error instanceof Error)) return String(error);
  const { retryAfterSeconds: seconds } = error instanceof ApiError ? error : {};
  return seconds === undefined ? error.message : `${error.message} ${common.failed.again(seconds)}`;
}

const RequestId = ({ error }: { error: unknown }) =>
  error instanceof ApiError && error.requestId !== '' ? (
    <p class="small">
      {common.requestId}: <code>{error.requestId}</code>
    </p>
  ) : null;

/** The whole of a page that could not be read. */
export function Failed({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  const status = error instanceof ApiError ? error.status : 0;
  const { title, says } = failureOf(error, status);
  return (
    <div class="placeholder" role="alert">
      <h2>{title}</h2>
      <p>{says}</p>
      <RequestId error={error} />
      {isPassing(error) && (
        <Button onClick={onRetry} kind="primary">
          {common.retry}
        </Button>
      )}
    </div>
  );
}

/** Whether trying again may help: a refusal of the request itself is final. */
const isPassing = (error: unknown): boolean =>
  !(error instanceof ApiError) || error.status >= 500 || error.status === 429 || error.status === 401;

function failureOf(error: unknown, status: number): { title: string; says: string } {
  const { failed } = common;
  if (error instanceof Unreachable) return { title: failed.title, says: failed.unreachable };
  if (status === 403)
    return { title: failed.forbiddenTitle, says: error instanceof Error ? error.message : failed.forbidden };
  if (status === 404) return { title: failed.notFoundTitle, says: failed.notFound };
  return { title: failed.title, says: sentenceOf(error) };
}

/** Shows what was read, and stands in for it until it is there. What is read again stays in sight. */
export function Shown<T>({
  of,
  lines,
  pending,
  children,
}: {
  of: Resource<T>;
  lines?: number;
  /** What stands in for it in place of lines, where its height would differ too much. */
  pending?: ComponentChildren;
  children: (data: T) => ComponentChildren;
}) {
  const { data, error, reload } = of;
  // The banner over the page says that the service is away, and this is read again by itself.
  if (data === undefined)
    return error === undefined || error instanceof Unreachable ? (
      (pending ?? <Loading lines={lines ?? 6} />)
    ) : (
      <Failed error={error} onRetry={reload} />
    );
  return (
    <>
      {error !== undefined && !(error instanceof Unreachable) && (
        <Problem error={error}>
          <div>
            <Button small onClick={reload}>
              {common.retry}
            </Button>
          </div>
        </Problem>
      )}
      {children(data)}
    </>
  );
}
