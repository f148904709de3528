/** The most time of one question to the service. */
export const CHECK_MS_MAX = 5000;

/** The result of one check: in words what is wrong and what to do, where anything is. */
export interface Finding {
  readonly level: 'ok' | 'warn' | 'fail';
  readonly what: string;
  readonly says: string;
}

/** Takes a finding, to print and count it. */
export type Report = (finding: Finding) => void;

type Words = (says: string) => Finding;

/** Makes the findings of one subject, by level. */
export const finding = (what: string): Readonly<Record<Finding['level'], Words>> => ({
  ok: (says: string): Finding => ({ level: 'ok', what, says }),
  warn: (says: string): Finding => ({ level: 'warn', what, says }),
  fail: (says: string): Finding => ({ level: 'fail', what, says }),
});
